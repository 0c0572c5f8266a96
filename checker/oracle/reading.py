"""The oracle's tables read back from a state's entries, by docs/state.md: the inverse of their encoding."""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from checker.oracle import auction_records, bias_records, escrow, queue_records, watches
from checker.oracle.contents import (
    Account,
    Actor,
    Basefees,
    Bucket,
    Contents,
    Market,
    Message,
    OwnTable,
    Quote,
    Table,
    Timer,
    TimerCounts,
)
from checker.oracle.lane_config import Calendar, LaneConfig
from checker.oracle.policies.fifo_free import CONFIG as FREE
from checker.oracle.policies.fifo_free import FreeConfig
from checker.oracle.records import MalformedError, TimerConfig, read

Fields: TypeAlias = list[Any]


class _Reader(NamedTuple):
    """The inverse of a table: a row's key from the state key and the fields, and the row from the fields."""

    table: Callable[[Contents], Table[Any, Any]]
    key: Callable[[bytes, Fields], Any]
    row: Callable[[Fields], Any]


def read_contents(entries: Mapping[bytes, bytes]) -> Contents:
    """Return tables with these entries, appended to an empty log as one batch in the order of keys.

    Raises:
        MalformedError: An entry belongs to no table, or the tables encode to other entries.
    """
    contents = Contents()
    for place in sorted(entries):
        reader = _READERS.get(place[0]) if len(place) == 32 else None
        if reader is None:
            raise MalformedError(f"no table has the key {place.hex()}")
        fields = read(entries[place], f"the value of {place.hex()}")
        try:
            key, row = reader.key(place, fields), reader.row(fields)
        except (TypeError, ValueError, IndexError) as error:
            raise MalformedError(f"the value of {place.hex()} is no record of its table: {error}") from None
        reader.table(contents).put(key, row)
    first: dict[int, int] = {}
    for due, sequence in sorted(contents.bucket_entries.rows):
        first.setdefault(due, sequence)
    for due, bucket in contents.buckets.rows.items():
        # A bucket without an entry below its tail has no head to encode.
        if first.get(due, bucket.tail) >= bucket.tail:
            raise MalformedError(f"the bucket due {due} has no entry")
    encoded = contents.encode_all()
    wrong = next((place for place in sorted({**entries, **encoded}) if entries.get(place) != encoded.get(place)), None)
    if wrong is not None:
        raise MalformedError(f"the tables encode another value for {wrong.hex()}")
    contents.settle()
    return contents


def _nothing(_place: bytes, _fields: Fields) -> None:
    return None


def _address(place: bytes, _fields: Fields) -> bytes:
    return place[1:21]


def _number(place: bytes, _fields: Fields) -> int:
    return int.from_bytes(place[1:9], "big")


def _pair(place: bytes, _fields: Fields) -> tuple[int, int]:
    return int.from_bytes(place[1:9], "big"), int.from_bytes(place[9:17], "big")


def _stored(_place: bytes, fields: Fields) -> Any:  # noqa: ANN401 - the key of whatever table
    """Return the key that a record carries because the state's key is a hash of it."""
    return fields[0]


def _only(fields: Fields) -> Any:  # noqa: ANN401 - the row of whatever table
    (field,) = fields
    return field


def _timer(fields: Fields) -> Timer:
    *plain, quote = fields
    return Timer._make([*plain, None if quote is None else Quote(*quote)])


def _queue_entry(fields: Fields) -> queue_records.QueueEntry:
    _key, delta, token, pass_signer = fields
    return queue_records.QueueEntry(delta, None if token is None else queue_records.Token(*token), pass_signer)


def _named(row: Callable[..., Any]) -> Callable[[Fields], Any]:
    return lambda fields: row(*fields)


def _of(name: str) -> Callable[[Contents], Table[Any, Any]]:
    def table(contents: Contents) -> Table[Any, Any]:
        found: Table[Any, Any] = getattr(contents, name)
        return found

    return table


def _own(kind: OwnTable) -> Callable[[Contents], Table[Any, Any]]:
    return lambda contents: contents.own(kind)


def _entries(kind: OwnTable, key: Callable[[bytes, Fields], Any], row: Callable[[Fields], Any]) -> _Reader:
    return _Reader(_own(kind), key, row)


_READERS: Final[Mapping[int, _Reader]] = {
    0x01: _Reader(_of("accounts"), _address, _named(Account)),
    0x02: _Reader(_of("actors"), _address, _named(Actor)),
    0x03: _Reader(_of("storage"), lambda place, _: (place[1:21], place[22 : 22 + place[21]]), _only),
    0x04: _Reader(_of("storage"), lambda _, fields: (fields[0], fields[1]), lambda fields: fields[2]),
    0x05: _Reader(_of("timers"), _stored, _timer),
    0x06: _Reader(_of("buckets"), _number, lambda fields: Bucket(*fields[1:])),
    0x07: _Reader(_of("bucket_entries"), _pair, _only),
    0x08: _Reader(_of("counts"), _address, _named(TimerCounts)),
    0x09: _Reader(_of("basefees"), _nothing, _named(Basefees)),
    0x0A: _Reader(_of("burned"), _nothing, _only),
    0x0B: _Reader(_of("config"), _nothing, _named(TimerConfig)),
    0x0C: _Reader(_of("messages_sent"), _nothing, lambda fields: fields[1]),
    0x0D: _Reader(_of("messages"), _number, _named(Message)),
    0x0E: _Reader(_of("lane_config"), _nothing, _named(LaneConfig)),
    0x0F: _Reader(_of("market"), _nothing, _named(Market)),
    0x10: _Reader(_of("fires"), _number, dict),
    0x11: _Reader(_of("recent_fires"), _address, _only),
    0x12: _Reader(_of("epochs"), _number, _only),
    0x13: _Reader(_of("overflow"), _nothing, tuple),
    0x14: _Reader(_of("gc_cursor"), _nothing, tuple),
    0x15: _Reader(_of("calendar"), _nothing, _named(Calendar)),
    0x16: _entries(auction_records.CONFIG, _nothing, _named(auction_records.AuctionConfig)),
    0x17: _entries(auction_records.BOOKS, _nothing, _named(auction_records.Books)),
    0x18: _entries(auction_records.ACTORS, _number, _only),
    0x19: _entries(auction_records.TALLIES, _address, _named(auction_records.Tally)),
    0x1A: _entries(auction_records.WEIGHTS, _address, _named(auction_records.Weight)),
    0x1B: _entries(auction_records.CURSOR, _nothing, tuple),
    0x1C: _entries(bias_records.CONFIG, _nothing, _named(bias_records.BiasConfig)),
    0x1D: _entries(bias_records.BOOKS, _nothing, _named(bias_records.BiasBooks)),
    0x1E: _entries(bias_records.WINDOWS, _number, tuple),
    0x1F: _entries(bias_records.SLOT_ROWS, _nothing, tuple),
    0x20: _entries(bias_records.SLOT_ROW, _number, tuple),
    0x21: _entries(escrow.BIDS, _pair, tuple),
    0x22: _entries(watches.WATCH, _stored, lambda fields: tuple(zip(fields[1], fields[2], strict=True))),
    0x23: _entries(watches.WATCHED, _stored, lambda fields: watches.Watched(*fields[1:])),
    0x24: _entries(watches.WATCHER, lambda _, fields: (fields[0], fields[1]), lambda fields: fields[2]),
    0x25: _entries(watches.COUNT, _address, _only),
    0x26: _entries(watches.BOOKS, _nothing, tuple),
    0x27: _entries(watches.HIT, _number, tuple),
    0x28: _entries(watches.CONFIG, _nothing, _named(watches.TriggerConfig)),
    0x29: _entries(FREE, _nothing, _named(FreeConfig)),
    0x2C: _entries(queue_records.CONFIG, _nothing, _named(queue_records.QueueConfig)),
    0x2D: _entries(queue_records.ENTRIES, _stored, _queue_entry),
    0x2E: _entries(queue_records.SLOTS, _number, lambda fields: tuple(_only(fields))),
    0x2F: _entries(queue_records.STATUS, _nothing, _only),
    0x30: _entries(queue_records.NUMBERS, _address, _only),
}
"""The reader of each table, by the byte that its keys begin with."""
