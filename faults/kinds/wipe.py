"""The loss of a whole disk."""

from collections.abc import Iterator
from functools import partial
from typing import Annotated, ClassVar

from faults.injection.context import FaultContext
from faults.injection.edges import Edge, window
from faults.kinds.base import Outage
from faults.kinds.drawing import Drawn, Plain, draw_outage, draw_validator
from faults.kinds.fields import Milliseconds, Validator, means
from faults.kinds.wording import seconds
from network.draw import Draw


class Wipe(Outage, tag="wipe", kw_only=True, frozen=True):
    """Cut the power of one validator, put an empty disk in, and switch it on again."""

    counts: ClassVar[str] = "1 once it is back"
    touches_disk: ClassVar[bool] = True
    destroys_synced: ClassVar[bool] = True

    validator: Annotated[Validator, means("The validator; it may never vote again in this epoch.")]
    at_ms: Annotated[Milliseconds, means("When it stops.")]
    restart_ms: Annotated[Milliseconds, means("When it starts on an empty disk.")]

    def targets(self) -> tuple[int, ...]:
        return (self.validator,)

    def describe(self) -> str:
        off = f"At {seconds(self.at_ms)} validator {self.validator} loses its power and its disk"
        on = "it starts on an empty one, and may never vote again in this epoch"
        return f"{off}; at {seconds(self.restart_ms)} {on}."

    def inject(self, context: FaultContext) -> Iterator[Edge]:
        begin, end = partial(self._wipe, context), partial(context.switch_on, self.targets())
        yield from window(*self.span(), begin, end)

    def _wipe(self, context: FaultContext) -> None:
        context.switch_off(self.targets())
        context.wipe_stopped()

    @classmethod
    def draws(cls) -> tuple[Drawn, ...]:
        return (Drawn(16, "wipe", _draw),)


def _draw(draw: Draw, name: str, validators: int) -> Plain:
    return {"validator": draw_validator(draw, name, validators), **draw_outage(draw, name)}
