"""The fate of a message, worked out from the conditions on its link and from its own draws.

The rules are those of docs/faults-at-work.md, the names of the draws those of docs/invariants.md#audit. Each draw is
by (seed, purpose, `source->destination`, ordinal).
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from checker.checks.audit.draws import AuditedChance, AuditedDraws, AuditedLatency, share_of
from checker.checks.audit.plan import Link
from network.events import Sent

_MILLION: Final = 1_000_000
_SECOND_US: Final = 1_000_000

Ranges = tuple[tuple[int, int], ...]


@dataclass(slots=True, kw_only=True)
class LinkCondition:
    """A condition that a fault puts on links: a cut, worse weather, or a rule about single messages.

    `action` is `drop`, `hold`, `delay` or `replay` for a rule. Without kinds, or without ranges, all messages match.
    """

    name: str
    kinds: tuple[str, ...] = ()
    is_cut: bool = False
    latency: AuditedLatency | None = None
    loss_ppm: int = 0
    reorder_ppm: int = 0
    reorder_us: int = 0
    duplicate_ppm: int = 0
    corrupt_ppm: int = 0
    burst_ppm: int = 0
    burst_us: int = 1
    bytes_per_second: int = 0
    queue_max: int = 0
    action: str = ""
    views: Ranges = ()
    heights: Ranges = ()
    delay_us: int = 0
    free_us: dict[Link, int] = field(default_factory=dict)
    under_way: dict[Link, dict[int, int]] = field(default_factory=dict)

    def admits(self, sent: Sent) -> bool:
        """Whether it is about this message at all."""
        if self.kinds and sent.label not in self.kinds:
            return False
        return _is_within(self.views, sent.view) and _is_within(self.heights, sent.height)


def _is_within(ranges: Ranges, value: int | None) -> bool:
    return not ranges or (value is not None and any(low <= value <= high for low, high in ranges))


class ForeseenFate(NamedTuple):
    """The fate of a message.

    Attributes:
        dropped: The reason for which it is dropped, or nothing.
        by: The condition that drops or holds it; nothing for the link's own losses.
        is_held: Whether it is kept back.
        arrivals_us: When it and its copies arrive.
        flips: How many times a byte of it is changed.
        replays: The conditions that record it.
        evictions: Messages under way that go for it, each with the condition that has too many.
    """

    dropped: str = ""
    by: str = ""
    is_held: bool = False
    arrivals_us: tuple[int, ...] = ()
    flips: int = 0
    replays: tuple[str, ...] = ()
    evictions: tuple[tuple[int, str], ...] = ()


class AuditedLink:
    """One direction of a link: its own latency and rates, its draws, and the conditions on it, oldest first."""

    __slots__ = (
        *("conditions", "destination", "due", "ends", "evicted", "is_plain", "latency", "loss_ppm", "noted"),
        *("freed", "loose_from"),
        *(
            "own_draws",
            "reorder_ppm",
            "reorder_us",
            "reset_by",
            "reset_below",
            "sent",
            "_chance",
            "_streams",
            "_subject",
        ),
    )

    def __init__(
        self,
        ends: Link,
        chance: AuditedChance,
        latency: AuditedLatency,
        *,
        loss_ppm: int,
        reorder_ppm: int,
        reorder_us: int,
    ) -> None:
        self.ends = ends
        self.latency = latency
        self.loss_ppm, self.reorder_ppm, self.reorder_us = loss_ppm, reorder_ppm, reorder_us
        self.conditions: list[LinkCondition] = []
        self.sent = 0
        self.due: dict[int, tuple[int, bytes, bool]] = {}
        """By ordinal what is on its way: when it has to arrive, its checksum, and whether it was changed."""
        self.noted: dict[int, tuple[str, str, str]] = {}
        """By ordinal what the trace has to say next of a message: the kind of event, the reason, the condition."""
        self.evicted: dict[int, None] = {}
        self.reset_below, self.reset_by = 0, ""
        self.loose_from = 0
        """Where links are left out, only drops are foreseen of messages from this one on, and of those in `freed`."""
        self.freed: dict[int, None] = {}
        self._chance = chance
        self._subject = f"{ends[0]}->{ends[1]}"
        self._streams: dict[str, AuditedDraws] = {}
        self.own_draws = None if latency.kind == "fixed" else self._stream("latency")
        self.is_plain = False
        self.note_conditions()

    def note_conditions(self) -> None:
        """See that conditions were put on the link or taken from it."""
        self.is_plain = not (self.conditions or self.loss_ppm or self.reorder_ppm)

    def _stream(self, purpose: str) -> AuditedDraws:
        if purpose not in self._streams:
            self._streams[purpose] = self._chance.stream(purpose, self._subject)
        return self._streams[purpose]

    def _is_hit(self, purpose: str, ordinal: int, ppm: int, name: str = "") -> bool:
        """Whether the link's own draw, or that of the condition of a name, is below a rate; most rates are 0."""
        if not ppm:
            return False
        stream = self._stream(f"{purpose} {name}" if name else purpose)
        return share_of(stream.at(ordinal), _MILLION) < ppm

    def own_us(self, ordinal: int) -> int:
        """Return the time on its way of a message that nothing changes."""
        return self.latency.sample(self.own_draws.at(ordinal) if self.own_draws is not None else 0)

    def fate(self, sent: Sent, now_us: int) -> ForeseenFate:
        """Return the fate of a message that is sent now."""
        ordinal = sent.ordinal
        there = [each for each in self.conditions if not each.kinds or sent.label in each.kinds]
        cut = next((each for each in there if each.is_cut), None)
        if cut is not None:
            return ForeseenFate(dropped="cut", by=cut.name)
        if self._is_hit("loss", ordinal, self.loss_ppm):
            return ForeseenFate(dropped="loss")
        for each in there:
            is_lost = self._is_hit("loss", ordinal, each.loss_ppm, each.name)
            if is_lost or self._is_hit("burst", now_us // each.burst_us, each.burst_ppm, each.name):
                return ForeseenFate(dropped="loss", by=each.name)
        rules = [each for each in there if each.action and each.admits(sent)]
        for action in ("drop", "hold"):
            rule = next((each for each in rules if each.action == action), None)
            if rule is not None:
                is_drop = action == "drop"
                return ForeseenFate(dropped="rule" if is_drop else "", by=rule.name, is_held=not is_drop)
        return self._carry(sent, now_us, there, rules)

    def _carry(self, sent: Sent, now_us: int, there: list[LinkCondition], rules: list[LinkCondition]) -> ForeseenFate:
        ordinal, latency = sent.ordinal, self.latency
        late_us = sum(rule.delay_us for rule in rules)
        late_us += self.reorder_us if self._is_hit("reorder", ordinal, self.reorder_ppm) else 0
        flips, doubled = 0, []
        for each in there:
            latency = each.latency or latency
            late_us += each.reorder_us if self._is_hit("reorder", ordinal, each.reorder_ppm, each.name) else 0
            flips += self._is_hit("corrupt", ordinal, each.corrupt_ppm, each.name)
            if self._is_hit("duplicate", ordinal, each.duplicate_ppm, each.name):
                doubled.append(each.name)
        through_us = self._pass_lines(sent, now_us, there) + late_us
        purposes = ["latency", *(f"latency of copy {name}" for name in doubled)]
        arrivals_us = tuple(through_us + latency.sample(self._stream(each).at(ordinal)) for each in purposes)
        replays = tuple(rule.name for rule in rules if rule.action == "replay")
        evictions = tuple(self._queue(ordinal, now_us, arrivals_us[0], there))
        return ForeseenFate(arrivals_us=arrivals_us, flips=flips, replays=replays, evictions=evictions)

    def _pass_lines(self, sent: Sent, now_us: int, there: list[LinkCondition]) -> int:
        """Return when the message's last byte is through every line with a rate, one after the other."""
        through_us = now_us
        for each in there:
            if each.bytes_per_second:
                begun_us = max(through_us, each.free_us.get(self.ends, 0))
                through_us = begun_us + -(-sent.length * _SECOND_US // each.bytes_per_second)
                each.free_us[self.ends] = through_us
        return through_us

    def _queue(
        self, ordinal: int, now_us: int, arrival_us: int, there: list[LinkCondition]
    ) -> Iterable[tuple[int, str]]:
        """Put the message into each bounded queue, and yield what a full one throws out."""
        for each in there:
            if each.queue_max:
                queue = each.under_way.setdefault(self.ends, {})
                for gone in [other for other, at_us in queue.items() if at_us <= now_us]:
                    del queue[gone]
                if len(queue) >= each.queue_max:
                    place = share_of(self._stream(f"victim {each.name}").at(ordinal), len(queue))
                    victim = list(queue)[place]
                    del queue[victim]
                    yield victim, each.name
                queue[ordinal] = arrival_us
