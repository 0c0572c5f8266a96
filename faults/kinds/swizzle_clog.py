"""Swizzle clogs: validators clog singly, and unclog in another order."""

from collections.abc import Iterator, Sequence
from typing import Annotated, ClassVar, NamedTuple

from faults.injection.context import FaultContext
from faults.injection.links import all_links, both_ways, clog_window
from faults.injection.steps import Edge
from faults.kinds.base import Family, Loss, Part, Plan, Windowed
from faults.kinds.drawing import Drawn, Plain, draw_window
from faults.kinds.fields import (
    Link,
    Milliseconds,
    NotNegative,
    Requirement,
    Validator,
    distinct,
    means,
    no_repeats,
)
from faults.kinds.wording import messages, who
from network.chance import Chance, below
from network.draw import Draw
from network.topology import MILLION
from validators.messages import Channel, kinds_of, touches_consensus


class ClogWindow(NamedTuple):
    """A window in which links are clogged, in virtual milliseconds; ``part`` names it within its fault."""

    part: str
    links: tuple[Link, ...]
    start_ms: int
    stop_ms: int


class SwizzleClog(Windowed, tag="swizzle-clog", kw_only=True, frozen=True):
    """Clog validators one by one at drawn times of the first half; unclog them in another order in the second.

    Without ``validators`` the seed draws half of all. It also clogs ``pairs`` links that the seed draws.
    """

    counts: ClassVar[str] = "messages held; a message that passes from a clog to another counts twice"
    family: ClassVar[Family] = "network"
    reaches: ClassVar[tuple[Part, ...]] = ("links",)
    draws_ahead: ClassVar[bool] = True

    validators: Annotated[
        tuple[Validator, ...],
        means("The validators that clog; left out: half of all are drawn."),
    ] = ()
    pairs: Annotated[NotNegative, means("The number of further drawn links between two validators that clog.")] = 0
    channels: Annotated[tuple[Channel, ...], means("The messages that pile up; left out: all.")] = ()
    release_gap_ms: Annotated[Milliseconds, means("The time between two released messages of one receiver.")] = 0

    def check(self, plan: Plan) -> Iterator[Requirement]:
        yield distinct("validators", self.validators)
        yield no_repeats("channels", self.channels)
        yield "stop_ms", self.stop_ms - self.start_ms >= 2, "must lie at least 2 ms after start_ms, for two halves"
        pairs = plan.replicas * (plan.replicas - 1) // 2
        yield "pairs", self.pairs <= pairs, f"this cluster has {pairs} pairs of validators"

    def describe(self) -> str:
        clogged = who(self.validators) if self.validators else "half of all validators"
        pairs = f" and {self.pairs} drawn links" if self.pairs else ""
        order = "clog one by one in the first half of the time, and unclog in another order in the second"
        return f"{self.when()} {clogged}{pairs} {order}; {messages(self.channels)} wait meanwhile."

    def windows(self, name: str, chance: Chance, nodes: int) -> Iterator[ClogWindow]:
        """Yield each chosen validator, clogged both ways, and each drawn pair."""
        purpose, half_ms = f"swizzle-clog {name}", (self.stop_ms - self.start_ms) // 2
        begun, turned = chance.at(self.start_ms), chance.at(self.start_ms + half_ms)

        def ranked(values: Sequence[Link], subject: str, count: int) -> list[Link]:
            keyed = [(begun.draw(purpose, subject, place), value) for place, value in enumerate(values)]
            return [value for _, value in sorted(keyed)[:count]]

        everybody = range(nodes)
        # A validator is the pair of itself and itself, so that validators and pairs are drawn and clogged alike.
        chosen = [(node, node) for node in self.validators]
        chosen = chosen or ranked([(node, node) for node in everybody], "who", max(nodes // 2, 1))
        pairs = ranked([(low, high) for high in everybody for low in range(high)], "pairs", self.pairs)
        for low, high in (*chosen, *pairs):
            part = f"{low}" if low == high else f"{low}-{high}"
            start_ms = self.start_ms + below(begun.draw(purpose, f"start {part}", 0), half_ms)
            stop_ms = self.stop_ms - below(turned.draw(purpose, f"stop {part}", 0), half_ms)
            links = both_ways([(low, high)])
            if low == high:
                links = tuple(link for link in all_links(nodes) if low in link)
            yield ClogWindow(part, links, start_ms, stop_ms)

    def losses(self, nodes: int) -> Iterator[Loss]:
        if touches_consensus(self.channels):
            # The plan does not show which validators and pairs are drawn.
            is_named = self.validators and not self.pairs
            links = [link for link in all_links(nodes) if not is_named or set(link) & set(self.validators)]
            yield Loss(*self.span(), links=tuple(links), is_sure=False)

    def lost_views_ppm(self, validators: int) -> int:
        """Return one third: half of all validators are clogged for half of the time."""
        return MILLION // 3

    def inject(self, context: FaultContext) -> Iterator[Edge]:
        for part, links, start_ms, stop_ms in self.windows(context.name, context.chance, context.nodes):
            kinds, gap_ms = kinds_of(self.channels), self.release_gap_ms
            yield from clog_window(context, (start_ms, stop_ms), links, kinds=kinds, gap_ms=gap_ms, part=part)

    @classmethod
    def draws(cls) -> tuple[Drawn, ...]:
        return (Drawn(24, "swizzle-clog", _draw),)


def _draw(draw: Draw, name: str, _validators: int) -> Plain:
    return {"pairs": draw.between(f"{name}.pairs", 0, 4), **draw_window(draw, name)}
