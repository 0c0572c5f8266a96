"""Slow machines."""

from collections.abc import Iterator
from functools import partial
from typing import Annotated, ClassVar

from faults.coverage.required import VOTING, RequiredPoints
from faults.injection.context import FaultContext
from faults.injection.steps import Edge
from faults.kinds.base import Family, Occupied, Part, Windowed
from faults.kinds.drawing import Drawn, Plain, draw_validator, draw_window
from faults.kinds.fields import Factor, Validator, means
from network.draw import Draw


class Slow(Windowed, tag="slow", kw_only=True, frozen=True):
    """All work of one validator (executing, verifying, syncing) takes ``factor`` times as long."""

    counts: ClassVar[str] = "pieces of work that took longer; work that began earlier keeps its time"
    cells: ClassVar[RequiredPoints] = VOTING
    family: ClassVar[Family] = "machine"
    reaches: ClassVar[tuple[Part, ...]] = ("pace",)

    validator: Annotated[Validator, means("The validator that is slow, also after restarts.")]
    factor: Annotated[Factor, means("How many times as long its work takes.")]

    def occupies(self) -> Occupied | None:
        return Occupied("pace", "slow")

    def describe(self) -> str:
        return f"{self.when()} all work of validator {self.validator} takes {self.factor} times as long."

    def inject(self, context: FaultContext) -> Iterator[Edge]:
        begin = partial(context.power.slow_down, self.validator, self.factor)
        end = partial(context.power.speed_up, self.validator)
        meter, nodes = context.power.slowed, self.targets()
        yield from context.metered_window(self.span(), begin, end, meter=meter, nodes=nodes)

    @classmethod
    def draws(cls) -> tuple[Drawn, ...]:
        return (Drawn(18, "slow", _draw),)


def _draw(draw: Draw, name: str, validators: int) -> Plain:
    factor = draw.one_of(f"{name}.factor", (5, 50, 300))
    return {"validator": draw_validator(draw, name, validators), "factor": factor, **draw_window(draw, name)}
