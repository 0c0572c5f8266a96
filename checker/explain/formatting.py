"""State entries, receipts and calls in words, with the names of their fields.

Whatever cannot be decoded is shown in hexadecimal: what is explained here may be damaged.
"""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from checker.explain.sides import Outcome
from checker.tables import (
    ACCOUNT,
    BUCKET,
    BUCKET_ENTRY,
    BURNED,
    EPOCH,
    FEE_MARKET,
    FIRES,
    GC_CURSOR,
    LANE_CONFIG,
    LANE_MARKET,
    MAILBOX,
    MESSAGE,
    OVERFLOW,
    RECENT_FIRES,
    STORAGE,
    TIMER,
    TIMER_CONFIG,
    describe_key,
    describe_value,
    read_amount,
)
from scheduler import Timer
from validators.execution.blocks import ExecuteActor, Transaction, Transfer
from validators.execution.errors import CorruptStateError, InvalidEncodingError
from validators.execution.receipts import TimerReceipt, TransactionReceipt, decode_receipt
from validators.execution.schema import KEY_BYTES, BucketEntry, LongStoredValue, StoredValue, decode_entry, timer_key

NOT_WRITTEN: Final = "not written"
"""Stands for the value of a key that an outcome leaves as it was."""

_OPERATIONS: Final = {b"\xd1": "delete", b"\xd2": "update"}
"""Operations with a key, by their first byte (docs/state.md)."""

_SHOWN_BYTES: Final = 40
_ORDER: Final = (
    *(TIMER, STORAGE, 0x04, MESSAGE, BUCKET_ENTRY, BUCKET, 0x08, 0x02, EPOCH, OVERFLOW, GC_CURSOR, TIMER_CONFIG),
    *(LANE_CONFIG, FIRES, RECENT_FIRES, ACCOUNT, MAILBOX, BURNED, FEE_MARKET, LANE_MARKET),
)
_PLACES: Final = {code: place for place, code in enumerate(_ORDER)}
"""The order of tables in a report: balances and prices come last, because they follow from nearly everything else."""


def decode(receipt: bytes | None) -> TransactionReceipt | TimerReceipt | None:
    """Return a decoded receipt; None for none, and for bytes that are none."""
    if receipt is None:
        return None
    try:
        return decode_receipt(receipt)
    except InvalidEncodingError:
        return None


def receipt_at(outcome: Outcome, index: int) -> bytes | None:
    """Return the receipt at a place of an outcome, None where it has fewer."""
    return outcome.receipts[index] if index < len(outcome.receipts) else None


def event_of(receipt: bytes | None) -> msgspec.Struct | None:
    """Return the event of a timer phase's receipt, None for any other one."""
    decoded = decode(receipt)
    return decoded.event if isinstance(decoded, TimerReceipt) else None


def timers_in(events: Iterable[object]) -> list[bytes]:
    """Return the identifiers of the timers that some events are about, each once."""
    found = (getattr(event, "timer_id", None) for event in events)
    return list(dict.fromkeys(timer_id for timer_id in found if timer_id is not None))


def events_of(receipt: bytes | None) -> list[object]:
    """Return all events of a receipt of either kind."""
    decoded = decode(receipt)
    if isinstance(decoded, TransactionReceipt):
        return list(decoded.events)
    return [] if decoded is None else [decoded.event]


def timer_of(values: Mapping[bytes, bytes | None], timer_id: bytes) -> Timer | None:
    """Return the record of a timer in a state or among changes, or None."""
    record = record_of(timer_key(timer_id), values.get(timer_key(timer_id)))
    return record if isinstance(record, Timer) else None


def is_dead_timer(timer: Timer, values: Mapping[bytes, bytes], now: int) -> bool:
    """Return whether a timer is expired, or its payer has not one unit for each cycle that it asks for."""
    account = values.get(bytes((ACCOUNT,)) + timer.fee_payer.ljust(KEY_BYTES - 1, b"\0"))
    return timer.expires_at < now or (read_amount(account) or 0) < timer.gas_limit


def record_of(key: bytes, value: bytes | None) -> object:
    """Return a decoded entry, None for none and for what is none."""
    if value is None:
        return None
    try:
        return decode_entry(key, value).record
    except CorruptStateError:
        return None


def differing_keys(right: Outcome, wrong: Outcome, before: Mapping[bytes, bytes]) -> list[bytes]:
    """Return the keys that have other values after two outcomes, those closest to a cause first.

    Of an outcome that broke off, those that it read otherwise count alone, and else only those that it had written.
    """
    keys = dict.fromkeys(wrong.misread or wrong.changes if wrong.broken else [*right.changes, *wrong.changes])
    found = [key for key in keys if _after(right, key, before) != _after(wrong, key, before)]
    return sorted(found, key=order_of_key)


def order_of_key(key: bytes) -> tuple[int, bytes]:
    """Return what keys are sorted by so that those closest to a cause come first."""
    return _PLACES.get(key[0] if key else 0, len(_PLACES)), key


def timers_of_keys(right: Outcome, wrong: Outcome, before: Mapping[bytes, bytes]) -> list[bytes]:
    """Return the timers whose own entries differ."""
    keys = differing_keys(right, wrong, before)
    found = (
        timer_of_key(key, (before.get(key), right.changes.get(key), wrong.changes.get(key)))
        for key in keys
        if key[0] in {TIMER, BUCKET_ENTRY}
    )
    return list(dict.fromkeys(timer_id for timer_id in found if timer_id))


def timer_of_key(key: bytes, values: Iterable[bytes | None]) -> bytes:
    """Return the identifier of the timer that an entry is about, nothing for other tables."""
    for record in (record_of(key, value) for value in values):
        if isinstance(record, Timer | BucketEntry):
            return record.timer_id
    return b""


def name_key(key: bytes, values: Iterable[bytes | None] = ()) -> str:
    """Return table and identity of a key, the identity of a hashed one from its values."""
    for record in (record_of(key, value) for value in values):
        if isinstance(record, Timer):
            return f"timer {record.timer_id.hex()}"
        if isinstance(record, LongStoredValue):
            return f"long storage {record.actor.hex()} key {show(record.key)}"
    if key[:1] == bytes((STORAGE,)) and len(key) == 32:
        return f"storage {key[1:21].hex()} key {show(key[22 : 22 + key[21]])}"
    return describe_key(key)


def show_entry(key: bytes, value: bytes | None) -> str:
    """Return a value as its fields by name; `absent` for None."""
    record = record_of(key, value)
    if record is None:
        return describe_value(value)
    if isinstance(record, StoredValue | LongStoredValue):
        return show(record.value)
    return show_fields(record) if isinstance(record, msgspec.Struct) else show(record)


def show_written(outcome: Outcome, key: bytes) -> str:
    """Return what an outcome leaves under a key: the value, `deleted`, or that it is not written."""
    if key not in outcome.changes:
        return NOT_WRITTEN
    value = outcome.changes[key]
    if key in outcome.misread:
        return f"read as {show_entry(key, value)}"
    return "deleted" if value is None else show_entry(key, value)


def show_receipt(receipt: bytes | None) -> str:
    """Return a receipt in words."""
    decoded = decode(receipt)
    if decoded is None:
        return "no receipt" if receipt is None else f"no receipt but {show(receipt)}"
    if isinstance(decoded, TransactionReceipt):
        return f"transaction {show_fields(decoded)}"
    return f"{type(decoded.event).__name__} {show_fields(decoded.event)}"


def show_operation(operation: bytes | None) -> str:
    """Return an operation of the log in words."""
    if operation is None:
        return "no operation"
    what = _OPERATIONS.get(operation[:1])
    if what is None or len(operation) <= KEY_BYTES:
        return f"end of the batch {operation.hex()}"
    return f"{what} of {name_key(operation[1 : KEY_BYTES + 1])}"


def show_call(transaction: Transaction) -> str:
    """Return what a transaction does."""
    call = transaction.call
    if isinstance(call, ExecuteActor):
        return f"call of {call.handler} of actor {call.actor.hex()}"
    if isinstance(call, Transfer):
        return f"transfer of {call.amount} to {call.to.hex()}"
    return f"{type(call).__name__} {show_fields(call)}"


def on_one_line(text: str) -> str:
    """Return a text that came from a file as one line without controls."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


def show(value: object) -> str:
    """Return a field: bytes as text where they are text, else in hexadecimal; long ones cut."""
    if isinstance(value, bytes):
        if value and value.isascii() and value.decode("ascii").isprintable():
            return f'"{value[:_SHOWN_BYTES].decode("ascii")}"'
        return value.hex() if len(value) <= _SHOWN_BYTES else f"{value[:_SHOWN_BYTES].hex()}...({len(value)} bytes)"
    if isinstance(value, msgspec.Struct):
        return f"{type(value).__name__}({show_fields(value)})"
    if isinstance(value, tuple | list):
        return "[" + ", ".join(map(show, value)) + "]"
    return str(value)


def show_fields(record: msgspec.Struct) -> str:
    """Return a record's fields with their names."""
    return " ".join(f"{name}={show(getattr(record, name))}" for name in record.__struct_fields__)


def _after(outcome: Outcome, key: bytes, before: Mapping[bytes, bytes]) -> bytes | None:
    """Return the value that a key has after an outcome: writing what was there already changes nothing."""
    return outcome.changes[key] if key in outcome.changes else before.get(key)


def show_root(outcome: Outcome) -> str:
    """Return the root of an outcome, or that it has none and why."""
    return f"none: {on_one_line(outcome.broken)}" if outcome.broken else outcome.root.hex()
