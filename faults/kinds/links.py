"""Worse links: latency, loss, reordering, copies, damage, bursts, a rate, a queue."""

from collections.abc import Iterator
from functools import partial
from typing import Annotated, ClassVar

from faults.coverage.required import MESSAGES, RequiredPoints
from faults.injection.context import FaultContext
from faults.injection.links import all_links, both_ways
from faults.injection.steps import Edge, window
from faults.kinds.base import Family, Loss, Part, Plan, Windowed
from faults.kinds.drawing import CHANNELS, Drawn, Plain, draw_window
from faults.kinds.fields import (
    Link,
    Milliseconds,
    NotNegative,
    PartsPerMillion,
    Positive,
    Requirement,
    Start,
    both_or_neither,
    means,
    no_repeats,
    sound_links,
)
from faults.kinds.wording import join, seconds, share
from network.conditions import Condition
from network.draw import Draw
from network.latency import Latency
from network.topology import MILLION
from network.types import MILLISECOND_US
from validators.messages import Channel, kinds_of, touches_consensus


class Links(Windowed, tag="links", kw_only=True, frozen=True):
    """Make links worse: latency, loss, reordering, copies, damage, a rate, a queue.

    Without ``between`` the fault hits all links. It hits the messages of ``channels``. All messages are lost in
    ``burst_ppm`` of a million periods of ``burst_ms``. A direction of a link carries ``bytes_per_second``, and drops a
    message when more than ``queue_max`` are under way.
    """

    counts: ClassVar[str] = "messages changed, doubled or lost"
    cells: ClassVar[RequiredPoints] = MESSAGES
    family: ClassVar[Family] = "network"
    reaches: ClassVar[tuple[Part, ...]] = ("links",)

    start_ms: Start = 0
    between: Annotated[tuple[Link, ...], means("Pairs `[a, b]`, both directions; left out: all links.")] = ()
    one_way: Annotated[bool, means("Only from the first to the second of each pair.")] = False
    latency_ms: Annotated[
        Positive | None,
        means("Replaces the link's latency by a normal one with this mean.", left_out="the link keeps its own"),
    ] = None
    jitter_ms: Annotated[Milliseconds, means("The standard deviation of `latency_ms`.")] = 0
    loss_ppm: Annotated[PartsPerMillion, means("Messages that are lost.")] = 0
    reorder_ppm: Annotated[
        PartsPerMillion, means("Messages that are held back, so that later messages overtake them.")
    ] = 0
    reorder_extra_ms: Annotated[Milliseconds, means("How long such messages are held back.")] = 0
    duplicate_ppm: Annotated[
        PartsPerMillion,
        means("Messages that arrive twice; the copy has a latency of its own."),
    ] = 0
    corrupt_ppm: Annotated[
        PartsPerMillion,
        means("Messages with one byte changed; receivers refuse them (figure `messages_refused`)."),
    ] = 0
    burst_ppm: Annotated[
        PartsPerMillion,
        means("Periods in which a direction of a link loses all messages; each direction has its own periods."),
    ] = 0
    burst_ms: Annotated[Milliseconds, means("The length of such a period.")] = 0
    bytes_per_second: Annotated[
        NotNegative,
        means(
            "The rate of a direction of a link: a message occupies the direction for its bytes over the "
            "rate, and the next message waits."
        ),
    ] = 0
    queue_max: Annotated[
        NotNegative,
        means("Messages that may be under way in a direction; beyond that a drawn message is dropped."),
    ] = 0
    channels: Annotated[tuple[Channel, ...], means("The messages that are hit; left out: all.")] = ()

    def links(self, nodes: int) -> tuple[Link, ...]:
        """Return the directed links that it makes worse."""
        return (self.between if self.one_way else both_ways(self.between)) or all_links(nodes)

    def check(self, plan: Plan) -> Iterator[Requirement]:
        yield from sound_links("between", self.between, is_directed=self.one_way)
        yield "one_way", bool(self.between) or not self.one_way, "needs pairs in between"
        yield both_or_neither("reorder_ppm", reorder_ppm=self.reorder_ppm, reorder_extra_ms=self.reorder_extra_ms)
        yield "jitter_ms", self.latency_ms is not None or not self.jitter_ms, "needs latency_ms beside it"
        yield both_or_neither("burst_ppm", burst_ppm=self.burst_ppm, burst_ms=self.burst_ms)
        yield no_repeats("channels", self.channels)
        rates = (self.loss_ppm, self.reorder_ppm, self.duplicate_ppm, self.corrupt_ppm, self.burst_ppm)
        is_worse = self.latency_ms is not None or any((*rates, self.bytes_per_second, self.queue_max))
        changes = "latency_ms, one of loss, reorder, duplicate, corrupt and burst _ppm, bytes_per_second or queue_max"
        yield "kind", is_worse, f"changes nothing; give {changes}"

    def describe(self) -> str:
        pairs = ", ".join(f"{first}{'->' if self.one_way else '-'}{second}" for first, second in self.between)
        channels = f" ({join(self.channels)} only)" if self.channels else ""
        links = f"{'the links ' + pairs if pairs else 'all links'}{channels}"
        return f"{self.when()} {links} {join(list(self._changes()))}."

    def _changes(self) -> Iterator[str]:
        if self.latency_ms is not None:
            yield f"take {self.latency_ms} ms, give or take {self.jitter_ms} ms"
        rates = (("lose", self.loss_ppm), ("duplicate", self.duplicate_ppm), ("flip a byte in", self.corrupt_ppm))
        yield from (f"{what} {share(ppm)} of messages" for what, ppm in rates if ppm)
        if self.reorder_ppm:
            yield f"hold {share(self.reorder_ppm)} of messages back for {seconds(self.reorder_extra_ms)}"
        if self.burst_ppm:
            yield f"lose everything in {share(self.burst_ppm)} of the stretches of {seconds(self.burst_ms)}"
        if self.bytes_per_second:
            yield f"carry {self.bytes_per_second:,} bytes a second"
        if self.queue_max:
            yield f"throw a message out when more than {self.queue_max} are under way"

    def losses(self, nodes: int) -> Iterator[Loss]:
        if self.loss_ppm == MILLION and touches_consensus(self.channels):
            yield Loss(*self.span(), links=self.links(nodes), is_sure=not self.channels)

    def lost_views_ppm(self, validators: int) -> int:
        """Return the share of messages that are lost."""
        return min(self.loss_ppm + self.burst_ppm + self.corrupt_ppm, MILLION)

    def inject(self, context: FaultContext) -> Iterator[Edge]:
        yield from window(*self.span(), partial(self._degrade, context), partial(context.bus.lift, context.name))

    def _degrade(self, context: FaultContext) -> None:
        latency = None
        if self.latency_ms is not None:
            mean_us, jitter_us = self.latency_ms * MILLISECOND_US, self.jitter_ms * MILLISECOND_US
            latency = Latency(kind="normal", mean_us=mean_us, jitter_us=jitter_us)
        condition = Condition(
            name=context.condition(),
            latency=latency,
            loss_ppm=self.loss_ppm,
            reorder_ppm=self.reorder_ppm,
            reorder_extra_us=self.reorder_extra_ms * MILLISECOND_US,
            duplicate_ppm=self.duplicate_ppm,
            corrupt_ppm=self.corrupt_ppm,
            burst_ppm=self.burst_ppm,
            burst_us=max(self.burst_ms * MILLISECOND_US, 1),
            bytes_per_second=self.bytes_per_second,
            queue_max=self.queue_max,
            kinds=kinds_of(self.channels),
        )
        context.bus.impose(condition, self.links(context.nodes))

    @classmethod
    def draws(cls) -> tuple[Drawn, ...]:
        return Drawn(4, "links", _draw), Drawn(25, "narrow", _draw_narrow)


def _draw(draw: Draw, name: str, _validators: int) -> Plain:
    fault: Plain = {"loss_ppm": draw.one_of(f"{name}.loss_ppm", (0, 50_000, 250_000)), **draw_window(draw, name)}
    if draw.chance(f"{name}.is_reordering", 40):
        fault |= {"reorder_ppm": 200_000, "reorder_extra_ms": draw.one_of(f"{name}.reorder_extra_ms", (50, 800))}
    if draw.chance(f"{name}.is_duplicating", 40):
        fault["duplicate_ppm"] = 300_000
    if draw.chance(f"{name}.is_corrupting", 40):
        fault["corrupt_ppm"] = 50_000
    if draw.chance(f"{name}.is_partial", 25):
        fault["channels"] = draw.one_of(f"{name}.channels", CHANNELS)
    latency_ms = draw.one_of(f"{name}.latency_ms", (150, 400))
    return {**fault, "latency_ms": latency_ms, "jitter_ms": latency_ms // 3}


def _draw_narrow(draw: Draw, name: str, _validators: int) -> Plain:
    fault: Plain = {
        "bytes_per_second": draw.one_of(f"{name}.bytes_per_second", (0, 8_000, 40_000, 400_000)),
        "queue_max": draw.one_of(f"{name}.queue_max", (3, 12)),
        **draw_window(draw, name),
    }
    if draw.chance(f"{name}.is_bursting", 40):
        fault |= {"burst_ppm": 150_000, "burst_ms": draw.one_of(f"{name}.burst_ms", (100, 900))}
    if draw.chance(f"{name}.is_corrupting", 50):
        fault["corrupt_ppm"] = 50_000
    return fault
