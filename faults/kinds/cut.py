"""Cuts of single directions of links."""

from collections.abc import Iterator
from typing import Annotated, ClassVar

from faults.coverage.required import MESSAGES, RequiredPoints
from faults.injection.context import FaultContext
from faults.injection.links import cut_window
from faults.injection.steps import Edge
from faults.kinds.base import Family, Loss, Part, Plan, Windowed
from faults.kinds.drawing import Drawn, Plain, draw_in_flight, draw_window
from faults.kinds.fields import InFlight, Link, Requirement, means, sound_links
from faults.kinds.wording import IN_FLIGHT
from network.draw import Draw


class Cut(Windowed, tag="cut", kw_only=True, frozen=True):
    """Cut single links in one direction each, from the first validator to the second."""

    counts: ClassVar[str] = "messages lost"
    cells: ClassVar[RequiredPoints] = MESSAGES
    family: ClassVar[Family] = "network"
    reaches: ClassVar[tuple[Part, ...]] = ("links",)

    links: Annotated[
        tuple[Link, ...], means("Pairs `[from, to]`; the direction back is cut only if the pairs name it.")
    ]
    in_flight: Annotated[
        InFlight,
        means("`lost`: messages that are on their way at the start are lost too."),
    ] = "arrives"

    def check(self, plan: Plan) -> Iterator[Requirement]:
        yield "links", bool(self.links), "names no link; give at least one pair [from, to]"
        yield from sound_links("links", self.links, is_directed=True)

    def describe(self) -> str:
        arrows = ", ".join(f"{source}->{destination}" for source, destination in self.links)
        fate = f"is lost, that direction only{IN_FLIGHT[self.in_flight]}"
        return f"{self.when()} everything sent on {arrows} {fate}."

    def losses(self, nodes: int) -> Iterator[Loss]:
        yield Loss(*self.span(), links=self.links)

    def inject(self, context: FaultContext) -> Iterator[Edge]:
        yield from cut_window(context, self.span(), self.links, self.in_flight)

    @classmethod
    def draws(cls) -> tuple[Drawn, ...]:
        return (Drawn(2, "cut", _draw),)


def _draw(draw: Draw, name: str, validators: int) -> Plain:
    links = [[first, second] for first in range(validators) for second in range(validators) if first != second]
    count = draw.between(f"{name}.count", 1, validators)
    drawn = draw.some_of(f"{name}.links", links, count)
    return {"links": drawn, **draw_window(draw, name), **draw_in_flight(draw, name)}
