"""The run's event log and its rolling digest.

Each validator appends to a chain of its own; at every turn the kernel folds the chains into the log in node order, the
supervisor first. What two validators did within one turn therefore has no order that the digest could see. The digest
is the SHA-256 of the log, byte for byte, so that anyone who has the log can check it.

All chains append to one list, and a fold sorts what the turn has added by node, stably: most turns belong to one node,
and a list for each cost a message a tenth more.

A record is the msgpack array [at_us, node, kind, values...]; values, not only kinds, are hashed, and none of them can
change. Records are encoded and hashed some hundred at a time: one by one that took twice as long.
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
"""Time, node, kind and values of an event, as the log has them."""

Sink: TypeAlias = Callable[[Event], None]
"""Is called with every event, in the order of the log, at the turn after the one in which it happened."""


class UnknownNodeError(LookupError):
    """A chain was asked for that belongs to no node of the run."""


class EventChain:
    """The writing end of one node's events.

    Attributes:
        note: appends a record to the log; whoever calls it has the event shown as well.
        is_shown: whether somebody looks at events.
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
        """Have the event shown that has been noted as a record."""
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
        # Those of the log, `_folded` of them, and behind them what this turn has added; the latter also as events.
        self._records: list[Record] = []
        self._folded = 0
        self._events: list[Event] = []
        note = self._records.append if recording else _ignore
        events = self._events if sinks else None
        self._chains = {node: EventChain(node, note, events) for node in (SUPERVISOR, *nodes)}

    def chain(self, node: NodeId) -> EventChain:
        """Return the chain of a node, or of `SUPERVISOR`.

        Raises:
            UnknownNodeError: the node is not one of this run.
        """
        chain = self._chains.get(node)
        if chain is None:
            raise UnknownNodeError(f"node {node} has no event chain; the run has {sorted(self._chains)}")
        return chain

    def fold(self) -> None:
        """Move what the chains hold into the log, in node order, and show it to the sinks."""
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
        """Fold what is there and ignore whatever is added from now on."""
        self.fold()
        self.fold()  # what the sinks themselves added while the first fold showed them the end
        # What the chains append from now on goes to lists that nobody reads.
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
        """Yield the log so far, some of it at a time: it may be longer than memory has room for."""
        self._write_records()
        return self._written.pieces()

    def events(self) -> Iterator[bytes]:
        """Yield the records of the log one by one, each still encoded."""
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
        # Encoded as one array, whose head of one, three or five bytes is no part of the log.
        head = 1 if count < _SHORT_HEAD_RECORDS else 3 if count < _MEDIUM_HEAD_RECORDS else 5
        with memoryview(encoded)[head:] as view:
            self._hasher.update(view)
            self._written.append(view)


def _ignore(_record: Record) -> None:
    pass
