"""The loss of a whole disk."""

from collections.abc import Iterator
from functools import partial
from typing import Annotated, ClassVar

from faults.injection.context import FaultContext
from faults.injection.steps import Edge, window
from faults.kinds.base import FOREVER, Loss, Outage, Part
from faults.kinds.drawing import Drawn, draw_outage_of_one
from faults.kinds.fields import Milliseconds, Validator, means
from faults.kinds.wording import seconds


class Wipe(Outage, tag="wipe", kw_only=True, frozen=True):
    """Cut the power of one validator, put an empty disk in, and switch it on again."""

    counts: ClassVar[str] = "restarts"
    reaches: ClassVar[tuple[Part, ...]] = ("power", "disks")
    touches_disk: ClassVar[bool] = True
    destroys_synced: ClassVar[bool] = True

    validator: Annotated[Validator, means("The validator; it never votes again.")]
    restart_ms: Annotated[Milliseconds, means("When it starts on an empty disk.")]

    def describe(self) -> str:
        off = f"At {seconds(self.at_ms)} validator {self.validator} loses its power and its disk"
        on = "it starts on an empty one, and may never vote again in this epoch"
        return f"{off}; at {seconds(self.restart_ms)} {on}."

    def losses(self, nodes: int) -> Iterator[Loss]:
        yield Loss(self.at_ms, FOREVER, off=self.targets())

    def inject(self, context: FaultContext) -> Iterator[Edge]:
        begin, end = partial(self._wipe, context), partial(context.switch_on, self.targets())
        yield from window(*self.span(), begin, end)

    def _wipe(self, context: FaultContext) -> None:
        context.switch_off(self.targets())
        context.wipe_stopped()

    @classmethod
    def draws(cls) -> tuple[Drawn, ...]:
        return (Drawn(16, "wipe", draw_outage_of_one),)
