"""Streams of msgpack records in a file: read record by record, with bounded size and depth, and compared.

Invariant: no content of a file makes a reader use more memory than a record may, recurse, or run code. Bytes that are
no stream of the expected records raise DamagedRecordError with the byte where the damage begins.
"""

import io
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import IO, Annotated, Final

import msgpack  # type: ignore[import-untyped]  # it ships no type information
import msgspec

from checker.record.errors import ReportedError
from checker.record.plain_files import UnsuitableFileError, open_plain, read_plain
from network.events import Event, LoggedValues, Value

NATIVE_TYPES: Final = (bytes,)
"""Bytes are bytes in a record; without this msgspec would take text for base64."""

BLOCK_RECORD_BYTES_MAX: Final = 16 * 1024 * 1024 + 4_096
"""Greatest size of a block's record: a block at its limit, with height, digest and root beside it."""

DOCUMENT_BYTES_MAX: Final = 64 * 1024 * 1024
"""Greatest size of a file that is read in one piece: scenario, genesis, verdict."""

STREAM_BYTES_MAX: Final = 64 * 1024 * 1024 * 1024
"""Greatest size of a file of records: no run writes as much in days."""

EVENT_BYTES_MAX: Final = 1024 * 1024
"""Greatest size of an event's or root's record."""

EVENT_DEPTH_MAX: Final = 4
"""Greatest depth of nested lists in an event's values."""

TIME_LIMIT_US: Final = 1 << 53
"""No virtual time of a run gets there, in 285 years; below it a trace has nanoseconds, and a page whole numbers."""

NUMBER_MAX: Final = (1 << 63) - 1
"""Greatest number of a record: exports write signed numbers of 64 bits."""

NODE_LIMIT: Final = 1 << 20
"""Every replica's number is below."""

ENDED: Final = "(no more events)"
"""Shown in place of an event after the end of a log."""

_READ_BYTES: Final = 1 << 16
_PLAIN: Final = frozenset((int, str, bytes, bool, type(None)))
_SHOWN_BYTES: Final = 32

Digest32 = Annotated[bytes, msgspec.Meta(min_length=32, max_length=32)]
Height = Annotated[int, msgspec.Meta(ge=1, le=NUMBER_MAX)]
Number = Annotated[int, msgspec.Meta(ge=0, le=NUMBER_MAX)]
Node = Annotated[int, msgspec.Meta(ge=0, lt=NODE_LIMIT)]


class DamagedRecordError(ReportedError):
    """A run directory that cannot be used: `place` is the file and byte in it, `reason` the fault found there."""

    def __init__(self, path: Path, place: str, reason: str) -> None:
        # One line for any reason: parts of it may come from the damaged file.
        super().__init__(" ".join(f"{path}: {place}: {reason}".split()))
        self.path = path
        self.place = place
        self.reason = reason


class BlockRecord(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A finalized block: height, digest, state root after it, and its encoding."""

    height: Height
    digest: Digest32
    root: Digest32
    block: bytes


class BranchRecord(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A block that validators executed: parent, digest, the first validator, and its reason if it refused the block."""

    parent: Digest32
    digest: Digest32
    node: Node
    refusal: str
    block: bytes


class RootRecord(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A block that one validator finalized at a height, with its root."""

    node: Node
    height: Height
    digest: Digest32
    root: Digest32


class OldestWait(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The oldest wait of a class of timers in a block, in the timebase; `cluster.timers.waits` has the classes."""

    tip_class: Number
    wait: Number


class WaitRecord(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The oldest waits of a final block, by class."""

    oldest: tuple[OldestWait, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """The first place at which two logs differ: its index from 0 and both events as lines for display."""

    index: int
    first: str
    second: str


def open_file(directory: Path, name: str, limit: int | None = None) -> IO[bytes]:
    """Open a file of a run directory; raises DamagedRecordError if it is missing, no plain file, or too long."""
    with _naming_damage(directory, name):
        return open_plain(directory / name, limit)


def read_document(directory: Path, name: str, limit: int = DOCUMENT_BYTES_MAX) -> bytes:
    """Return the content of a file in a run directory; raises DamagedRecordError where it is missing or too long."""
    with _naming_damage(directory, name):
        return read_plain(directory / name, limit)


def stream_records(directory: Path, name: str, bytes_max: int) -> Iterator[tuple[int, object]]:
    """Yield the records of a stream, each with the offset of its first byte.

    Args:
        directory: The run directory.
        name: The file in it.
        bytes_max: No record may be longer.

    Raises:
        DamagedRecordError: The file is missing, or the bytes at some offset are not a whole record within the limits.
    """
    with open_file(directory, name) as opened:
        unpacker = unpacker_of(opened, bytes_max)
        offset = 0
        while True:
            try:
                record = unpacker.unpack()
            except msgpack.OutOfData:
                break
            except (ValueError, msgpack.UnpackException) as error:
                reason = str(error) or type(error).__name__
                raise DamagedRecordError(directory, f"{name} at byte {offset}", reason) from None
            yield offset, record
            offset = unpacker.tell()
        if offset != (size := opened.seek(0, 2)):
            reason = f"the last {size - offset:,} bytes are no whole record"
            raise DamagedRecordError(directory, f"{name} at byte {offset}", reason)


def iterate_events(log: bytes | bytearray | memoryview) -> Iterator[Event]:
    """Yield the events of a log in memory, in order; raises ValueError at anything that is not an event."""
    unpacker = unpacker_of(io.BytesIO(log), EVENT_BYTES_MAX)
    offset = 0
    for record in unpacker:
        yield read_event_record(record)
        offset = unpacker.tell()
    if offset != len(log):
        raise ValueError(f"the last {len(log) - offset:,} bytes of the log are no whole event")


def read_event_record(record: object) -> Event:
    """Return a decoded record as an event; raises ValueError with the kind of value found instead."""
    if type(record) is not list or len(record) < 3:
        raise ValueError("an event is an array of time, node, kind and values")
    at_us, node, kind, *values = record
    if type(at_us) is not int or type(node) is not int or type(kind) is not str:
        raise ValueError(f"an event begins with time, node and kind, not {at_us!r:.40}, {node!r:.40}, {kind!r:.40}")
    if not (0 <= at_us < TIME_LIMIT_US and -1 <= node < NODE_LIMIT):
        raise ValueError(f"an event begins with time, node and kind, not {at_us!r:.40}, {node!r:.40}, {kind!r:.40}")
    _check_values(values)
    return Event(at_us, node, LoggedValues(kind, tuple(values)))


def first_difference(first: Iterable[Event | bytes], second: Iterable[Event | bytes]) -> Difference | None:
    """Return the first place at which two logs differ, or None; events may be given encoded."""
    for index, (left, right) in enumerate(zip_longest(first, second)):
        if left == right and type(left) is type(right):
            continue
        left_event, right_event = _as_event(left), _as_event(right)
        if left_event != right_event:
            return Difference(index, _describe_or_end(left_event), _describe_or_end(right_event))
    return None


def describe_event(event: Event) -> str:
    """Return an event as one line: virtual seconds, validator, kind and values."""
    who = f"validator {event.node}" if event.node >= 0 else "supervisor"
    seconds, rest_us = divmod(event.at_us, 1_000_000)
    return " ".join([f"{seconds}.{rest_us:06d} s", who, event.kind, *map(_describe_value, event.values)])


def unpacker_of(opened: IO[bytes], bytes_max: int) -> msgpack.Unpacker:
    """Return a reader of records of bounded size that begins at the file's current position."""
    return msgpack.Unpacker(
        opened,
        read_size=min(_READ_BYTES, bytes_max),
        max_buffer_size=bytes_max + _READ_BYTES,
        max_str_len=bytes_max,
        max_bin_len=bytes_max,
        max_array_len=bytes_max,
        max_map_len=0,
        max_ext_len=0,
        raw=False,
        strict_map_key=True,
    )


@contextmanager
def _naming_damage(directory: Path, name: str) -> Iterator[None]:
    """Raise DamagedRecordError with the reason why a file of a run directory cannot be read."""
    try:
        yield
    except FileNotFoundError:
        raise DamagedRecordError(directory, name, "missing") from None
    except UnsuitableFileError as error:
        raise DamagedRecordError(directory, name, error.reason) from None
    except OSError as error:
        raise DamagedRecordError(directory, name, f"cannot be read: {error.strerror}") from None


def _check_values(values: list[object]) -> None:
    """Raise ValueError unless the values are of the types that an event may carry, in lists of bounded depth."""
    # A single call suffices for nearly all events; the loop would take a third of the time of reading a log.
    if _PLAIN.issuperset(map(type, values)):
        return
    pending = [(value, 1) for value in values]
    while pending:
        value, depth = pending.pop()
        if type(value) is list:
            if depth > EVENT_DEPTH_MAX:
                raise ValueError(f"values are nested deeper than {EVENT_DEPTH_MAX}")
            pending.extend((item, depth + 1) for item in value)
        elif type(value) not in _PLAIN:
            raise ValueError(f"a value is a {type(value).__name__}")


def _as_event(record: Event | bytes | None) -> Event | None:
    if isinstance(record, bytes):
        return read_event_record(msgpack.unpackb(record, raw=False))
    return record and Event(record.at_us, record.node, LoggedValues(record.kind, record.values))


def _describe_or_end(event: Event | None) -> str:
    return ENDED if event is None else describe_event(event)


def _describe_value(value: Value) -> str:
    if isinstance(value, bytes):
        # All digits of a digest: two may differ in the last byte alone.
        return value.hex() if len(value) <= _SHOWN_BYTES else f"{value[:_SHOWN_BYTES].hex()}...({len(value)} bytes)"
    if isinstance(value, tuple | list):
        return "[" + " ".join(map(_describe_value, value)) + "]"
    return str(value)
