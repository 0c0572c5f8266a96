"""Pauses: a validator stands still while time goes on."""

from collections.abc import Iterator
from functools import partial
from typing import Annotated, ClassVar

from faults.coverage.required import TIMESTAMPS, RequiredPoints
from faults.injection.context import FaultContext
from faults.injection.steps import Edge, window
from faults.kinds.base import Family, Loss, Occupied, Part, Plan, Windowed, moments_of, windows_ms
from faults.kinds.drawing import Drawn, Plain, draw_another, draw_validator, draw_window
from faults.kinds.fields import Milliseconds, Requirement, Validator, both_or_neither, distinct, means
from faults.kinds.wording import seconds, who
from network.draw import Draw


class Pause(Windowed, tag="pause", kw_only=True, frozen=True):
    """Hold back all events of a validator, and of the validators in ``also``, until the end; clocks go on.

    With ``pause_ms`` and ``run_ms`` the validator stands still and runs by turns: a throttled processor.
    """

    counts: ClassVar[str] = (
        "events held back: messages, timers, finished work and submissions, handled oldest first at the end"
    )
    cells: ClassVar[RequiredPoints] = TIMESTAMPS
    family: ClassVar[Family] = "machine"
    reaches: ClassVar[tuple[Part, ...]] = ("pace",)

    validator: Annotated[Validator, means("The validator that stands still.")]
    also: Annotated[tuple[Validator, ...], means("Further validators that stand still.")] = ()
    pause_ms: Annotated[
        Milliseconds, means("How long the validators stand still each time; only together with `run_ms`.")
    ] = 0
    run_ms: Annotated[Milliseconds, means("How long the validators run in between.")] = 0

    def occupies(self) -> Occupied | None:
        return Occupied("power", "paused")

    def check(self, plan: Plan) -> Iterator[Requirement]:
        yield distinct("also", self.targets())
        yield both_or_neither("run_ms", pause_ms=self.pause_ms, run_ms=self.run_ms)

    def describe(self) -> str:
        events, clocks = ("their events", "their clocks go") if self.also else ("its events", "its clock goes")
        paused = f"{self.when()} {who(self.targets())} {'are' if self.also else 'is'} paused"
        if self.run_ms:
            rhythm = f"for {seconds(self.pause_ms)}, then not for {seconds(self.run_ms)}, and again"
            return f"{paused} {rhythm}: all {events} are held back meanwhile, while {clocks} on."
        return f"{paused}: all {events} are held back and delivered at the end, while {clocks} on."

    def losses(self, nodes: int) -> Iterator[Loss]:
        yield Loss(*self.span(), off=self.targets(), on_ms=self.pause_ms, rest_ms=self.run_ms)

    def inject(self, context: FaultContext) -> Iterator[Edge]:
        begin, end = partial(self._pause, context), partial(self._resume, context)
        for begin_ms, end_ms in windows_ms(self.start_ms, self.stop_ms, self.pause_ms, self.run_ms):
            yield from window(begin_ms, end_ms, begin, end)

    def _pause(self, context: FaultContext) -> None:
        for node in self.targets():
            context.power.pause(node)

    def _resume(self, context: FaultContext) -> None:
        for node in self.targets():
            context.touch(node, context.power.resume(node))

    def moments(self) -> int:
        """Return twice the number of pauses."""
        return moments_of(self.stop_ms - self.start_ms, self.pause_ms + self.run_ms) if self.run_ms else 2

    @classmethod
    def draws(cls) -> tuple[Drawn, ...]:
        return (Drawn(17, "pause", _draw),)


def _draw(draw: Draw, name: str, validators: int) -> Plain:
    node = draw_validator(draw, name, validators)
    fault = {"validator": node, **draw_window(draw, name), **draw_another(draw, name, node, validators)}
    if draw.chance(f"{name}.is_throttled", 35):
        fault["pause_ms"] = draw.one_of(f"{name}.pause_ms", (40, 150, 600))
        fault["run_ms"] = draw.one_of(f"{name}.run_ms", (20, 60, 200))
    return fault
