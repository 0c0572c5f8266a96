"""The message bus: it carries bytes between validators, as late and as unreliably as links and faults make it.

The k-th message of a link has its draws by (seed, purpose, link, k), and k counts every message of the link, lost or
not: putting in or taking out one condition leaves the others' draws as they were. A condition (a cut, a degradation)
has a name and counts the messages it touched, so that a fault can prove that it took effect.

In the trace a payload is its label, its length and an 8-byte checksum, which is computed once per broadcast.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from network.chance import Chance, Draws, below
from network.kernel import Kernel
from network.latency import Latency
from network.topology import MILLION, Link, LinkSpec, check_rates
from network.trace import EventChain, Trace
from network.types import EventKind, Micros, NodeId

if TYPE_CHECKING:
    import networkx as nx

Deliver: TypeAlias = Callable[[NodeId, bytes], None]

_CHECKSUM_BYTES: Final = 8
_NO_CHECKSUM: Final = b""
_DELIVERY: Final = EventKind.DELIVERY
"""Looking a member up in its enum costs 50 ns, once per message."""


class BusError(Exception):
    """The bus was used against its rules."""


class UnknownLinkError(BusError, LookupError):
    """There is no such link in the topology."""


class ConditionError(BusError):
    """A condition's name is in use, or stands for none that is set."""


@dataclass(frozen=True, slots=True)
class BusStatistics:
    """How many messages were sent, and what became of them; the rest is on its way."""

    sent: int
    delivered: int
    dropped_cut: int
    dropped_loss: int
    dropped_down: int
    dropped_oversize: int

    @property
    def in_flight(self) -> int:
        """Messages sent and neither delivered nor dropped yet."""
        dropped = self.dropped_cut + self.dropped_loss + self.dropped_down + self.dropped_oversize
        return self.sent - self.delivered - dropped


class _Parcel(NamedTuple):
    """What all copies of a broadcast share."""

    payload: bytes
    label: str
    length: int
    checksum: bytes


@dataclass(slots=True)
class _Condition:
    """Something that a fault did to links, and how many messages felt it."""

    name: str
    is_cut: bool
    latency: Latency | None = None
    loss_ppm: int = 0
    reorder_ppm: int = 0
    reorder_extra_us: Micros = 0
    touched: int = 0


class _Wire:
    """One direction of a link at run time."""

    __slots__ = (
        "_chance",
        "_streams",
        "chain",
        "conditions",
        "destination",
        "is_plain",
        "sent",
        "source",
        "spec",
    )

    def __init__(self, source: NodeId, destination: NodeId, spec: LinkSpec, chain: EventChain, chance: Chance) -> None:
        self.source = source
        self.destination = destination
        self.spec = spec
        self.chain = chain
        self._chance = chance
        self._streams: dict[str, Draws] = {}
        self.sent = 0
        self.conditions: tuple[_Condition, ...] = ()
        self.is_plain = False
        self.set_conditions(())

    def set_conditions(self, conditions: tuple[_Condition, ...]) -> None:
        """Put these conditions, oldest first, on the wire."""
        self.conditions = conditions
        self.is_plain = not (conditions or self.spec.loss_ppm or self.spec.reorder_ppm)

    def sample(self, latency: Latency, ordinal: int) -> Micros:
        """Return a message's time on the wire."""
        if latency.kind == "fixed":
            return latency.mean_us
        return latency.sample(self._stream("latency").at(ordinal))

    def happens(self, purpose: str, ordinal: int, ppm: int) -> bool:
        """Draw whether something of this probability, in millionths, happens to a message."""
        return ppm > 0 and below(self._stream(purpose).at(ordinal), MILLION) < ppm

    def _stream(self, purpose: str) -> Draws:
        stream = self._streams.get(purpose)
        if stream is None:
            stream = self._streams[purpose] = self._chance.stream(purpose, f"{self.source}->{self.destination}")
        return stream


class Bus:
    """Carries messages between the nodes of a topology.

    Args:
        kernel: deliveries are events in its queue.
        topology: from `network.topology.build_topology`; it is copied.
        chance: the source of latencies and losses.
        trace: must know every node of the topology.
        size_limit: a longer payload, in bytes, is dropped and counted as oversize.
    """

    def __init__(
        self, kernel: Kernel, topology: nx.DiGraph[NodeId], chance: Chance, trace: Trace, *, size_limit: int
    ) -> None:
        self._kernel = kernel
        self._size_limit = size_limit
        self._is_traced = trace.is_active
        self._chains: dict[NodeId, EventChain] = {node: trace.chain(node) for node in sorted(topology.nodes)}
        self._receivers: dict[NodeId, Deliver | None] = dict.fromkeys(self._chains)
        self._wires: dict[NodeId, dict[NodeId, _Wire]] = {node: {} for node in self._chains}
        for source, destination in sorted(topology.edges):
            spec: LinkSpec = topology.edges[source, destination]["link"]
            self._wires[source][destination] = _Wire(source, destination, spec, self._chains[source], chance)
        self._active: dict[str, tuple[_Condition, tuple[_Wire, ...]]] = {}
        self._touched: dict[str, int] = {}
        self._delivered = 0
        self._dropped = {"cut": 0, "loss": 0, "down": 0, "oversize": 0}

    # Validators

    def attach(self, node: NodeId, deliver: Deliver | None) -> None:
        """Let `deliver` be called with (source, payload) for each message to a node; None: nobody is home.

        Raises:
            UnknownLinkError: the node is not in the topology.
            BusError: another receiver is attached; it must go first.
        """
        if node not in self._receivers:
            raise UnknownLinkError(f"node {node} is not in the topology, which has {list(self._receivers)}")
        if deliver is not None and self._receivers[node] is not None:
            raise BusError(f"node {node} already has a receiver: revoke its port first")
        self._receivers[node] = deliver

    def send(self, source: NodeId, destination: NodeId, payload: bytes, label: str = "") -> None:
        """Send one message.

        Raises:
            UnknownLinkError: the topology has no such link.
        """
        wire = self._wire(source, destination)
        self._transmit(wire, self._wrap(payload, label))

    def broadcast(self, source: NodeId, payload: bytes, label: str = "") -> None:
        """Send one payload along every link of a node, by ascending destination."""
        parcel = self._wrap(payload, label)
        for wire in self._wires[source].values():
            self._transmit(wire, parcel)

    # Faults

    def cut(self, name: str, links: Iterable[Link]) -> None:
        """Drop every message that is sent on these links from now on, until `mend`; what is on its way arrives.

        Raises:
            ConditionError: the name is in use.
            UnknownLinkError: a link does not exist.
        """
        self._set_condition(_Condition(name, is_cut=True), links)

    def mend(self, name: str) -> None:
        """End a cut.

        Raises:
            ConditionError: no condition of that name is set.
        """
        self._clear_condition(name)

    def degrade(
        self,
        name: str,
        links: Iterable[Link],
        *,
        latency: Latency | None,
        loss_ppm: int,
        reorder_ppm: int = 0,
        reorder_extra_us: Micros = 0,
    ) -> None:
        """Make links worse, until `restore`.

        The newest condition with a latency replaces the link's own; losses and reorderings of several conditions are
        drawn independently and add up.

        Raises:
            ConditionError: the name is in use.
            UnknownLinkError: a link does not exist.
            TopologyError: a rate is out of range.
        """
        check_rates(loss_ppm, reorder_ppm, reorder_extra_us)
        condition = _Condition(
            name,
            is_cut=False,
            latency=latency,
            loss_ppm=loss_ppm,
            reorder_ppm=reorder_ppm,
            reorder_extra_us=reorder_extra_us,
        )
        self._set_condition(condition, links)

    def restore(self, name: str) -> None:
        """End a degradation.

        Raises:
            ConditionError: no condition of that name is set.
        """
        self._clear_condition(name)

    def touched(self, name: str) -> int:
        """Return how many messages a condition has dropped, delayed or given another latency, also after its end.

        Raises:
            ConditionError: no condition ever had that name.
        """
        if name in self._active:
            return self._touched[name] + self._active[name][0].touched
        if name not in self._touched:
            raise ConditionError(f"no condition was ever called {name!r}")
        return self._touched[name]

    def statistics(self) -> BusStatistics:
        """Return the counters of the bus."""
        sent = sum(wire.sent for wires in self._wires.values() for wire in wires.values())
        dropped = {f"dropped_{reason}": count for reason, count in self._dropped.items()}
        return BusStatistics(sent=sent, delivered=self._delivered, **dropped)

    # One message

    def _wrap(self, payload: bytes, label: str) -> _Parcel:
        checksum = _NO_CHECKSUM
        if self._is_traced:
            checksum = hashlib.blake2b(payload, digest_size=_CHECKSUM_BYTES).digest()
        return _Parcel(payload, label, len(payload), checksum)

    def _transmit(self, wire: _Wire, parcel: _Parcel) -> None:
        ordinal = wire.sent
        wire.sent = ordinal + 1
        kernel = self._kernel
        now_us = kernel.now_us
        destination = wire.destination
        if self._is_traced:
            wire.chain.add(now_us, "send", destination, ordinal, parcel.label, parcel.length, parcel.checksum)
        if parcel.length > self._size_limit:
            self._drop(wire, ordinal, "oversize", "")
            return
        if wire.is_plain:
            delay_us = wire.sample(wire.spec.latency, ordinal)
        else:
            worsened_us = self._worsen(wire, ordinal)
            if worsened_us is None:
                return
            delay_us = worsened_us
        kernel.post(
            now_us + delay_us, destination, _DELIVERY, wire.source, ordinal, self._arrive, wire, ordinal, parcel
        )

    def _worsen(self, wire: _Wire, ordinal: int) -> Micros | None:
        """Return a message's delay under the conditions of its wire, or None when it is lost."""
        cuts = [condition for condition in wire.conditions if condition.is_cut]
        for condition in cuts:
            condition.touched += 1
        if cuts:
            self._drop(wire, ordinal, "cut", cuts[0].name)
            return None
        if wire.happens("loss", ordinal, wire.spec.loss_ppm):
            self._drop(wire, ordinal, "loss", "")
            return None
        for condition in wire.conditions:
            # A condition's name is part of the purpose: two conditions on one wire must not lose the same messages.
            if wire.happens(f"loss {condition.name}", ordinal, condition.loss_ppm):
                condition.touched += 1
                self._drop(wire, ordinal, "loss", condition.name)
                return None
        return self._delay(wire, ordinal)

    def _delay(self, wire: _Wire, ordinal: int) -> Micros:
        latency, extra_us = wire.spec.latency, 0
        if wire.happens("reorder", ordinal, wire.spec.reorder_ppm):
            extra_us += wire.spec.reorder_extra_us
        for condition in wire.conditions:
            latency = condition.latency or latency
            is_held = wire.happens(f"reorder {condition.name}", ordinal, condition.reorder_ppm)
            extra_us += condition.reorder_extra_us if is_held else 0
            if is_held or condition.latency is not None:
                condition.touched += 1
        return wire.sample(latency, ordinal) + extra_us

    def _drop(self, wire: _Wire, ordinal: int, reason: str, condition: str) -> None:
        self._dropped[reason] += 1
        wire.chain.add(self._kernel.now_us, "drop", wire.destination, ordinal, reason, condition)

    def _arrive(self, wire: _Wire, ordinal: int, parcel: _Parcel) -> None:
        destination = wire.destination
        deliver = self._receivers[destination]
        if deliver is None:
            self._drop(wire, ordinal, "down", "")
            return
        self._delivered += 1
        payload, label, length, checksum = parcel
        if self._is_traced:
            chain = self._chains[destination]
            chain.add(self._kernel.now_us, "deliver", wire.source, ordinal, label, length, checksum)
        deliver(wire.source, payload)

    # Conditions

    def _wire(self, source: NodeId, destination: NodeId) -> _Wire:
        try:
            return self._wires[source][destination]
        except KeyError:
            raise UnknownLinkError(f"the topology has no link {source}->{destination}") from None

    def _set_condition(self, condition: _Condition, links: Iterable[Link]) -> None:
        if condition.name in self._active:
            raise ConditionError(f"a condition called {condition.name!r} is already set")
        # dict.fromkeys: a link that is named twice must not carry the condition twice.
        wires = tuple(self._wire(source, destination) for source, destination in dict.fromkeys(links))
        self._active[condition.name] = (condition, wires)
        self._touched.setdefault(condition.name, 0)
        for wire in wires:
            wire.set_conditions((*wire.conditions, condition))

    def _clear_condition(self, name: str) -> None:
        if name not in self._active:
            raise ConditionError(f"no condition called {name!r} is set")
        condition, wires = self._active.pop(name)
        self._touched[name] += condition.touched
        for wire in wires:
            wire.set_conditions(tuple(other for other in wire.conditions if other is not condition))
