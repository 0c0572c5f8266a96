"""State keys and values as docs/state.md lays them out, read by a small decoder of the checker's own.

It shares no code with the engine's schema: a mistake in either of them shows as a difference. Values are read as plain
lists. Any other value is described in hexadecimal, because a check has to name damaged values too.
"""

from typing import Final

import msgspec

from checker.oracle.fields import fields_of_key, first_other, name_values

ACCOUNT: Final = 0x01
STORAGE: Final = 0x03
LONG_STORAGE: Final = 0x04
TIMER: Final = 0x05
BUCKET: Final = 0x06
BUCKET_ENTRY: Final = 0x07
TIMER_COUNTS: Final = 0x08
BURNED: Final = 0x0A
TIMER_CONFIG: Final = 0x0B
MAILBOX: Final = 0x0C
MESSAGE: Final = 0x0D
FEE_MARKET: Final = 0x09
LANE_CONFIG: Final = 0x0E
LANE_MARKET: Final = 0x0F
FIRES: Final = 0x10
RECENT_FIRES: Final = 0x11
EPOCH: Final = 0x12
OVERFLOW: Final = 0x13
GC_CURSOR: Final = 0x14
CALENDAR: Final = 0x15
AUCTION_CONFIG: Final = 0x16
AUCTION_BOOKS: Final = 0x17
AUCTION_ACTOR: Final = 0x18
AUCTION_TALLY: Final = 0x19
AUCTION_WEIGHT: Final = 0x1A
AUCTION_CURSOR: Final = 0x1B
BIAS_CONFIG: Final = 0x1C
BIAS_BOOKS: Final = 0x1D
BIAS_WINDOW: Final = 0x1E
SLOT_ROWS: Final = 0x1F
SLOT_ROW: Final = 0x20
BID: Final = 0x21
WATCH: Final = 0x22
WATCHED_KEY: Final = 0x23
WATCHER: Final = 0x24
WATCH_COUNT: Final = 0x25
WATCH_BOOKS: Final = 0x26
HIT: Final = 0x27
TRIGGER_CONFIG: Final = 0x28
FREE_CONFIG: Final = 0x29
QUEUE_CONFIG: Final = 0x2C
QUEUE_ENTRY: Final = 0x2D
REMOVAL_SLOT: Final = 0x2E
SERVICE_STATUS: Final = 0x2F
AUTHORIZATION: Final = 0x30
LANE_TABLES: Final = (LANE_CONFIG, LANE_MARKET, FIRES, RECENT_FIRES, GC_CURSOR)
"""Tables of chains that have the timer lane."""

LANE_BOOKS: Final = (LANE_MARKET, FIRES, RECENT_FIRES, GC_CURSOR)
"""Tables that only an active lane fills."""

TABLE_NAMES: Final[dict[int, str]] = {
    ACCOUNT: "account",
    0x02: "actor",
    STORAGE: "storage",
    LONG_STORAGE: "long storage",
    TIMER: "timer",
    BUCKET: "bucket",
    BUCKET_ENTRY: "bucket entry",
    TIMER_COUNTS: "timer counts",
    FEE_MARKET: "fee market",
    BURNED: "burned",
    TIMER_CONFIG: "timer configuration",
    MAILBOX: "mailbox",
    MESSAGE: "message",
    LANE_CONFIG: "lane configuration",
    LANE_MARKET: "lane market",
    FIRES: "fires",
    RECENT_FIRES: "recent fires",
    EPOCH: "epoch",
    OVERFLOW: "overflow",
    GC_CURSOR: "GC cursor",
    CALENDAR: "calendar profile",
    AUCTION_CONFIG: "auction configuration",
    AUCTION_BOOKS: "auction books",
    AUCTION_ACTOR: "auction actor",
    AUCTION_TALLY: "auction tally",
    AUCTION_WEIGHT: "auction weight",
    AUCTION_CURSOR: "auction cursor",
    BIAS_CONFIG: "bias configuration",
    BIAS_BOOKS: "bias books",
    BIAS_WINDOW: "bias window",
    SLOT_ROWS: "slot rows",
    SLOT_ROW: "slot row",
    BID: "bid",
    WATCH: "watch",
    WATCHED_KEY: "watched key",
    WATCHER: "watcher",
    WATCH_COUNT: "watch count",
    WATCH_BOOKS: "watch books",
    HIT: "hit",
    TRIGGER_CONFIG: "trigger configuration",
    FREE_CONFIG: "free configuration",
    QUEUE_CONFIG: "queue configuration",
    QUEUE_ENTRY: "queue entry",
    REMOVAL_SLOT: "removal slot",
    SERVICE_STATUS: "service status",
    AUTHORIZATION: "authorization number",
}
"""Name of each table by the first byte of its keys."""

FEE_MARKET_KEY: Final = bytes((FEE_MARKET,)).ljust(32, b"\0")
LANE_MARKET_KEY: Final = bytes((LANE_MARKET,)).ljust(32, b"\0")
MAILBOX_KEY: Final = bytes((MAILBOX,)).ljust(32, b"\0")
BURNED_KEY: Final = bytes((BURNED,)).ljust(32, b"\0")
TIMER_CONFIG_KEY: Final = bytes((TIMER_CONFIG,)).ljust(32, b"\0")

_KEYED_BY_ADDRESS: Final = (
    ACCOUNT,
    0x02,
    TIMER_COUNTS,
    RECENT_FIRES,
    AUCTION_TALLY,
    AUCTION_WEIGHT,
    AUTHORIZATION,
    WATCH_COUNT,
)
_KEYED_BY_NUMBER: Final = (MESSAGE, FIRES, EPOCH, AUCTION_ACTOR, BIAS_WINDOW, SLOT_ROW, REMOVAL_SLOT)
_WITHOUT_IDENTITY: Final = (
    *(FEE_MARKET, BURNED, TIMER_CONFIG, MAILBOX, LANE_CONFIG, LANE_MARKET, OVERFLOW, GC_CURSOR, CALENDAR),
    *(AUCTION_CONFIG, AUCTION_BOOKS, AUCTION_CURSOR, BIAS_CONFIG, BIAS_BOOKS, SLOT_ROWS),
    *(QUEUE_CONFIG, SERVICE_STATUS, WATCH_BOOKS, TRIGGER_CONFIG, FREE_CONFIG),
)
_SHOWN_BYTES: Final = 48


def describe_key(key: bytes) -> str:
    """Return table and identity of a state key, for example `bucket entry due 12 sequence 3`."""
    code = key[0] if key else -1
    name = TABLE_NAMES.get(code, "unknown table")
    if code in _WITHOUT_IDENTITY:
        return name
    if code in _KEYED_BY_ADDRESS:
        return f"{name} {key[1:21].hex()}"
    if code == STORAGE:
        return f"{name} {key[1:21].hex()} key {key[22 : 22 + key[21]].hex() or 'empty'}"
    if code == BUCKET or code in _KEYED_BY_NUMBER:
        return f"{name}{' due' if code == BUCKET else ''} {int.from_bytes(key[1:9], 'big')}"
    if code in (BUCKET_ENTRY, BID):
        return f"{name} due {int.from_bytes(key[1:9], 'big')} sequence {int.from_bytes(key[9:17], 'big')}"
    return f"{name} {key[1:].hex()}"


def describe_value(value: bytes | None, key: bytes = b"") -> str:
    """Return a value as its list of fields, by name where its key is given; `absent` for None."""
    if value is None:
        return "absent"
    fields = read_fields(value)
    if fields is None:
        return f"undecodable {_shorten(value)}"
    shown = [_shorten(field) if isinstance(field, bytes) else str(field) for field in fields]
    return name_values(fields_of_key(key), shown)


def describe_place(key: bytes, one: bytes | None, other: bytes | None) -> str:
    """Return table and identity of a state key, and the first field in which two values under it differ."""
    records = [None if value is None else read_fields(value) for value in (one, other)]
    index = first_other(fields_of_key(key), *records)
    return describe_key(key) if index is None else f"{describe_key(key)}, {fields_of_key(key)[index]}"


def read_fields(value: bytes) -> list[object] | None:
    """Return the fields of a record, or None where the value is no msgpack array."""
    try:
        return msgspec.msgpack.decode(value, type=list[object])
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None


def read_amount(value: bytes | None) -> int | None:
    """Return the first field of a record as an amount: an account's balance, the burned total. 0 for no record.

    None where the value holds no such number.
    """
    if value is None:
        return 0
    fields = read_fields(value)
    amount = fields[0] if fields else None
    return amount if type(amount) is int and amount >= 0 else None


def _shorten(value: bytes) -> str:
    return value.hex() if len(value) <= _SHOWN_BYTES else f"{value[:_SHOWN_BYTES].hex()}...({len(value)} bytes)"
