"""Decoders of receipts, events, state entries and digests for a report; None for missing or malformed bytes."""

from collections.abc import Iterable, Mapping
from string import hexdigits

import msgspec

from checker.explain.executions import Outcome
from checker.tables import read_amount
from scheduler import Timer
from scheduler.tables import KEY_BYTES
from validators.execution.errors import CorruptStateError, InvalidEncodingError
from validators.execution.receipts import TimerReceipt, TransactionReceipt, decode_receipt
from validators.execution.schema import account_key, decode_entry, timer_key


def digest_in(text: object) -> bytes:
    """Return the 32 bytes of a digest in hexadecimal; empty for any other text."""
    if isinstance(text, str) and len(text) == 2 * KEY_BYTES and set(text) <= set(hexdigits):
        return bytes.fromhex(text)
    return b""


def decode(receipt: bytes | None) -> TransactionReceipt | TimerReceipt | None:
    """Return a decoded receipt; None if missing or malformed."""
    if receipt is None:
        return None
    try:
        return decode_receipt(receipt)
    except InvalidEncodingError:
        return None


def is_of_transaction(outcome: Outcome) -> bool:
    """Return whether an execution aborted at a refused transaction."""
    return outcome.broken.startswith("transaction ")


def receipt_at(outcome: Outcome, index: int) -> bytes | None:
    """Return an outcome's receipt at an index; None after the last receipt."""
    return outcome.receipts[index] if index < len(outcome.receipts) else None


def event_of(receipt: bytes | None) -> msgspec.Struct | None:
    """Return the event of a timer phase's receipt; None for other receipts."""
    decoded = decode(receipt)
    return decoded.event if isinstance(decoded, TimerReceipt) else None


def events_of(receipt: bytes | None) -> list[object]:
    """Return all events of a transaction's or timer phase's receipt."""
    decoded = decode(receipt)
    if isinstance(decoded, TransactionReceipt):
        return list(decoded.events)
    return [] if decoded is None else [decoded.event]


def timers_in(events: Iterable[object]) -> list[bytes]:
    """Return the distinct identifiers of the timers in events."""
    found = (getattr(event, "timer_id", None) for event in events)
    return list(dict.fromkeys(timer_id for timer_id in found if timer_id is not None))


def timer_of(values: Mapping[bytes, bytes | None], timer_id: bytes) -> Timer | None:
    """Return the record of a timer in a state or in changes; None if missing."""
    record = record_of(timer_key(timer_id), values.get(timer_key(timer_id)))
    return record if isinstance(record, Timer) else None


def is_dead_timer(timer: Timer, values: Mapping[bytes, bytes], now: int) -> bool:
    """Return whether a timer is expired, or its payer has fewer units than the timer's cycle limit."""
    account = values.get(account_key(timer.fee_payer))
    return timer.expires_at < now or (read_amount(account) or 0) < timer.gas_limit


def record_of(key: bytes, value: bytes | None) -> object:
    """Return a decoded entry; None if missing or malformed."""
    if value is None:
        return None
    try:
        return decode_entry(key, value).record
    except CorruptStateError:
        return None


def timer_of_key(key: bytes, values: Iterable[bytes | None]) -> bytes:
    """Return the identifier of the timer that a state entry belongs to; empty for other tables."""
    for record in (record_of(key, value) for value in values):
        timer_id = getattr(record, "timer_id", None)
        if isinstance(timer_id, bytes):
            return timer_id
    return b""
