"""Partitions that come and go."""

from collections.abc import Iterator
from typing import Annotated, ClassVar

from faults.coverage.required import CUTS, RequiredPoints
from faults.injection.context import FaultContext
from faults.injection.links import crossing_links, cut_window
from faults.injection.steps import Edge
from faults.kinds.base import Family, Loss, Part, Plan, Windowed, moments_of, windows_ms
from faults.kinds.drawing import Drawn, Plain, draw_groups, draw_window
from faults.kinds.fields import Positive, Requirement, Validator, distinct, means
from faults.kinds.partition import split
from faults.kinds.wording import braced, join, seconds
from network.draw import Draw


class Flapping(Windowed, tag="flapping", kw_only=True, frozen=True):
    """A partition that comes and goes: cut for ``cut_ms``, open for ``open_ms``, and again."""

    counts: ClassVar[str] = "messages lost"
    cells: ClassVar[RequiredPoints] = CUTS
    family: ClassVar[Family] = "network"
    reaches: ClassVar[tuple[Part, ...]] = ("links",)

    groups: Annotated[tuple[tuple[Validator, ...], ...], means("Lists of validators, as in `partition`.")]
    cut_ms: Annotated[Positive, means("How long the links are cut each time.")]
    open_ms: Annotated[Positive, means("How long the links are whole in between.")]

    def check(self, plan: Plan) -> Iterator[Requirement]:
        yield distinct("groups", self.targets())
        yield split("groups", self.groups)
        is_flapping = self.start_ms + self.cut_ms < self.stop_ms
        yield "cut_ms", is_flapping, "the links are cut until the end and never open; use a partition"

    def describe(self) -> str:
        rhythm = f"for {seconds(self.cut_ms)}, then whole for {seconds(self.open_ms)}, and again"
        return f"{self.when()} all links between {join([braced(group) for group in self.groups])} are cut {rhythm}."

    def losses(self, nodes: int) -> Iterator[Loss]:
        links = crossing_links(self.groups, nodes)
        yield Loss(*self.span(), links=links, on_ms=self.cut_ms, rest_ms=self.open_ms)

    def inject(self, context: FaultContext) -> Iterator[Edge]:
        links = crossing_links(self.groups, context.nodes)
        for span_ms in windows_ms(self.start_ms, self.stop_ms, self.cut_ms, self.open_ms):
            yield from cut_window(context, span_ms, links)

    def moments(self) -> int:
        """Return twice the number of cuts."""
        return moments_of(self.stop_ms - self.start_ms, self.cut_ms + self.open_ms)

    @classmethod
    def draws(cls) -> tuple[Drawn, ...]:
        return (Drawn(1, "flapping", _draw),)


def _draw(draw: Draw, name: str, validators: int) -> Plain:
    return {
        "groups": draw_groups(draw, name, validators),
        **draw_window(draw, name),
        "cut_ms": draw.one_of(f"{name}.cut_ms", (300, 600)),
        "open_ms": draw.one_of(f"{name}.open_ms", (400, 900)),
    }
