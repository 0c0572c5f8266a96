"""The message bus: it carries bytes between validators, as late and as unreliably as links and faults make it.

The k-th message of a link has its draws by (seed, purpose, link, k). k counts every message of the link, lost or not:
adding or removing a condition leaves the draws of all other conditions unchanged. A condition (a cut, a degradation)
has a name and counts the messages it touched, so that a fault can prove that it took effect.

A held message is kept back as it was sent; no other effect of a condition touches it. A released message arrives
immediately, in the order of sending for each receiver. If another condition holds it as well, it stays with that
condition.

The receiver reports a message that was lost under way, in the turn in which it would have come. Two tasks of one turn
must not write to a sender's chain.

In the trace a payload is its label, its length and an 8-byte checksum, which is computed once per broadcast.
"""

import hashlib
from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from network.chance import DRAWS_PER_BLOCK, Chance
from network.conditions import Condition, Fate, LinkState, TouchCount, fate_of, flip_bytes
from network.events import Delivered, Dropped, HeldBack, Lost, Released, Sent
from network.kernel import Kernel
from network.outcome import BusError, BusStatistics, ConditionError, UnknownLinkError
from network.queues import COPY_SHIFT, Losses, Uplink, UplinkClass
from network.topology import Link, LinkSpec
from network.trace import EventChain, Trace
from network.types import NO_LABEL, EventKind, Label, Micros, NodeId

if TYPE_CHECKING:
    import networkx as nx

Deliver: TypeAlias = Callable[[NodeId, bytes], None]

_CHECKSUM_BYTES: Final = 8
_NO_CHECKSUM: Final = b""
_DELIVERY: Final = EventKind.DELIVERY
_SENT: Final = Sent.kind
_DELIVERED: Final = Delivered.kind
"""Looking a member up in its class costs 50 ns, once per message."""

_REPLAY_SHIFT: Final = COPY_SHIFT + 8
"""A message kept for a later replay is a copy too, with a number above the copies that arrive with the message."""


class _Parcel(NamedTuple):
    """The parts that all copies of a broadcast share."""

    payload: bytes
    label: Label
    kind: str
    length: int
    checksum: bytes


class _Held(NamedTuple):
    """A message that a rule keeps back, and the time since when."""

    held_us: Micros
    wire: LinkState
    ordinal: int
    parcel: _Parcel


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
        self, kernel: Kernel, topology: "nx.DiGraph[NodeId]", chance: Chance, trace: Trace, *, size_limit: int
    ) -> None:
        self._kernel = kernel
        self._size_limit = size_limit
        self._is_traced = trace.is_active
        # Sorted: a graph keeps the order in which its nodes were added.
        self._chains: dict[NodeId, EventChain] = {node: trace.chain(node) for node in sorted(topology.nodes)}
        self._receivers: dict[NodeId, Deliver | None] = dict.fromkeys(self._chains)
        self._wires: dict[NodeId, dict[NodeId, LinkState]] = {node: {} for node in self._chains}
        classes: tuple[UplinkClass, ...] = topology.graph.get("uplink", ())
        self._uplinks = {node: Uplink(classes) for node in (self._chains if classes else ())}
        identities: dict[NodeId, NodeId | None] = dict(topology.nodes(data="identity"))  # type: ignore[arg-type]
        self._twins = {node: shared for node, shared in identities.items() if shared is not None}
        """By machine of a twin, the identity under which the other nodes know it."""
        # Sorted, because a broadcast goes along these in the order in which they are made.
        for source, destination in sorted(topology.edges):
            spec: LinkSpec = topology.edges[source, destination]["link"]
            near, far = self._chains[source], self._chains[destination]
            uplink = self._uplinks.get(source)
            wire = LinkState(source, destination, spec, near, far_chain=far, chance=chance, uplink=uplink)
            wire.shown_source = self._twins.get(source, source)
            self._wires[source][destination] = wire
        self._machines = {identity: (identity, node) for node, identity in self._twins.items()}
        self._active: dict[str, tuple[Condition, tuple[LinkState, ...]]] = {}
        self._touched: dict[str, TouchCount] = {}
        self._held: dict[str, list[_Held]] = {}
        self._delivered = 0
        self._duplicated = 0
        self._dropped = {"cut": 0, "loss": 0, "rule": 0, "down": 0, "oversize": 0, "queue": 0, "reset": 0}

    # Validators

    def attach(self, node: NodeId, deliver: Deliver | None) -> None:
        """Let `deliver` be called with (source, payload) for each message to a node; None: the node is off.

        The source of a twin's message is the identity that it shares.

        Raises:
            UnknownLinkError: the node is not in the topology.
            BusError: another receiver is attached; it must go first.
        """
        if node not in self._receivers:
            raise UnknownLinkError(f"node {node} is not in the topology, which has {list(self._receivers)}")
        if deliver is not None and self._receivers[node] is not None:
            raise BusError(f"node {node} already has a receiver: revoke its port first")
        self._receivers[node] = deliver
        for wires in self._wires.values():
            if node in wires:
                wires[node].deliver = deliver

    def send(self, source: NodeId, destination: NodeId, payload: bytes, label: Label = NO_LABEL) -> None:
        """Send one message, also to the twin of its receiver.

        Raises:
            UnknownLinkError: the topology has no such link.
        """
        wires: Iterable[LinkState]
        if destination in self._machines:
            # A machine has no link to a twin of its own.
            wires = [wire for node in self._machines[destination] if (wire := self._wires[source].get(node))]
        else:
            wires = (self._wire(source, destination),)
        self._transmit(source, wires, self._wrap(payload, label))

    def broadcast(self, source: NodeId, payload: bytes, label: Label = NO_LABEL) -> None:
        """Send one payload along every link of a node, by ascending destination."""
        self._transmit(source, self._wires[source].values(), self._wrap(payload, label))

    def neighbours(self, source: NodeId) -> tuple[NodeId, ...]:
        """Return the receivers of this node's broadcasts, in order, without twins: `send` reaches them too."""
        return tuple(node for node in self._wires[source] if node not in self._twins)

    # Faults

    def impose(self, condition: Condition, links: Iterable[Link]) -> None:
        """Put a condition on links, by its name, until `lift`; messages on their way arrive as they would have.

        The newest condition with a latency replaces the link's own; all other effects of several conditions are drawn
        independently and add up. Each copy has its own latency; a corrupted message has one byte changed.

        Raises:
            ConditionError: the name is in use.
            UnknownLinkError: a link does not exist.
        """
        name = condition.name
        if name in self._active:
            raise ConditionError(f"a condition named {name!r} is already set")
        # dict.fromkeys: a link that is named twice must not carry the condition twice.
        wires = tuple(self._wire(source, destination) for source, destination in dict.fromkeys(links))
        self._active[name] = (condition, wires)
        if condition.rule is not None:
            self._held.setdefault(name, [])
        # A fault that comes and goes sets several conditions in succession: they continue the count.
        condition.touched = self._touched.setdefault(name, condition.touched)
        for wire in wires:
            wire.set_conditions((*wire.conditions, condition))

    def reset(self, name: str) -> None:
        """Lose every message that was sent on a condition's links before now and has not arrived; it counts them.

        Raises:
            ConditionError: no condition of that name is set.
        """
        if name not in self._active:
            raise ConditionError(f"no condition named {name!r} is set")
        for wire in self._active[name][1]:
            losses = wire.losses = wire.losses or Losses()
            # By ordinal and not by time: messages sent in this instant after the reset arrive.
            losses.below, losses.reset_by = wire.sent, name

    def lift(self, name: str) -> None:
        """End a condition; the messages that it holds stay held until `release`.

        Raises:
            ConditionError: no condition of that name is set.
        """
        if name not in self._active:
            raise ConditionError(f"no condition named {name!r} is set")
        condition, wires = self._active.pop(name)
        _take_off(condition, wires)

    def release(self, name: str, destinations: Collection[NodeId] | None = None, *, gap_us: Micros = 1) -> None:
        """Send on the held or kept messages, to all receivers or to `destinations`, for which the rule then ends.

        Each receiver gets its messages in the order of their sending, by sender within an instant. The first comes in 1
        us, each further message `gap_us` later.

        Raises:
            ConditionError: no rule ever had that name.
        """
        if name not in self._held:
            raise ConditionError(f"no rule was ever named {name!r}")
        kept: list[_Held] = []
        counts: dict[NodeId, int] = {}
        # Messages that two senders hold back in one instant have trio's order of tasks, which must not be seen.
        for held in sorted(self._held[name], key=lambda held: (held.held_us, held.wire.source)):
            receiver = held.wire.destination
            if destinations is not None and receiver not in destinations:
                kept.append(held)
                continue
            holder = self._other_holder(name, held)
            if holder:
                self._held[holder].append(held)
                continue
            place = counts[receiver] = counts.get(receiver, 0) + 1
            self._duplicated += held.ordinal >> _REPLAY_SHIFT > 0
            held.wire.chain.add(self._kernel.now_us, Released(receiver, held.ordinal, name))
            delay_us = 1 + (place - 1) * max(gap_us, 1)
            if held.wire.spec.is_fifo:
                delay_us = held.wire.in_order(self._kernel.now_us + delay_us) - self._kernel.now_us
            self._post_delivery(held.wire, held.ordinal, held.parcel, delay_us)
        self._held[name] = kept
        if destinations is not None and name in self._active:
            condition, wires = self._active[name]
            _take_off(condition, (wire for wire in wires if wire.destination in destinations))

    def _other_holder(self, name: str, held: _Held) -> str:
        """Return the oldest other condition that holds messages like this; empty if there is none."""
        for condition in held.wire.conditions:
            rule = condition.rule
            if condition.name != name and rule and rule.action == "hold" and rule.matches(held.parcel.label):
                condition.touch(held.wire)
                return condition.name
        return ""

    def touched(self, name: str) -> int:
        """Return how many messages a condition has affected, also after its end.

        Raises:
            ConditionError: no condition ever had that name.
        """
        return self._touched_by(name).count

    def touched_at(self, name: str, node: NodeId) -> int:
        """Return how many of the condition's messages this node sent or was to receive.

        Raises:
            ConditionError: no condition ever had that name.
        """
        return self._touched_by(name).at.get(node, 0)

    def _touched_by(self, name: str) -> TouchCount:
        if name not in self._touched:
            raise ConditionError(f"no condition was ever named {name!r}")
        return self._touched[name]

    def statistics(self) -> BusStatistics:
        """Return the counters of the bus."""
        sent = sum(wire.sent for wires in self._wires.values() for wire in wires.values())
        dropped = {f"dropped_{reason}": count for reason, count in self._dropped.items()}
        waited = sum(uplink.waited for uplink in self._uplinks.values())
        own = {"delivered": self._delivered, "duplicated": self._duplicated, "waited": waited}
        return BusStatistics(sent=sent, **own, **dropped)

    # One message

    def _wrap(self, payload: bytes, label: Label) -> _Parcel:
        checksum = _NO_CHECKSUM
        if self._is_traced:
            checksum = hashlib.blake2b(payload, digest_size=_CHECKSUM_BYTES).digest()
        return _Parcel(payload, label, label.kind, len(payload), checksum)

    def _transmit(self, source: NodeId, wires: Iterable[LinkState], parcel: _Parcel) -> None:
        """Send one message along each of these wires of a source."""
        enqueue, arrive, chain = self._kernel.enqueue, self._arrive, self._chains[source]
        note, is_traced, is_shown = chain.note, self._is_traced, chain.is_shown
        now_us = self._kernel.now_us
        kind, view, height = parcel.label
        length, checksum = parcel.length, parcel.checksum
        is_oversize = length > self._size_limit
        for wire in wires:
            destination, ordinal = wire.destination, wire.sent
            # Before the fate: lost messages count too, so that a loss shifts no draw of later messages.
            wire.sent = ordinal + 1
            if is_traced:
                record = (now_us, source, _SENT, destination, ordinal, kind, length, checksum, view, height)
                note(record)
                if is_shown:
                    chain.show(record, Sent)
            # After the event: an oversize message was sent and is seen to be dropped.
            if is_oversize:
                self._drop(wire, ordinal, "oversize", "")
            elif not wire.is_plain:
                fate = fate_of(wire, ordinal, parcel.label, length, now_us=now_us)
                self._transmit_under(fate, wire, ordinal, parcel)
            else:
                if ordinal >= wire.plain_end:
                    wire.draw_plain(ordinal)
                delay_us = wire.plain_delays_us[ordinal % DRAWS_PER_BLOCK]
                if delay_us is None:
                    self._drop(wire, ordinal, "loss", "")
                else:
                    event = (destination, _DELIVERY, source, ordinal, arrive, (wire, ordinal, parcel))
                    enqueue(now_us + delay_us, event)

    def _transmit_under(self, fate: Fate, wire: LinkState, ordinal: int, parcel: _Parcel) -> None:
        """Send a message on, with the effects of conditions."""
        if fate.loss:
            self._drop(wire, ordinal, fate.loss, fate.condition)
        elif fate.held_by:
            wire.chain.add(self._kernel.now_us, HeldBack(wire.destination, ordinal, fate.held_by))
            self._held[fate.held_by].append(_Held(self._kernel.now_us, wire, ordinal, parcel))
        else:
            if fate.flips:
                # A new parcel: in a broadcast all receivers share the original.
                parcel = self._wrap(flip_bytes(parcel.payload, fate.flips), parcel.label)
            for victim, condition in fate.evicted:
                self._evict(wire, victim, condition)
            for place, name in enumerate(fate.replayed_by, start=1):
                kept = _Held(self._kernel.now_us, wire, ordinal + (place << _REPLAY_SHIFT), parcel)
                self._held[name].append(kept)
            self._duplicated += len(fate.delays_us) - 1
            for copy, delay_us in enumerate(fate.delays_us):
                self._post_delivery(wire, ordinal + (copy << COPY_SHIFT), parcel, delay_us)

    def _post_delivery(self, wire: LinkState, ordinal: int, parcel: _Parcel, delay_us: Micros) -> None:
        destination, at_us = wire.destination, self._kernel.now_us + delay_us
        self._kernel.post(at_us, destination, _DELIVERY, wire.source, ordinal, self._arrive, wire, ordinal, parcel)

    def _drop(self, wire: LinkState, ordinal: int, reason: str, condition: str) -> None:
        self._dropped[reason] += 1
        wire.chain.add(self._kernel.now_us, Dropped(wire.destination, ordinal, reason, condition))

    def _evict(self, wire: LinkState, ordinal: int, condition: str) -> None:
        losses = wire.losses = wire.losses or Losses()
        if ordinal not in losses.evicted:
            losses.evicted[ordinal] = None
            self._drop(wire, ordinal, "queue", condition)

    def _arrive(self, wire: LinkState, ordinal: int, parcel: _Parcel) -> None:
        if wire.losses is not None and self._is_lost(wire, ordinal, wire.losses):
            return
        # Asked on arrival: a receiver that was down when it was sent may be up again.
        deliver = wire.deliver
        if deliver is None:
            self._drop(wire, ordinal, "down", "")
            return
        self._delivered += 1
        payload, _, kind, length, checksum = parcel
        source = wire.source
        if self._is_traced:
            record = (self._kernel.now_us, wire.destination, _DELIVERED, source, ordinal, kind, length, checksum)
            chain = wire.far_chain
            chain.note(record)
            if chain.is_shown:
                chain.show(record, Delivered)
        deliver(wire.shown_source, payload)

    def _is_lost(self, wire: LinkState, ordinal: int, losses: Losses) -> bool:
        """Return whether a message that would arrive now has been lost on the way."""
        if losses.is_evicted(ordinal):
            return True
        if not losses.is_reset(ordinal):
            return False
        name = losses.reset_by
        self._dropped["reset"] += 1
        self._touched[name].touch(wire)
        wire.far_chain.add(self._kernel.now_us, Lost(wire.source, ordinal, name))
        return True

    # Conditions

    def _wire(self, source: NodeId, destination: NodeId) -> LinkState:
        try:
            return self._wires[source][destination]
        except KeyError:
            raise UnknownLinkError(f"the topology has no link {source}->{destination}") from None


def _take_off(condition: Condition, wires: Iterable[LinkState]) -> None:
    for wire in wires:
        wire.set_conditions(tuple(other for other in wire.conditions if other is not condition))
