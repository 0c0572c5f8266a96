"""Blackouts: several validators lose their power in one instant."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Annotated, ClassVar, Self

import msgspec

from faults.coverage.required import VERIFYING, RequiredPoints
from faults.injection.context import FaultContext
from faults.injection.steps import Edge, window
from faults.kinds.base import Loss, Outage, Part, Plan
from faults.kinds.drawing import Drawn, Plain, draw_brief_outage, draw_outage
from faults.kinds.fields import Milliseconds, Requirement, Validator, distinct, means
from faults.kinds.wording import seconds, who
from network.draw import Draw
from network.regions import Region
from network.types import MILLISECOND_US


class Blackout(Outage, tag="blackout", kw_only=True, frozen=True):
    """Cut the power of validators in one instant; they come back together later, or ``restart_every_ms`` apart.

    ``regions`` of ``[network]`` stand for the validators there. Without ``validators`` and ``regions`` all are hit.
    """

    counts: ClassVar[str] = "validators restarted"
    cells: ClassVar[RequiredPoints] = (*VERIFYING, ("voted", "leader"))
    reaches: ClassVar[tuple[Part, ...]] = ("power",)

    validators: Annotated[
        tuple[Validator, ...],
        means("The validators, in the order of their return; left out, without `regions` too: all."),
    ] = ()
    regions: Annotated[
        tuple[Region, ...],
        means("Also all validators that `network.regions` puts there; the resolved scenario names these validators."),
    ] = ()
    at_ms: Annotated[Milliseconds, means("When they stop.")]
    restart_ms: Annotated[Milliseconds, means("When they restart, or the first of them does.")]
    restart_every_ms: Annotated[Milliseconds, means("The time between two restarts; left out: all at once.")] = 0

    def restarts_ms(self) -> Iterator[tuple[int, int]]:
        """Yield each validator with the time at which it comes back, in the order in which they are named."""
        for place, node in enumerate(self.validators):
            yield node, self.restart_ms + place * self.restart_every_ms

    def span(self) -> tuple[int, int]:
        return self.at_ms, max((at_ms for _, at_ms in self.restarts_ms()), default=self.restart_ms)

    def span_at(self, node: int) -> tuple[int, int]:
        """Return its time up to the restart of a validator."""
        return self.at_ms, dict(self.restarts_ms())[node]

    def resolved(self, regions: Sequence[Region], validators: int) -> Self:
        """Return the blackout with its validators by number; raises ValueError for a region without validators."""
        if not self.validators and not self.regions:
            return msgspec.structs.replace(self, validators=tuple(range(validators)))
        for region in self.regions:
            if region not in regions:
                known = ", ".join(dict.fromkeys(regions)) or "none"
                raise ValueError(f"no validator is in {region}; network.regions has {known}")
        there = [node for node, region in enumerate(regions) if region in self.regions]
        return msgspec.structs.replace(self, validators=tuple(dict.fromkeys((*self.validators, *there))), regions=())

    def check(self, plan: Plan) -> Iterator[Requirement]:
        yield distinct("validators", self.validators)

    def describe(self) -> str:
        off = f"At {seconds(self.at_ms)} {who(self.validators)} lose their power at once"
        if not self.restart_every_ms:
            return f"{off}; at {seconds(self.restart_ms)} they restart from their disks."
        apart = f"they restart in this order, {seconds(self.restart_every_ms)} apart"
        return f"{off}; from {seconds(self.restart_ms)} on {apart}."

    def losses(self, nodes: int) -> Iterator[Loss]:
        for node, back_ms in self.restarts_ms():
            yield Loss(self.at_ms, back_ms, off=(node,))

    def inject(self, context: FaultContext) -> Iterator[Edge]:
        # A validator that was back before this process began stays on.
        restarts_ms, begin_us = self.restarts_ms(), context.begin_us
        off = tuple(node for node, back_ms in restarts_ms if back_ms * MILLISECOND_US >= begin_us)
        begin, end = partial(context.switch_off, off), partial(context.switch_on, self.validators)
        if not self.restart_every_ms:
            yield from window(self.at_ms, self.restart_ms, begin, end)
            return
        yield Edge(self.at_ms, self.span()[1], "start", begin)
        for node, restart_ms in self.restarts_ms():
            yield Edge(restart_ms, restart_ms, "stop", partial(context.switch_on, (node,)))

    @classmethod
    def draws(cls) -> tuple[Drawn, ...]:
        return Drawn(10, "blackout", _draw), Drawn(11, "power-cut", _draw_brief)


def _draw(draw: Draw, name: str, validators: int) -> Plain:
    count = draw.one_of(f"{name}.count", (2, validators))
    return {
        "validators": draw.some_of(f"{name}.validators", range(validators), count),
        "restart_every_ms": draw.one_of(f"{name}.restart_every_ms", (0, 700)),
        **draw_outage(draw, name),
    }


def _draw_brief(draw: Draw, name: str, validators: int) -> Plain:
    return {"validators": list(range(validators)), **draw_brief_outage(draw, name)}
