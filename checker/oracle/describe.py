"""Receipts, state keys and values in words, for the line that names a difference."""

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any, TypeGuard

import msgspec

TABLES = {
    1: "account",
    2: "actor",
    3: "storage",
    4: "long storage",
    5: "timer",
    6: "bucket",
    7: "bucket entry",
    8: "timer counts",
    9: "fee market",
    10: "burned",
    11: "timer configuration",
    12: "mailbox",
    13: "message",
    14: "lane configuration",
    15: "lane market",
    16: "fires",
    17: "recent fires",
    18: "epoch",
    19: "overflow",
    20: "GC cursor",
}
"""Name of each table by the first byte of its keys."""

EVENTS = {
    0: "TimerScheduled",
    1: "TimerFired",
    2: "TimerDeferred",
    3: "TimerExpired",
    4: "TimerCancelledInsufficientFunds",
    5: "TimerCancelled",
    6: "DeferredSummary",
    7: "TimerExtended",
    8: "TimerCancelledByGovernance",
    9: "TimerConfigUpdated",
    10: "TimerExtendedByGovernance",
    11: "TimerPriorityClampedAtSchedule",
    12: "GbaFailed",
    13: "EpochPromoted",
    14: "TimerCancelledForDelay",
    32: "Emitted",
    33: "MessageSent",
    34: "MessageDelivered",
}
"""Name of each event by its tag."""

_TIMER = 5
_BUCKET_ENTRY = 7
_MESSAGE = 13
_FIRES = 16
_EPOCH = 18
_EVENTS_WITHOUT_TIMER = (6, 13, 32, 33, 34)
_SHOWN_BYTES = 48


def decode(encoded: bytes | None) -> object:
    """Return what some bytes hold, or the bytes themselves where they hold nothing that can be read."""
    if encoded is None:
        return None
    try:
        return msgspec.msgpack.decode(encoded)
    except (msgspec.MsgspecError, UnicodeError, RecursionError, TypeError):
        return encoded


def show(value: object) -> str:
    """Return a decoded value as text: bytes in hexadecimal, long ones cut, nothing as `absent`."""
    if value is None:
        return "absent"
    if isinstance(value, bytes):
        return value.hex() if len(value) <= _SHOWN_BYTES else f"{value[:_SHOWN_BYTES].hex()}...({len(value)} bytes)"
    if isinstance(value, list):
        return "[" + " ".join(show(item) for item in value) + "]"
    return str(value)


def show_key(key: bytes) -> str:
    """Return table and identity of a state key."""
    table = key[0] if key else -1
    name = TABLES.get(table, "unknown table")
    if table in (1, 2, 8, 17):
        return f"{name} {key[1:21].hex()}"
    if table == 3:
        return f"{name} {key[1:21].hex()} key {key[22 : 22 + key[21]].hex() or 'empty'}"
    if table == 6:
        return f"{name} due {int.from_bytes(key[1:9], 'big')}"
    if table == _BUCKET_ENTRY:
        return f"{name} due {int.from_bytes(key[1:9], 'big')} sequence {int.from_bytes(key[9:17], 'big')}"
    if table in (_MESSAGE, _FIRES, _EPOCH):
        return f"{name} {int.from_bytes(key[1:9], 'big')}"
    return name if table in (9, 10, 11, 12, 14, 15, 19, 20) else f"{name} {key[1:].hex()}"


def show_receipt(receipt: object) -> str:
    """Return what a decoded receipt is about."""
    event = event_of(receipt)
    if event is not None:
        return EVENTS.get(event[0], "unknown event")
    is_receipt = isinstance(receipt, list) and len(receipt) > 1
    return f"transaction {show(receipt[1])}" if isinstance(receipt, list) and is_receipt else "no receipt"


def narrow_down(receipts: tuple[object, object]) -> tuple[str, tuple[object, object]]:
    """Return the place in two transactions' receipts where they part, and both values there; else the receipts."""
    pair: tuple[object, object] = receipts
    one, other = receipts
    if not (_is_of_transaction(one) and _is_of_transaction(other) and one[1] == other[1]):
        return "", pair
    names = ("status", "error", "cycles", "cells", "burned", "tip")
    for index, name in enumerate(names, 2):
        if one[index] != other[index]:
            return f", {name}", (one[index], other[index])
    for index, events in enumerate(zip_longest(one[-1], other[-1])):
        if events[0] != events[1]:
            return f", event {index}", events
    return "", pair


def _is_of_transaction(receipt: object) -> TypeGuard[list[Any]]:
    return isinstance(receipt, list) and len(receipt) == 9 and receipt[0] == 0 and isinstance(receipt[-1], list)


def event_of(receipt: object) -> list[Any] | None:
    """Return the event of a timer phase's receipt, or None for another one."""
    if not isinstance(receipt, list) or len(receipt) != 2 or receipt[0] != 1:
        return None
    event = receipt[1]
    return event if isinstance(event, list) and event and isinstance(event[0], int) else None


def timer_of_receipts(receipts: Sequence[object]) -> str:
    """Return the identifier of the timer that the first of some receipts with one is about, or nothing."""
    for receipt in receipts:
        event = event_of(receipt)
        if event is not None and event[0] not in _EVENTS_WITHOUT_TIMER and len(event) > 1:
            return show(event[1])
    return ""


def timer_of_entry(key: bytes, values: Sequence[object]) -> str:
    """Return the identifier of the timer that a state entry is about, or nothing."""
    if key[:1] not in (bytes([_TIMER]), bytes([_BUCKET_ENTRY])):
        return ""
    for fields in values:
        if isinstance(fields, list) and fields and isinstance(fields[0], bytes):
            return fields[0].hex()
    return ""
