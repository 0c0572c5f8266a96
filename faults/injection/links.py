"""Faults of links at work: the conditions that each puts on the bus, and what they came to.

A fault of several parts, such as links that are clogged at different times, has a condition for each part.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from faults.injection.edges import MILLISECOND_US, Edge, window
from faults.kinds import cut_windows_ms, span_ms
from faults.kinds.drawn import ClogWindow, clog_links, swizzle_windows
from faults.kinds.fields import Link
from faults.kinds.network import (
    Clog,
    Cut,
    Flapping,
    InFlight,
    IsolateLeader,
    Links,
    NetworkFault,
    Partition,
    Rule,
    SwizzleClog,
)
from faults.plan import PART_MARK, crossing_links, links_of, rule_links
from network.bus import Bus
from network.chance import Chance
from network.conditions import MessageRule
from network.latency import Latency
from validators.messages import kinds_of

_NOBODY: Final = -1


class LinkFaults:
    """Says what the edges of faults of links are, and counts the messages that they touched.

    Args:
        bus: What the conditions are put on.
        chance: The run's chance, for the times that a kind draws.
        validators: How many validators there are.
        post_now: Lets the supervisor do something in this instant.
    """

    def __init__(
        self, bus: Bus, chance: Chance, validators: int, *, post_now: Callable[[Callable[[], None]], None]
    ) -> None:
        self._bus = bus
        self._chance = chance
        self._validators = validators
        self._post_now = post_now
        self._begun: dict[str, dict[str, None]] = {}
        self._view = 0
        self._leader = _NOBODY
        self._isolated_by: dict[str, int] = {}

    def count(self, name: str) -> int:
        """Return how many messages a fault has touched; none, if it never began."""
        return sum(self._bus.touched(condition) for condition in self._begun.get(name, ()))

    def count_at(self, name: str, node: int) -> int:
        """Return how many of them one validator sent or was to receive."""
        return sum(self._bus.touched_at(condition, node) for condition in self._begun.get(name, ()))

    def follow(self, view: int, leader: int) -> None:
        """See who leads a view that somebody has entered: cuts that follow the leader move."""
        if view > self._view:
            self._view, self._leader = view, leader
            for name in self._isolated_by:
                self._post_now(partial(self._follow_leader, name))

    def edges(self, name: str, fault: NetworkFault) -> Iterator[Edge]:
        """Yield the moments of a fault."""
        match fault:
            case Clog():
                clogged = ClogWindow("", clog_links(fault, self._validators), fault.start_ms, fault.stop_ms)
                yield from self._clog_edges(name, fault, clogged)
            case SwizzleClog():
                for clogged in swizzle_windows(fault, name, self._chance, self._validators):
                    yield from self._clog_edges(name, fault, clogged)
            case Links():
                begin, end = partial(self._degrade, name, fault), partial(self._bus.restore, name)
                yield from window(fault.start_ms, fault.stop_ms, begin, end)
            case Rule():
                yield from self._rule_edges(name, fault)
            case _:
                yield from self._cut_edges(name, fault)

    def _cut_edges(self, name: str, fault: Partition | Cut | Flapping | IsolateLeader) -> Iterator[Edge]:
        match fault:
            case Partition():
                links = crossing_links(fault.groups, self._validators, one_way=fault.one_way)
                yield from self._partition_edges(name, fault, links)
            case Cut():
                yield from window(
                    fault.start_ms,
                    fault.stop_ms,
                    partial(self._cut, name, fault.links, fault.in_flight),
                    partial(self._bus.mend, name),
                )
            case Flapping():
                links = crossing_links(fault.groups, self._validators)
                for cut_ms, open_ms in cut_windows_ms(fault):
                    yield from window(cut_ms, open_ms, partial(self._cut, name, links), partial(self._bus.mend, name))
            case IsolateLeader():
                for cut_ms, open_ms in cut_windows_ms(fault):
                    yield from window(cut_ms, open_ms, partial(self._isolate, name), partial(self._rejoin, name))

    def _partition_edges(self, name: str, fault: Partition, links: tuple[Link, ...]) -> Iterator[Edge]:
        match fault.manner:
            case "cut":
                begin, end = partial(self._cut, name, links, fault.in_flight), partial(self._bus.mend, name)
                yield from window(fault.start_ms, fault.stop_ms, begin, end)
            case "jammed":
                yield from self._clog_edges(name, fault, ClogWindow("", links, fault.start_ms, fault.stop_ms))
            case "slowed":
                rule = MessageRule("delay", delay_us=fault.delay_ms * MILLISECOND_US)
                begin, end = partial(self._impose, name, name, links, rule), partial(self._bus.lift, name)
                yield from window(fault.start_ms, fault.stop_ms, begin, end)

    def _clog_edges(self, name: str, fault: Partition | Clog | SwizzleClog, clogged: ClogWindow) -> Iterator[Edge]:
        condition = f"{name}{PART_MARK}{clogged.part}" if clogged.part else name
        rule = MessageRule("hold", () if isinstance(fault, Partition) else kinds_of(fault.channels))
        gap_us = fault.release_gap_ms * MILLISECOND_US
        begin = partial(self._impose, name, condition, clogged.links, rule)
        yield from window(clogged.start_ms, clogged.stop_ms, begin, partial(self._unclog, condition, gap_us))

    def _unclog(self, condition: str, gap_us: int) -> None:
        self._bus.lift(condition)
        self._bus.release(condition, gap_us=gap_us)

    def _rule_edges(self, name: str, fault: Rule) -> Iterator[Edge]:
        rule = MessageRule(fault.action, fault.kinds, fault.views, fault.heights, fault.delay_ms * MILLISECOND_US)
        links = rule_links(fault, self._validators)
        until_ms = span_ms(fault)[1]
        yield Edge(fault.start_ms, until_ms, "start", partial(self._impose, name, name, links, rule))
        if fault.first_ms is not None:
            yield Edge(fault.first_ms, until_ms, "release", partial(self._release, name, fault, fault.first_to))
        yield Edge(fault.stop_ms, until_ms, "stop", partial(self._bus.lift, name))
        if fault.is_releasing:
            yield Edge(fault.released_ms, until_ms, "release", partial(self._release, name, fault, None))

    def _begin(self, name: str, condition: str) -> None:
        self._begun.setdefault(name, {})[condition] = None

    def _cut(self, name: str, links: tuple[Link, ...], in_flight: InFlight = "arrives") -> None:
        self._begin(name, name)
        self._bus.cut(name, links)
        if in_flight == "lost":
            self._bus.reset(name)

    def _isolate(self, name: str) -> None:
        self._isolated_by[name] = _NOBODY
        self._follow_leader(name)

    def _follow_leader(self, name: str) -> None:
        """Move the cut to the leader of now; the fault may be over since the move was asked for."""
        if self._isolated_by.get(name, self._leader) == self._leader:
            return
        if self._isolated_by[name] != _NOBODY:
            self._bus.mend(name)
        self._isolated_by[name] = self._leader
        self._cut(name, crossing_links(((self._leader,), self._others()), self._validators))

    def _others(self) -> tuple[int, ...]:
        return tuple(node for node in range(self._validators) if node != self._leader)

    def _rejoin(self, name: str) -> None:
        if self._isolated_by.pop(name) != _NOBODY:
            self._bus.mend(name)

    def _degrade(self, name: str, fault: Links) -> None:
        self._begin(name, name)
        latency = None
        if fault.latency_ms is not None:
            latency = Latency(
                kind="normal", mean_us=fault.latency_ms * MILLISECOND_US, jitter_us=fault.jitter_ms * MILLISECOND_US
            )
        self._bus.degrade(
            name,
            links_of(fault, self._validators),
            latency=latency,
            loss_ppm=fault.loss_ppm,
            reorder_ppm=fault.reorder_ppm,
            reorder_extra_us=fault.reorder_extra_ms * MILLISECOND_US,
            duplicate_ppm=fault.duplicate_ppm,
            corrupt_ppm=fault.corrupt_ppm,
            burst_ppm=fault.burst_ppm,
            burst_us=max(fault.burst_ms * MILLISECOND_US, 1),
            bytes_per_second=fault.bytes_per_second,
            queue_max=fault.queue_max,
            kinds=kinds_of(fault.channels),
        )

    def _impose(self, name: str, condition: str, links: tuple[Link, ...], rule: MessageRule) -> None:
        self._begin(name, condition)
        self._bus.impose(condition, links, rule)

    def _release(self, name: str, fault: Rule, receivers: tuple[int, ...] | None) -> None:
        self._bus.release(name, receivers, gap_us=fault.release_gap_ms * MILLISECOND_US)
