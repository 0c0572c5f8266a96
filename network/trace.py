"""The run's event log and its rolling digest.

Each validator appends to a chain of its own; at every turn the kernel folds the chains into the log in node order, the
supervisor first. What two validators did within one turn therefore has no order that the digest could see. The digest
is the SHA-256 of the log, byte for byte, so that anyone who has the log can check it.

A record is the msgpack array [at_us, node, kind, values...]; values, not only kinds, are hashed. Events are encoded
when they are added (230 ns), because a value may change before the turn ends.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from typing import Final, TypeAlias

import msgpack  # type: ignore[import-untyped]  # it ships no type information
import msgspec
from msgspec.structs import astuple

from network.events import Event, TraceEvent
from network.types import SUPERVISOR, Micros, NodeId

_HASH_CHUNK_BYTES: Final = 1 << 16
"""The log is hashed in pieces of about this size: one call per turn would cost more than the hashing itself."""

Sink: TypeAlias = Callable[[Event], None]
"""Is called with every event, in the order of the log, at the turn after the one in which it happened."""


class UnknownNodeError(LookupError):
    """A chain was asked for that belongs to no node of the run."""


class EventChain:
    """The events of one node since the last fold."""

    __slots__ = ("_buffer", "_dirty", "_encode_into", "_events", "_is_encoding", "_is_open", "_pending", "node")

    def __init__(self, node: NodeId, dirty: "list[EventChain]", *, encode: bool, keep: bool) -> None:
        self.node = node
        self._dirty = dirty
        self._is_open = encode or keep
        self._is_encoding = encode
        self._encode_into = msgspec.msgpack.Encoder().encode_into
        self._buffer = bytearray()
        self._pending = 0
        self._events: list[Event] | None = [] if keep else None

    def add(self, at_us: Micros, body: TraceEvent) -> None:
        """Append an event. After `close` nothing is appended: a stopped run has no further events."""
        if not self._is_open:
            return
        if not self._pending:
            self._dirty.append(self)
        self._pending += 1
        if self._is_encoding:
            self._encode_into((at_us, self.node, body.kind) + astuple(body), self._buffer, -1)  # noqa: RUF005
        if self._events is not None:
            self._events.append(Event(at_us, self.node, body))

    def move_to(self, log: bytearray, shown: list[Event]) -> int:
        """Append the buffered records to the log and the events for sinks to `shown`; return how many those were."""
        log += self._buffer
        self._buffer.clear()
        if self._events:
            shown += self._events
            self._events.clear()
        pending, self._pending = self._pending, 0
        return pending

    def close(self) -> None:
        """Ignore whatever is added from now on."""
        self._is_open = False


class Trace:
    """All chains of a run, its log and its digest.

    Args:
        nodes: the validators; the supervisor has a chain without being named.
        sinks: are called with each event at the fold.
        recording: False keeps no log and no digest; sinks still see the events. For measurements only.
    """

    def __init__(self, nodes: Sequence[NodeId], sinks: Sequence[Sink] = (), *, recording: bool = True) -> None:
        self.count = 0
        self.log = bytearray()
        self.is_active = recording or bool(sinks)
        self._sinks = tuple(sinks)
        self._hasher = hashlib.sha256()
        self._hashed_bytes = 0
        self._dirty: list[EventChain] = []
        self._chains = {
            node: EventChain(node, self._dirty, encode=recording, keep=bool(sinks)) for node in (SUPERVISOR, *nodes)
        }

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
        if not self._dirty:
            return
        # Most turns belong to one node, and a call to sort costs as much as the move.
        ready = self._dirty[:] if len(self._dirty) == 1 else sorted(self._dirty, key=attrgetter("node"))
        # The list is shared with the chains, and a sink may add events of its own: empty it before they run.
        self._dirty.clear()
        shown: list[Event] = []
        for chain in ready:
            self.count += chain.move_to(self.log, shown)
        if len(self.log) - self._hashed_bytes >= _HASH_CHUNK_BYTES:
            self._hash_rest()
        for event in shown:
            for sink in self._sinks:
                sink(event)

    def close(self) -> None:
        """Fold what is there and ignore whatever is added from now on."""
        self.fold()
        self.fold()  # what the sinks themselves added while the first fold showed them the end
        for chain in self._chains.values():
            chain.close()

    @property
    def digest(self) -> bytes:
        """The SHA-256 of the log so far, 32 bytes."""
        self._hash_rest()
        return self._hasher.digest()

    def events(self) -> Iterator[bytes]:
        """Yield the records of the log one by one, each still encoded."""
        unpacker = msgpack.Unpacker(max_buffer_size=len(self.log) or 1)
        unpacker.feed(self.log)
        start = 0
        while start < len(self.log):
            unpacker.skip()
            end = unpacker.tell()
            yield bytes(self.log[start:end])
            start = end

    def _hash_rest(self) -> None:
        with memoryview(self.log) as view:
            self._hasher.update(view[self._hashed_bytes :])
        self._hashed_bytes = len(self.log)
