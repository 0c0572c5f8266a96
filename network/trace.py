"""The run's event log and its rolling digest.

Each validator appends to a chain of its own. At every turn the kernel folds the chains into the log in node order, the
supervisor first. So actions of two validators within a turn have no order that the digest could see. The digest is the
SHA-256 of the log, byte for byte, so that anyone who has the log can check it.

All chains append to one list, and a fold sorts the turn's records by node, stably. Most turns belong to one node, and a
list for each node would make a message a tenth slower.

A record is the msgpack array [at_us, node, kind, values...]; values, not only kinds, are hashed, and no value can
change. Records are encoded and hashed some hundred at a time: single records took twice as long.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter, itemgetter
from typing import Any, Final, TypeAlias

import msgpack  # type: ignore[import-untyped]  # it ships no type information
import msgspec
from msgspec.structs import astuple

from network.events import Event, TraceEvent
from network.spill import ColdFile, SpillingBytes
from network.types import SUPERVISOR, Micros, NodeId

_RECORDS_AT_ONCE: Final = 512
"""Records that are encoded and hashed together."""

_NODE_OF_RECORD: Final = itemgetter(1)
_NODE_OF_EVENT: Final = attrgetter("node")

_SHORT_HEAD_RECORDS: Final = 16
_MEDIUM_HEAD_RECORDS: Final = 1 << 16

Record: TypeAlias = tuple[Any, ...]
"""Time, node, kind and values of an event, in the log's form."""

Sink: TypeAlias = Callable[[Event], None]
"""Is called with every event, in the order of the log, at the turn after the event's turn."""


class UnknownNodeError(LookupError):
    """A chain was requested for a node outside the run."""


class EventChain:
    """The writing end of one node's events.

    Attributes:
        note: appends a record to the log; the caller shows the event as well.
        is_shown: whether a sink looks at events.
    """

    __slots__ = ("_events", "is_shown", "node", "note")

    def __init__(self, node: NodeId, note: Callable[[Record], object], events: list[Event] | None) -> None:
        self.node = node
        self.note = note
        self.is_shown = events is not None
        self._events: list[Event] = [] if events is None else events

    def add(self, at_us: Micros, body: TraceEvent) -> None:
        """Append an event."""
        self.note((at_us, self.node, body.kind, *astuple(body)))
        if self.is_shown:
            self._events.append(Event(at_us, self.node, body))

    def show(self, record: Record, kind: type[TraceEvent]) -> None:
        """Show an event that has been noted as a record."""
        self._events.append(Event(record[0], record[1], kind(*record[3:])))


class Trace:
    """All chains of a run, its log and its digest.

    Args:
        nodes: the validators; the supervisor has a chain without being named.
        sinks: are called with each event at the fold.
        recording: False keeps no log and no digest; sinks still see the events. For measurements only.
    """

    def __init__(self, nodes: Sequence[NodeId], sinks: Sequence[Sink] = (), *, recording: bool = True) -> None:
        self._counted = 0
        self._written = SpillingBytes(ColdFile())
        self.is_active = recording or bool(sinks)
        self._is_recording = recording
        self._sinks = tuple(sinks)
        self._hasher = hashlib.sha256()
        self._encoder = msgspec.msgpack.Encoder()
        # The log's records, `_folded` of them, and after them this turn's records; the latter also as events.
        self._records: list[Record] = []
        self._folded = 0
        self._events: list[Event] = []
        note = self._records.append if recording else _ignore
        events = self._events if sinks else None
        self._chains = {node: EventChain(node, note, events) for node in (SUPERVISOR, *nodes)}

    def chain(self, node: NodeId) -> EventChain:
        """Return the chain of a node, or of `SUPERVISOR`.

        Raises:
            UnknownNodeError: the node is not part of this run.
        """
        chain = self._chains.get(node)
        if chain is None:
            raise UnknownNodeError(f"node {node} has no event chain; the run has {sorted(self._chains)}")
        return chain

    def fold(self) -> None:
        """Move the chains' records into the log, in node order, and show them to the sinks."""
        records, folded = self._records, self._folded
        length = len(records)
        if length > folded:
            if length > folded + 1:
                records[folded:] = sorted(records[folded:], key=_NODE_OF_RECORD)
            self._folded = length
            if length >= _RECORDS_AT_ONCE:
                self._write_records()
        if self._events:
            # A sink may add events of its own, which the next fold shows.
            shown = sorted(self._events, key=_NODE_OF_EVENT)
            self._events.clear()
            if not self._is_recording:
                self._counted += len(shown)
            for event in shown:
                for sink in self._sinks:
                    sink(event)

    def close(self) -> None:
        """Fold the present records and ignore all later records."""
        self.fold()
        self.fold()  # for the events that sinks added when the first fold showed them the end
        # Later records go to lists that are never read.
        self._records, self._events = self._records[:], []

    @property
    def count(self) -> int:
        """The number of events so far."""
        return self._counted + self._folded

    @property
    def digest(self) -> bytes:
        """The SHA-256 of the log so far, 32 bytes."""
        self._write_records()
        return self._hasher.digest()

    @property
    def log(self) -> bytes:
        """The log so far, in one piece."""
        return b"".join(self.pieces())

    @property
    def bytes_in_memory(self) -> int:
        """Bytes of the log that no temporary file holds."""
        return self._written.bytes_in_memory

    def pieces(self) -> Iterator[bytes]:
        """Yield the log so far, in pieces: it may be longer than memory has room for."""
        self._write_records()
        return self._written.pieces()

    def events(self) -> Iterator[bytes]:
        """Yield the encoded records of the log."""
        log = self.log
        unpacker = msgpack.Unpacker(max_buffer_size=len(log) or 1)
        unpacker.feed(log)
        start = 0
        while start < len(log):
            unpacker.skip()
            end = unpacker.tell()
            yield log[start:end]
            start = end

    def _write_records(self) -> None:
        count = self._folded
        if not count:
            return
        encoded = self._encoder.encode(self._records[:count])
        del self._records[:count]
        self._counted += count
        self._folded = 0
        # Encoded as one array; its head of 1, 3 or 5 bytes is no part of the log.
        head = 1 if count < _SHORT_HEAD_RECORDS else 3 if count < _MEDIUM_HEAD_RECORDS else 5
        with memoryview(encoded)[head:] as view:
            self._hasher.update(view)
            self._written.append(view)


def _ignore(_record: Record) -> None:
    pass
