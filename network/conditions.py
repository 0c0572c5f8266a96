"""Conditions that faults put on links, and the fate of a message there.

A condition stands on some links under the name of its fault and counts the messages that it touched. `fate_of` decides
about one message; its only effect is these counts. A cut beats all, then losses, then rules, and a surviving message is
delayed, damaged and doubled. Each draw is by (seed, purpose with the condition's name, link, ordinal). So two
conditions on one link never share a draw, and removing a condition leaves the draws of the other unchanged.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple, TypeAlias

from network.chance import DRAW_BITS, DRAWS_PER_BLOCK, Chance, Draws, below
from network.latency import Latency
from network.queues import Line, Losses, Uplink
from network.topology import MILLION, LinkSpec, check_rates
from network.trace import EventChain
from network.types import Label, Micros, NodeId

Range: TypeAlias = tuple[int, int]
"""The first and the last of consecutive numbers."""

RuleAction: TypeAlias = Literal["drop", "hold", "delay", "replay"]

_FLIPS: Final = 255
"""The number of ways in which a byte can change."""


@dataclass(frozen=True, slots=True)
class MessageRule:
    """The messages that a rule matches, and its action on them.

    An empty tuple admits everything. A message whose sender states no view, or no height, is in no range of them.
    """

    action: RuleAction
    kinds: tuple[str, ...] = ()
    views: tuple[Range, ...] = ()
    heights: tuple[Range, ...] = ()
    delay_us: Micros = 0

    def matches(self, label: Label) -> bool:
        """Return whether the rule matches this message."""
        if self.kinds and label.kind not in self.kinds:
            return False
        return _admits(self.views, label.view) and _admits(self.heights, label.height)


def _admits(ranges: tuple[Range, ...], value: int | None) -> bool:
    if not ranges:
        return True
    return value is not None and any(first <= value <= last for first, last in ranges)


@dataclass(slots=True)
class TouchCount:
    """Counts of the messages that a condition touched: all, and by node as sender or receiver."""

    count: int = 0
    at: dict[NodeId, int] = field(default_factory=dict)

    def touch(self, wire: "LinkState") -> None:
        """Count a message, at its sender and at its receiver."""
        self.count += 1
        self.at[wire.source] = self.at.get(wire.source, 0) + 1
        self.at[wire.destination] = self.at.get(wire.destination, 0) + 1


@dataclass(slots=True, kw_only=True)
class Condition:
    """The effect of a fault on links, and how many messages it touched.

    With `kinds` it affects messages of these kinds only. Of a million stretches of `burst_us`, `burst_ppm` lose all
    messages of a link. A line takes `bytes_per_second`, 0 for any number; when more than `queue_max` messages (0: no
    bound) are under way on it, a drawn message is evicted.

    Raises:
        TopologyError: a rate is out of range.
    """

    name: str
    kinds: tuple[str, ...] = ()
    is_cut: bool = False
    latency: Latency | None = None
    loss_ppm: int = 0
    reorder_ppm: int = 0
    reorder_extra_us: Micros = 0
    duplicate_ppm: int = 0
    corrupt_ppm: int = 0
    burst_ppm: int = 0
    burst_us: Micros = 1
    bytes_per_second: int = 0
    queue_max: int = 0
    rule: MessageRule | None = None
    touched: TouchCount = field(default_factory=TouchCount, init=False)
    lines: dict[tuple[NodeId, NodeId], Line] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        check_rates(self.loss_ppm, self.reorder_ppm, self.reorder_extra_us)
        check_rates(self.duplicate_ppm, self.corrupt_ppm, 0)
        check_rates(self.burst_ppm, 0, 0)

    def line(self, wire: "LinkState") -> Line:
        """Return its state for one wire."""
        return self.lines.setdefault((wire.source, wire.destination), Line())

    @property
    def is_narrow(self) -> bool:
        """Return whether messages have to wait for each other on it."""
        return self.bytes_per_second > 0 or self.queue_max > 0

    def touch(self, wire: "LinkState") -> None:
        """Count a message that it touched."""
        self.touched.touch(wire)


class Fate(NamedTuple):
    """The fate of a message.

    Attributes:
        loss: why it is lost, "cut", "loss" or "rule"; empty when it is not.
        condition: the condition that lost it; empty for the link's own loss.
        held_by: the condition that keeps it back.
        delays_us: when its copies arrive, the message itself first.
        flips: draws that give the byte and its new value.
        replayed_by: conditions that keep a copy for later.
        evicted: (ordinal, condition) of messages under way that are evicted for it.
    """

    loss: str = ""
    condition: str = ""
    held_by: str = ""
    delays_us: tuple[Micros, ...] = ()
    flips: tuple[int, ...] = ()
    replayed_by: tuple[str, ...] = ()
    evicted: tuple[tuple[int, str], ...] = ()


class LinkState:
    """One direction of a link at run time."""

    __slots__ = (
        *("_chance", "_lost_below", "_streams", "chain", "conditions", "deliver", "destination", "far_chain"),
        *("is_plain", "last_us", "losses", "plain_delays_us", "plain_end", "sent", "shown_source", "source", "spec"),
        "uplink",
    )

    def __init__(
        self,
        source: NodeId,
        destination: NodeId,
        spec: LinkSpec,
        chain: EventChain,
        *,
        far_chain: EventChain,
        chance: Chance,
        uplink: Uplink | None = None,
    ) -> None:
        # The bus sets the identity of a machine that has the number of another one.
        self.source = self.shown_source = source
        self.destination = destination
        self.spec = spec
        self.chain = chain
        self.far_chain = far_chain
        # The same object in all wires of a source.
        self.uplink = uplink
        # The latest arrival of a message so far; only links in order ask for it.
        self.last_us: Micros = 0
        self._chance = chance
        self._streams: dict[str, Draws] = {}
        self.sent = 0
        # The receiver at its destination; kept here because it is looked up once per message.
        self.deliver: Callable[[NodeId, bytes], None] | None = None
        self.losses: Losses | None = None
        self.conditions: tuple[Condition, ...] = ()
        self.is_plain = False
        # The delays of eight messages, None for a lost message, and the ordinal after them; while it is plain.
        self.plain_delays_us: Sequence[Micros | None] = ()
        self.plain_end = 0
        # below(draw, MILLION) < loss_ppm for the draws below it.
        self._lost_below = -(-(spec.loss_ppm << DRAW_BITS) // MILLION)
        self.set_conditions(())
        chance.on_reseed(self.forget_draws)

    def forget_draws(self) -> None:
        """Throw away the draws that were made ahead."""
        self._streams.clear()
        self.plain_end = 0

    def set_conditions(self, conditions: tuple[Condition, ...]) -> None:
        """Put these conditions, oldest first, on the wire."""
        self.conditions = conditions
        # A plain wire at most loses messages: `fate_of` would return the same in twice the time.
        is_special = conditions or self.spec.reorder_ppm or self.spec.is_fifo or self.uplink
        # Where draws are noted, each message draws for itself when it is sent.
        self.is_plain = not (is_special or self._chance.is_logged)

    def draw_plain(self, ordinal: int) -> None:
        """Draw the delays of this message and its block of eight; called when a message is beyond `plain_end`."""
        block = ordinal // DRAWS_PER_BLOCK
        latency = self.spec.latency
        delays_us: Sequence[Micros | None] = [latency.mean_us] * DRAWS_PER_BLOCK
        if latency.kind != "fixed":
            delays_us = latency.samples(self._stream("latency").block(block))
        if self.spec.loss_ppm:
            losses = self._stream("loss").block(block)
            if min(losses) < self._lost_below:
                pairs = zip(losses, delays_us, strict=True)
                delays_us = [None if loss < self._lost_below else delay_us for loss, delay_us in pairs]
        self.plain_delays_us, self.plain_end = delays_us, (block + 1) * DRAWS_PER_BLOCK

    def in_order(self, at_us: Micros) -> Micros:
        """Return when a message arrives that waits for all earlier messages of this wire."""
        self.last_us = max(self.last_us, at_us)
        return self.last_us

    def sample(self, latency: Latency, ordinal: int, purpose: str = "latency") -> Micros:
        """Return a message's time on the wire."""
        if latency.kind == "fixed":
            return latency.mean_us
        return latency.sample(self.draw(purpose, ordinal))

    def happens(self, purpose: str, ordinal: int, ppm: int) -> bool:
        """Draw whether an event of this probability, in millionths, happens to a message."""
        return ppm > 0 and below(self.draw(purpose, ordinal), MILLION) < ppm

    def draw(self, purpose: str, ordinal: int) -> int:
        """Return the 64-bit draw for a purpose and a message."""
        return self._stream(purpose).at(ordinal)

    def _stream(self, purpose: str) -> Draws:
        stream = self._streams.get(purpose)
        if stream is None:
            stream = self._streams[purpose] = self._chance.stream(purpose, f"{self.source}->{self.destination}")
        return stream


def fate_of(wire: LinkState, ordinal: int, label: Label, length: int, *, now_us: Micros) -> Fate:
    """Return the fate of a message of `length` bytes under its wire's conditions, counted with each that touches it."""
    conditions = [each for each in wire.conditions if not each.kinds or label.kind in each.kinds]
    cuts = [condition for condition in conditions if condition.is_cut]
    for condition in cuts:
        condition.touch(wire)
    if cuts:
        return Fate(loss="cut", condition=cuts[0].name)
    if wire.happens("loss", ordinal, wire.spec.loss_ppm):
        return Fate(loss="loss")
    for condition in conditions:
        # A condition's name is part of the purpose: two conditions on one wire must not lose the same messages.
        name, stretch = condition.name, now_us // condition.burst_us
        is_lost = wire.happens(f"loss {name}", ordinal, condition.loss_ppm)
        if is_lost or wire.happens(f"burst {name}", stretch, condition.burst_ppm):
            condition.touch(wire)
            return Fate(loss="loss", condition=condition.name)
    ruled = [each for each in conditions if each.rule is not None and each.rule.matches(label)]
    stopped = _stop_by_rule(wire, ruled)
    if stopped is not None:
        return stopped
    fate = _carry(wire, ordinal, conditions, ruled)
    narrow = [each for each in conditions if each.is_narrow]
    if narrow or wire.uplink is not None or wire.spec.is_fifo:
        through_us = now_us if wire.uplink is None else wire.uplink.pass_through(now_us, label.kind, length)
        return _squeeze(fate, wire, ordinal, narrow, length=length, now_us=now_us, through_us=through_us)
    return fate


def _stop_by_rule(wire: LinkState, ruled: Sequence[Condition]) -> Fate | None:
    """Return the fate of a message that a rule drops or holds, else None; of several rules the oldest decides."""
    for action in ("drop", "hold"):
        for condition in ruled:
            if condition.rule is not None and condition.rule.action == action:
                condition.touch(wire)
                is_drop = action == "drop"
                return Fate(loss="rule", condition=condition.name) if is_drop else Fate(held_by=condition.name)
    return None


def _carry(wire: LinkState, ordinal: int, conditions: Sequence[Condition], ruled: Sequence[Condition]) -> Fate:
    latency, extra_us = wire.spec.latency, 0
    if wire.happens("reorder", ordinal, wire.spec.reorder_ppm):
        extra_us += wire.spec.reorder_extra_us
    for condition in ruled:
        assert condition.rule is not None, "only rules are matched"
        extra_us += condition.rule.delay_us
        condition.touch(wire)
    flips: list[int] = []
    doubled_by: list[str] = []
    for condition in conditions:
        name = condition.name
        latency = condition.latency or latency
        is_late = wire.happens(f"reorder {name}", ordinal, condition.reorder_ppm)
        is_damaged = wire.happens(f"corrupt {name}", ordinal, condition.corrupt_ppm)
        is_doubled = wire.happens(f"duplicate {name}", ordinal, condition.duplicate_ppm)
        extra_us += condition.reorder_extra_us if is_late else 0
        flips += [wire.draw(f"flip {name}", ordinal)] if is_damaged else []
        doubled_by += [name] if is_doubled else []
        if is_late or is_damaged or is_doubled or condition.latency is not None:
            condition.touch(wire)
    own_us = wire.sample(latency, ordinal) + extra_us
    copies_us = (wire.sample(latency, ordinal, f"latency of copy {name}") + extra_us for name in doubled_by)
    replayed_by = tuple(each.name for each in ruled if each.rule is not None and each.rule.action == "replay")
    return Fate(delays_us=(own_us, *copies_us), flips=tuple(flips), replayed_by=replayed_by)


def _squeeze(
    fate: Fate,
    wire: LinkState,
    ordinal: int,
    narrow: Sequence[Condition],
    *,
    length: int,
    now_us: Micros,
    through_us: Micros,
) -> Fate:
    """Return when a message arrives after its uplink, and evict a message where too many are under way."""
    evicted = []
    for condition in narrow:
        if condition.bytes_per_second:
            through_us = condition.line(wire).pass_through(through_us, length, condition.bytes_per_second)
            condition.touch(wire)
    delays_us = tuple(through_us - now_us + delay_us for delay_us in fate.delays_us)
    if wire.spec.is_fifo:
        # A copy is out of the order: a connection with an order makes none.
        delays_us = (wire.in_order(now_us + delays_us[0]) - now_us, *delays_us[1:])
    for condition in narrow:
        if condition.queue_max:
            line = condition.line(wire)
            waiting = line.under_way(now_us)
            if len(waiting) >= condition.queue_max:
                victim = waiting[below(wire.draw(f"victim {condition.name}", ordinal), len(waiting))]
                del line.arrivals_us[victim]
                evicted.append((victim, condition.name))
                condition.touch(wire)
            line.arrivals_us[ordinal] = now_us + delays_us[0]
    return fate._replace(delays_us=delays_us, evicted=tuple(evicted))


def flip_bytes(payload: bytes, flips: Sequence[int]) -> bytes:
    """Return the payload with one byte changed for each draw; an empty payload stays empty."""
    damaged = bytearray(payload)
    for flip in flips if payload else ():
        place, change = divmod(below(flip, len(payload) * _FLIPS), _FLIPS)
        damaged[place] ^= change + 1
    return bytes(damaged)
