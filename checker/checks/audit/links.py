"""The fate of a message, worked out from the conditions on its link and from its draws.

docs/faults-at-work.md has the rules. Each draw is by (seed, purpose, `source->destination`, ordinal). The purposes are:

- `latency`, `loss`, `reorder`: the link's own, and latencies under a condition;
- `loss NAME`, `reorder NAME`, `corrupt NAME`, `duplicate NAME`: the rates of a condition, NAME being the fault's;
- `burst NAME`: by the number of the stretch instead of the message;
- `latency of copy NAME`: a copy that the condition makes;
- `victim NAME`: the place of the message that a full queue evicts, oldest first.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from checker.checks.audit.draws import MILLION, AuditedLatency, DrawKey, draw, share_of
from network.events import Sent
from validators.messages import TRAFFIC

Link = tuple[int, int]
"""A sender and a receiver."""

Ranges = Sequence[tuple[int, int]]

COPY_SHIFT: Final = 48
REPLAY_SHIFT: Final = 56
"""From these bits on, an ordinal has the number of the copy, or of the record for a replay."""


class Expected(NamedTuple):
    """The next event of a message that the trace has to show.

    Attributes:
        event: `arrival`, `drop`, `hold` or `release`.
        at_us: The time of the event.
        reason: The reason of a drop.
        by: The name of the condition that drops, holds or releases the message.
        checksum: The checksum of the message as it was sent; empty where its bytes are not compared.
        is_changed: Whether the message has to arrive with changed bytes.
        then_us: After a release, the time of the arrival.
    """

    event: str
    at_us: int
    reason: str = ""
    by: str = ""
    checksum: bytes = b""
    is_changed: bool = False
    then_us: int = 0

    def __str__(self) -> str:
        """Return the event as a part of a sentence."""
        reason, by = f" ({self.reason})" if self.reason else "", f" by {self.by}" if self.by else ""
        return f"{self.event}{reason}{by} at {self.at_us:,} us"


class Kept(NamedTuple):
    """A message that a condition holds or recorded for a replay, and the time since when."""

    since_us: int
    link: "AuditedLink"
    ordinal: int
    sent: Sent
    is_changed: bool


@dataclass(slots=True, kw_only=True, eq=False)
class LinkCondition:
    """A condition on links: a cut, worse weather, or a rule about single messages.

    The name of a link's own weather is empty, its action too. Without kinds or ranges, all messages match.

    Attributes:
        action: `cut`, `drop`, `hold`, `delay` or `replay`; empty for weather.
        ppm: By purpose of the draw, the rate in millionths.
        kept: The messages that it holds or recorded.
        free_us: By link, the time from which on its line is free.
        under_way: By link, the messages in its queue and when each arrives.
    """

    name: str
    action: str = ""
    kinds: tuple[str, ...] = ()
    views: Ranges = ()
    heights: Ranges = ()
    latency: AuditedLatency | None = None
    ppm: Mapping[str, int] = field(default_factory=dict)
    burst_us: int = 1
    reorder_us: int = 0
    delay_us: int = 0
    bytes_per_second: int = 0
    queue_max: int = 0
    kept: list[Kept] = field(default_factory=list)
    free_us: dict[Link, int] = field(default_factory=dict)
    under_way: dict[Link, dict[int, int]] = field(default_factory=dict)

    def is_about(self, sent: Sent) -> bool:
        """Return whether the condition is about a message at all."""
        is_of_kind = not self.kinds or sent.label in self.kinds
        return is_of_kind and _is_within(self.views, sent.view) and _is_within(self.heights, sent.height)


def _is_within(ranges: Ranges, value: int | None) -> bool:
    return not ranges or (value is not None and any(low <= value <= high for low, high in ranges))


@dataclass(slots=True, kw_only=True, eq=False)
class AuditedUplink:
    """The line that all links of a sender share.

    Attributes:
        rates: By class of messages, its bytes a second; the class with the empty name has all messages.
        free_us: By class, the time from which on its line is free.
    """

    rates: Mapping[str, int]
    free_us: dict[str, int] = field(default_factory=dict)

    def pass_through(self, sent: Sent, now_us: int) -> int:
        """Return when the last byte of a message is through; a kind of no class goes with gossip."""
        named = next((name for name, kinds in TRAFFIC.items() if sent.label in kinds), "gossip")
        name = named if named in self.rates else ""
        # Rounded up.
        occupied_us = -(-sent.length * MILLION // self.rates[name])
        self.free_us[name] = max(self.free_us.get(name, 0), now_us) + occupied_us
        return self.free_us[name]


@dataclass(slots=True, kw_only=True, eq=False)
class AuditedLink:
    """A direction of a link: by ordinal, the next event of each message under way.

    Its own weather is the first condition; conditions of faults follow, oldest first. All links of a sender have one
    `uplink`. With `is_fifo` no message arrives before `last_us`, when the messages before it have arrived. A reset
    loses the messages with an ordinal below `reset_below`. Draws of `redraws` have another value than the seed's.
    """

    ends: Link
    seed: int
    latency: AuditedLatency
    conditions: list[LinkCondition]
    uplink: AuditedUplink | None = None
    is_fifo: bool = False
    last_us: int = 0
    redraws: Mapping[DrawKey, int] = field(default_factory=dict)
    sent: int = 0
    expected: dict[int, Expected] = field(default_factory=dict)
    reset_below: int = 0
    reset_by: str = ""

    def foresee(self, sent: Sent, now_us: int) -> None:
        """Work out the fate of a message that is sent now."""
        if not (self.conditions or self.uplink or self.is_fifo):
            arrival_us = now_us + self.latency.sample(self._draw("latency", sent.ordinal))
            self.expected[sent.ordinal] = Expected("arrival", arrival_us, checksum=sent.checksum)
            return
        there = [each for each in self.conditions if each.is_about(sent)]
        event, reason, by = self._stop(sent.ordinal, now_us, there)
        if by is None:
            self._carry(sent, now_us, there)
            return
        self.expected[sent.ordinal] = Expected(event, now_us, reason, by.name)
        if event == "hold":
            by.kept.append(Kept(now_us, self, sent.ordinal, sent, is_changed=False))

    def _stop(self, ordinal: int, now_us: int, there: list[LinkCondition]) -> tuple[str, str, LinkCondition | None]:
        """Return the drop or the hold of a message, the reason, and the condition; no condition if it goes on."""
        for each in there:
            if each.action == "cut":
                return "drop", "cut", each
        for each in there:
            if self._is_hit("loss", ordinal, each) or self._is_hit("burst", now_us // each.burst_us, each):
                return "drop", "loss", each
        for event, reason in (("drop", "rule"), ("hold", "")):
            for each in there:
                if each.action == event:
                    return event, reason, each
        return "", "", None

    def _carry(self, sent: Sent, now_us: int, there: list[LinkCondition]) -> None:
        """Expect the arrivals of a message and its copies, and the eviction of earlier messages from full queues."""
        ordinal, latency = sent.ordinal, self.latency
        late_us, flips, copies = 0, 0, ["latency"]
        for each in there:
            latency = each.latency or latency
            late_us += each.delay_us + each.reorder_us * self._is_hit("reorder", ordinal, each)
            flips += self._is_hit("corrupt", ordinal, each)
            if self._is_hit("duplicate", ordinal, each):
                copies.append(f"latency of copy {each.name}")
        # Two changes of a byte may undo each other: the bytes of a message with two changes are not compared.
        is_changed = flips > 0 and sent.length > 0
        checksum = sent.checksum if flips < 2 else b""
        free_us = now_us if self.uplink is None else self.uplink.pass_through(sent, now_us)
        through_us = self._pass_lines(sent.length, free_us, there) + late_us
        for number, purpose in enumerate(copies):
            arrival_us = through_us + latency.sample(self._draw(purpose, ordinal))
            arrival_us = arrival_us if number else self.in_order(arrival_us)
            due = Expected("arrival", arrival_us, "", "", checksum, is_changed)
            self.expected[ordinal + (number << COPY_SHIFT)] = due
        replays = [each for each in there if each.action == "replay"]
        for number, rule in enumerate(replays, start=1):
            rule.kept.append(Kept(now_us, self, ordinal + (number << REPLAY_SHIFT), sent, is_changed))
        self._queue(ordinal, now_us, there)

    def in_order(self, arrival_us: int) -> int:
        """Return when a message arrives: with an order, not before the messages before it."""
        if self.is_fifo:
            arrival_us = self.last_us = max(arrival_us, self.last_us)
        return arrival_us

    def _pass_lines(self, length: int, now_us: int, there: Iterable[LinkCondition]) -> int:
        """Return when the message's last byte is through every line with a rate, one after the other."""
        through_us = now_us
        for each in there:
            if each.bytes_per_second:
                begun_us = max(through_us, each.free_us.get(self.ends, 0))
                through_us = begun_us + -(-length * MILLION // each.bytes_per_second)
                each.free_us[self.ends] = through_us
        return through_us

    def _queue(self, ordinal: int, now_us: int, there: Iterable[LinkCondition]) -> None:
        """Put a message into each bounded queue, and expect the drop of the message that a full queue evicts."""
        for each in there:
            if each.queue_max:
                queue = each.under_way.setdefault(self.ends, {})
                for gone in [other for other, at_us in queue.items() if at_us <= now_us]:
                    del queue[gone]
                if len(queue) >= each.queue_max:
                    place = share_of(self._draw(f"victim {each.name}", ordinal), len(queue))
                    victim = list(queue)[place]
                    del queue[victim]
                    # Another queue may have evicted it before.
                    if victim in self.expected and self.expected[victim].event == "arrival":
                        self.expected[victim] = Expected("drop", now_us, "queue", each.name)
                queue[ordinal] = self.expected[ordinal].at_us

    def _draw(self, purpose: str, ordinal: int) -> int:
        subject = f"{self.ends[0]}->{self.ends[1]}"
        if self.redraws and (given := self.redraws.get((purpose, subject, ordinal))) is not None:
            return given
        return draw(self.seed, purpose, subject, ordinal)

    def _is_hit(self, purpose: str, ordinal: int, condition: LinkCondition) -> bool:
        """Return whether the draw of a condition is below its rate; most rates are 0."""
        ppm = condition.ppm.get(purpose, 0)
        if not ppm:
            return False
        named = f"{purpose} {condition.name}" if condition.name else purpose
        return share_of(self._draw(named, ordinal), MILLION) < ppm
