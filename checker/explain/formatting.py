"""State entries, receipts and calls in words, with the names of their fields.

Bytes without a valid encoding appear in hexadecimal: the data of a failed run may be damaged.
"""

from collections.abc import Iterable, Sequence
from typing import Final, TypeVar

import msgspec

from checker.explain.executions import Outcome
from checker.explain.reading import decode, record_of
from checker.record.errors import on_one_line
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
    TIMER_COUNTS,
    describe_key,
    describe_value,
)
from scheduler import Timer
from scheduler.tables import KEY_BYTES
from validators.execution.blocks import ExecuteActor, Transaction, Transfer
from validators.execution.receipts import TransactionReceipt
from validators.execution.schema import LongStoredValue, StoredValue

_Item = TypeVar("_Item")

NOT_WRITTEN: Final = "not written"
"""Shown for a key that an outcome does not change."""

_OPERATIONS: Final = {b"\xd1": "delete", b"\xd2": "update"}
"""Names of operations with a key, by their first byte (docs/state.md)."""

_SHOWN_BYTES: Final = 40
_ORDER: Final = (
    *(
        TIMER,
        STORAGE,
        0x04,
        MESSAGE,
        BUCKET_ENTRY,
        BUCKET,
        TIMER_COUNTS,
        0x02,
        EPOCH,
        OVERFLOW,
        GC_CURSOR,
        TIMER_CONFIG,
    ),
    *(LANE_CONFIG, FIRES, RECENT_FIRES, ACCOUNT, MAILBOX, BURNED, FEE_MARKET, LANE_MARKET),
)
_PLACES: Final = {code: place for place, code in enumerate(_ORDER)}
"""The order of tables in a report: balances and prices come last, because nearly every other change moves them."""


def order_of_key(key: bytes) -> tuple[int, bytes]:
    """Return the sort key of a state key: keys closest to a cause come first."""
    return _PLACES.get(key[0] if key else 0, len(_PLACES)), key


def name_key(key: bytes, values: Iterable[bytes | None] = ()) -> str:
    """Return the table and identity of a key; the identity of a hashed key comes from its values."""
    for record in (record_of(key, value) for value in values):
        if isinstance(record, Timer):
            return f"timer {record.timer_id.hex()}"
        if isinstance(record, LongStoredValue):
            return f"long storage {record.actor.hex()} key {show(record.key)}"
    if key[:1] == bytes((STORAGE,)) and len(key) == 32:
        return f"storage {key[1:21].hex()} key {show(key[22 : 22 + key[21]])}"
    return describe_key(key)


def show_entry(key: bytes, value: bytes | None) -> str:
    """Return a value as named fields; `absent` for None."""
    record = record_of(key, value)
    if record is None:
        return describe_value(value)
    if isinstance(record, StoredValue | LongStoredValue):
        return show(record.value)
    return show_fields(record) if isinstance(record, msgspec.Struct) else show(record)


def show_written(outcome: Outcome, key: bytes) -> str:
    """Return an outcome's value under a key, `deleted`, or `not written`."""
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
    """Return the call of a transaction in words."""
    call = transaction.call
    if isinstance(call, ExecuteActor):
        return f"call of {call.handler} of actor {call.actor.hex()}"
    if isinstance(call, Transfer):
        return f"transfer of {call.amount} to {call.to.hex()}"
    return f"{type(call).__name__} {show_fields(call)}"


def show(value: object) -> str:
    """Return a field: printable ASCII bytes as text, other bytes in hexadecimal; long values are cut."""
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


def show_root(outcome: Outcome) -> str:
    """Return the root of an outcome, or the reason for a missing root."""
    return f"none: {on_one_line(outcome.broken)}" if outcome.broken else outcome.root.hex()


def split_ends(items: Sequence[_Item], at_most: int) -> tuple[Sequence[_Item], int, Sequence[_Item]]:
    """Return the first items to show, the number of items left out, and the last items to show."""
    if len(items) <= at_most:
        return items, 0, ()
    half = at_most // 2
    return items[:half], len(items) - 2 * half, items[-half:]


def cut_in_the_middle(lines: Sequence[str], at_most: int, more: str) -> list[str]:
    """Return at most `at_most` lines: `... N` and the text `more` replace the lines in the middle."""
    first, left_out, last = split_ends(lines, at_most)
    return [*first, *([f"... {left_out} {more}"] if left_out else []), *last]
