"""Crashes of single validators."""

from collections.abc import Iterator
from typing import Annotated, ClassVar

from faults.coverage.required import VERIFYING, RequiredPoints
from faults.injection.context import FaultContext
from faults.injection.steps import Edge
from faults.kinds.base import Outage, Part
from faults.kinds.drawing import Drawn, Plain, draw_brief_outage, draw_outage_of_one, draw_validator
from faults.kinds.fields import Validator, means
from faults.kinds.wording import seconds
from network.draw import Draw


class Crash(Outage, tag="crash", kw_only=True, frozen=True):
    """Stop one validator in an instant: memory and unsynced writes are gone. It restarts from its disk."""

    counts: ClassVar[str] = "restarts"
    cells: ClassVar[RequiredPoints] = VERIFYING
    reaches: ClassVar[tuple[Part, ...]] = ("power",)
    only_stops: ClassVar[bool] = True

    validator: Annotated[Validator, means("The validator that stops.")]

    def describe(self) -> str:
        off = f"At {seconds(self.at_ms)} validator {self.validator} loses its power and whatever it had not synced"
        return f"{off}; at {seconds(self.restart_ms)} it restarts from its disk."

    def inject(self, context: FaultContext) -> Iterator[Edge]:
        yield from context.outage(self.span(), self.targets())

    @classmethod
    def draws(cls) -> tuple[Drawn, ...]:
        return Drawn(8, "crash", draw_outage_of_one), Drawn(9, "brief-crash", _draw_brief)


def _draw_brief(draw: Draw, name: str, validators: int) -> Plain:
    return {"validator": draw_validator(draw, name, validators), **draw_brief_outage(draw, name)}
