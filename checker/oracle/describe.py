"""Receipts, state keys and values in words, for the line that names a difference."""

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any, TypeGuard

import msgspec

from checker.oracle.fields import EVENTS, TABLES, TRANSACTION, fields_of_key, first_other, name_values

_TIMER = 5
_BUCKET_ENTRY = 7
_MESSAGE = 13
_FIRES = 16
_EPOCH = 18
_AUCTION_ACTOR = 24
_AUCTION_ACTORS = (25, 26)
_BIAS_ROWS = (30, 32)
_BID = 33
_QUEUE_ENTRY = 45
_REMOVAL_SLOT = 46
_NUMBER = 48
_OF_ONE_ROW = (9, 10, 11, 12, 14, 15, 19, 20, 21, 22, 23, 27, 28, 29, 31, 44, 47)
_EVENTS_WITHOUT_TIMER = (6, 13, 16, 32, 33, 34, 67, 68, 69)
_TXN_SCHEDULED = 64
_SHOWN_BYTES = 48


def decode(encoded: bytes | None) -> object:
    """Return the decoded value, or the bytes themselves if they are not msgpack."""
    if encoded is None:
        return None
    try:
        return msgspec.msgpack.decode(encoded)
    except (msgspec.MsgspecError, UnicodeError, RecursionError, TypeError):
        return encoded


def show(value: object) -> str:
    """Return a decoded value as text: bytes in hexadecimal, long bytes cut, None as `absent`."""
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
    name = TABLES.get(table, ("unknown table", ()))[0]
    if table in (1, 2, 8, 17, _NUMBER, *_AUCTION_ACTORS):
        return f"{name} {key[1:21].hex()}"
    if table == 3:
        return f"{name} {key[1:21].hex()} key {key[22 : 22 + key[21]].hex() or 'empty'}"
    if table == 6:
        return f"{name} due {int.from_bytes(key[1:9], 'big')}"
    if table in (_BUCKET_ENTRY, _BID):
        return f"{name} due {int.from_bytes(key[1:9], 'big')} sequence {int.from_bytes(key[9:17], 'big')}"
    if table in (_MESSAGE, _FIRES, _EPOCH, _AUCTION_ACTOR, _REMOVAL_SLOT, *_BIAS_ROWS):
        return f"{name} {int.from_bytes(key[1:9], 'big')}"
    return name if table in _OF_ONE_ROW else f"{name} {key[1:].hex()}"


def show_receipt(receipt: object) -> str:
    """Return the subject of a decoded receipt: its kind, with its event, if any."""
    event = event_of(receipt)
    if event is not None:
        return _name_of(event)
    is_receipt = isinstance(receipt, list) and len(receipt) > 1
    return f"transaction {show(receipt[1])}" if isinstance(receipt, list) and is_receipt else "no receipt"


def show_event(event: object) -> str:
    """Return an event as its name and its fields; any other value is formatted by `show`."""
    if not _is_event(event):
        return show(event)
    return f"{_name_of(event)} {name_values(_fields_of(event), list(map(show, event[1:])))}"


def show_record(key: bytes, record: object) -> str:
    """Return the record under a state key as its fields by name; any other value is formatted by `show`."""
    return name_values(fields_of_key(key), list(map(show, record))) if isinstance(record, list) else show(record)


def narrow_record(key: bytes, values: tuple[object, object]) -> tuple[str, tuple[str, str]]:
    """Return the first field in which two records under a state key differ, with both values; else the records."""
    one, other = values
    index = first_other(fields_of_key(key), one, other)
    if index is None or not (isinstance(one, list) and isinstance(other, list)):
        return "", (show_record(key, one), show_record(key, other))
    return f", {fields_of_key(key)[index]}", (show(one[index]), show(other[index]))


def narrow_down(receipts: tuple[object, object]) -> tuple[str, tuple[str, str]]:
    """Return the first place in which two receipts differ, with both values; else the receipts."""
    one, other = receipts
    if event_of(one) is not None or event_of(other) is not None:
        return _narrow_event(event_of(one) or one, event_of(other) or other)
    if not (_is_of_transaction(one) and _is_of_transaction(other) and one[1] == other[1]):
        return "", (show(one), show(other))
    index = first_other(TRANSACTION[:-1], one[1:-1], other[1:-1])
    if index is not None:
        return f", {TRANSACTION[index]}", (show(one[index + 1]), show(other[index + 1]))
    for index, events in enumerate(zip_longest(one[-1], other[-1])):
        if events[0] != events[1]:
            named = next(event for event in events if event is not None)
            about = f", {_name_of(named)}" if _is_event(named) else ""
            place, values = _narrow_event(*events)
            return f", event {index}{about}{place}", values
    return "", (show(one), show(other))


def _narrow_event(one: object, other: object) -> tuple[str, tuple[str, str]]:
    """Return the first field in which two events of the same kind differ, with both values; else the events."""
    if _is_event(one) and _is_event(other) and one[0] == other[0]:
        index = first_other(_fields_of(one), one[1:], other[1:])
        if index is not None:
            return f", {_fields_of(one)[index]}", (show(one[index + 1]), show(other[index + 1]))
    return "", (show_event(one), show_event(other))


def _is_event(event: object) -> TypeGuard[list[Any]]:
    return isinstance(event, list) and bool(event) and isinstance(event[0], int)


def _name_of(event: list[Any]) -> str:
    return EVENTS.get(event[0], ("unknown event", ()))[0]


def _fields_of(event: list[Any]) -> tuple[str, ...]:
    return EVENTS.get(event[0], ("", ()))[1]


def _is_of_transaction(receipt: object) -> TypeGuard[list[Any]]:
    return isinstance(receipt, list) and len(receipt) == 9 and receipt[0] == 0 and isinstance(receipt[-1], list)


def event_of(receipt: object) -> list[Any] | None:
    """Return the event of a timer phase's receipt, or None for any other receipt."""
    if not isinstance(receipt, list) or len(receipt) != 2 or receipt[0] != 1:
        return None
    event = receipt[1]
    return event if _is_event(event) else None


def timer_of_receipts(receipts: Sequence[object]) -> str:
    """Return the timer of the first receipt with a timer, or an empty string."""
    for receipt in receipts:
        event = event_of(receipt)
        if event is not None and event[0] not in _EVENTS_WITHOUT_TIMER and len(event) > 2:
            return show(event[2 if event[0] == _TXN_SCHEDULED else 1])
    return ""


def timer_of_entry(key: bytes, values: Sequence[object]) -> str:
    """Return the timer of a state entry, or an empty string."""
    if key[:1] not in (bytes([_TIMER]), bytes([_BUCKET_ENTRY]), bytes([_BID]), bytes([_QUEUE_ENTRY])):
        return ""
    for fields in values:
        if isinstance(fields, list) and fields and isinstance(fields[0], bytes):
            # The last 32 bytes of a queue's key are the identifier; other keys of the queue are just the identifier.
            return fields[0][-32:].hex()
    return ""
