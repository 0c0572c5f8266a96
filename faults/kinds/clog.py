"""Clogs: messages pile up on their way."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

from faults.injection.context import FaultContext
from faults.injection.links import all_links, both_ways, clog_window
from faults.injection.steps import Edge
from faults.kinds.base import Family, Loss, Part, Plan, Windowed
from faults.kinds.drawing import CHANNELS, Drawn, Plain, draw_window
from faults.kinds.fields import (
    Link,
    Milliseconds,
    Requirement,
    Validator,
    distinct,
    means,
    no_repeats,
    sound_links,
)
from faults.kinds.wording import join, messages, who
from network.draw import Draw
from validators.messages import Channel, kinds_of, touches_consensus


class Clog(Windowed, tag="clog", kw_only=True, frozen=True):
    """Let messages pile up on their way to or from validators, or between pairs; at the end all arrive in order."""

    counts: ClassVar[str] = "messages held"
    family: ClassVar[Family] = "network"
    reaches: ClassVar[tuple[Part, ...]] = ("links",)

    validators: Annotated[tuple[Validator, ...], means("All links of these validators are clogged.")] = ()
    way: Annotated[
        Literal["in", "out", "both"],
        means("The direction of these links: into the validators, out of the validators, or both."),
    ] = "both"
    between: Annotated[
        tuple[Link, ...],
        means("The links of these pairs `[a, b]` are clogged too, both directions."),
    ] = ()
    channels: Annotated[tuple[Channel, ...], means("The messages that pile up; left out: all.")] = ()
    release_gap_ms: Annotated[
        Milliseconds,
        means("The time between two released messages of one receiver, for a clog that drains slowly."),
    ] = 0

    def links(self, nodes: int) -> tuple[Link, ...]:
        """Return the directed links that are clogged."""
        pairs = both_ways(self.between)
        ends = {"in": (1,), "out": (0,), "both": (0, 1)}[self.way]
        return tuple(
            link for link in all_links(nodes) if link in pairs or any(link[end] in self.validators for end in ends)
        )

    def check(self, plan: Plan) -> Iterator[Requirement]:
        yield distinct("validators", self.validators)
        yield no_repeats("channels", self.channels)
        yield "validators", bool(self.validators or self.between), "clogs nothing; give validators or between"
        yield "way", bool(self.validators) or self.way == "both", "belongs to validators; pairs are clogged both ways"
        yield from sound_links("between", self.between)

    def describe(self) -> str:
        ways = {"in": "to", "out": "from", "both": "to and from"}
        clogged = [f"{ways[self.way]} {who(self.validators)}"] if self.validators else []
        if self.between:
            clogged.append("between " + ", ".join(f"{first}-{second}" for first, second in self.between))
        return f"{self.when()} {messages(self.channels)} {join(clogged)} wait, and arrive in their order at the end."

    def losses(self, nodes: int) -> Iterator[Loss]:
        if touches_consensus(self.channels):
            yield Loss(*self.span(), links=self.links(nodes), is_sure=not self.channels)

    def inject(self, context: FaultContext) -> Iterator[Edge]:
        kinds, links = kinds_of(self.channels), self.links(context.nodes)
        yield from clog_window(context, self.span(), links, kinds=kinds, gap_ms=self.release_gap_ms)

    @classmethod
    def draws(cls) -> tuple[Drawn, ...]:
        return (Drawn(23, "clog", _draw),)


def _draw(draw: Draw, name: str, validators: int) -> Plain:
    window_ms = draw_window(draw, name)
    if draw.chance(f"{name}.is_pair", 25):
        return {"between": [draw.some_of(f"{name}.between", range(validators), 2)], **window_ms}
    return {
        "validators": draw.some_of(f"{name}.validators", range(validators), draw.between(f"{name}.count", 1, 2)),
        "way": draw.one_of(f"{name}.way", ("in", "out", "both")),
        "channels": draw.one_of(f"{name}.channels", ([], [], *CHANNELS)),
        "release_gap_ms": draw.one_of(f"{name}.release_gap_ms", (0, 10)),
        **window_ms,
    }
