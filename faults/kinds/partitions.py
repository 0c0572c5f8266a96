"""Partitions at random times: a process with a rate and a length."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, NamedTuple

from faults.coverage.required import CUTS, RequiredPoints
from faults.injection.context import FaultContext
from faults.injection.links import all_links, crossing_links, cut_window
from faults.injection.steps import Edge
from faults.kinds.base import Family, Loss, Part, Plan, Windowed, moments_of
from faults.kinds.drawing import WHERE_ASKED, Drawn, Plain, draw_in_flight, draw_window
from faults.kinds.fields import InFlight, Positive, Requirement, Validator, distinct, means
from faults.kinds.partition import split
from faults.kinds.wording import IN_FLIGHT, braced, join, seconds
from network.chance import Chance, below
from network.draw import Draw
from network.latency import Latency
from network.topology import MILLION

Groups = tuple[tuple[int, ...], ...]


class Split(NamedTuple):
    """A single partition, in virtual milliseconds."""

    start_ms: int
    stop_ms: int
    groups: Groups


class Partitions(Windowed, tag="partitions", kw_only=True, frozen=True):
    """Partitions at random times: the time until the next partition and its length are exponential.

    Without ``groups`` each partition has two sides that the seed draws.
    """

    counts: ClassVar[str] = "messages lost"
    cells: ClassVar[RequiredPoints] = CUTS
    family: ClassVar[Family] = "network"
    reaches: ClassVar[tuple[Part, ...]] = ("links",)
    draws_ahead: ClassVar[bool] = True

    every_ms: Annotated[Positive, means("The mean time from the end of a partition to the start of the next.")]
    length_ms: Annotated[Positive, means("The mean length of a partition; the last one ends at `stop_ms`.")]
    groups: Annotated[
        tuple[tuple[Validator, ...], ...],
        means("Lists of validators, as in `partition`; left out: two drawn sides, drawn anew each time."),
    ] = ()
    in_flight: Annotated[
        InFlight, means("`lost`: messages that are on their way at the start of a partition are lost too.")
    ] = "arrives"

    def check(self, plan: Plan) -> Iterator[Requirement]:
        yield distinct("groups", self.targets())
        yield split("groups", self.groups) if self.groups else ("groups", plan.replicas > 1, "one replica has no links")

    def describe(self) -> str:
        sides = join([braced(group) for group in self.groups]) if self.groups else "two drawn sides"
        rhythm = f"for {seconds(self.length_ms)} on average, {seconds(self.every_ms)} apart on average"
        return f"{self.when()} all links between {sides} are cut at random times, {rhythm}{IN_FLIGHT[self.in_flight]}."

    def splits(self, name: str, chance: Chance, nodes: int) -> Iterator[Split]:
        """Yield the partitions in their order."""
        purpose, at_ms = f"partitions {name}", self.start_ms
        # Milliseconds in place of microseconds: the distribution is the same, and no time is 0.
        every, length = Latency("exponential", self.every_ms), Latency("exponential", self.length_ms)
        for number in range(self.stop_ms - self.start_ms):
            start_ms = at_ms + every.sample(chance.at(at_ms).draw(purpose, "every", number))
            if start_ms >= self.stop_ms:
                return
            drawn = chance.at(start_ms)
            at_ms = min(start_ms + length.sample(drawn.draw(purpose, "length", number)), self.stop_ms)
            groups = self.groups
            if not groups:
                first = number * nodes
                order = sorted(range(nodes), key=lambda node: drawn.draw(purpose, "side", first + node))
                count = 1 + below(drawn.draw(purpose, "count", number), nodes - 1)
                groups = (tuple(order[:count]), tuple(order[count:]))
            yield Split(start_ms, at_ms, groups)

    def losses(self, nodes: int) -> Iterator[Loss]:
        links = crossing_links(self.groups, nodes) if self.groups else all_links(nodes)
        yield Loss(*self.span(), links=links, is_sure=False)

    def lost_views_ppm(self, validators: int) -> int:
        """Return the share of the time that is split."""
        return MILLION * self.length_ms // (self.every_ms + self.length_ms)

    def inject(self, context: FaultContext) -> Iterator[Edge]:
        for start_ms, stop_ms, groups in self.splits(context.name, context.chance, context.nodes):
            links = crossing_links(groups, context.nodes)
            yield from cut_window(context, (start_ms, stop_ms), links, self.in_flight)

    def moments(self) -> int:
        """Return twice the average number of partitions."""
        return moments_of(self.stop_ms - self.start_ms, self.every_ms + self.length_ms)

    @classmethod
    def draws(cls) -> tuple[Drawn, ...]:
        return (Drawn(WHERE_ASKED, "partitions", _draw),)


def _draw(draw: Draw, name: str, _validators: int) -> Plain:
    return {
        "every_ms": draw.one_of(f"{name}.every_ms", (300, 1_000, 3_000)),
        "length_ms": draw.one_of(f"{name}.length_ms", (200, 1_000, 2_500)),
        **draw_window(draw, name),
        **draw_in_flight(draw, name),
    }
