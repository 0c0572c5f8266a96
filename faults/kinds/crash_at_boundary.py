"""Crashes in the midst of a step, at a boundary of the write-ahead order."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Annotated, ClassVar, Final

from faults.coverage.required import RequiredPoints
from faults.injection.context import FaultContext
from faults.injection.power import Watch
from faults.injection.steps import Edge, window
from faults.kinds.base import DOWN, Family, Loss, Occupied, Part, Plan, Windowed
from faults.kinds.drawing import Drawn, Plain, draw_another, draw_validator, draw_window
from faults.kinds.fields import Milliseconds, NotNegative, Positive, Requirement, Validator, distinct, means
from faults.kinds.wording import seconds, who
from network.draw import Draw
from validators.storage import Boundary

_PLACES: Final[Mapping[Boundary, str]] = {
    "before-append": "before it writes to its vote journal",
    "after-append": "between the write to its vote journal and the sync",
    "after-sync": "between the sync of its disk and what it sends on it",
    "after-send": "when the first message of a vote has left and no other",
    "mid-prune": "when one copy of its vote journal is written anew and the other is not",
    "before-call": "before it asks its application something",
    "after-call": "when its application has answered, which is forgotten",
}


class CrashAtBoundary(Windowed, tag="crash-at-boundary", kw_only=True, frozen=True):
    """Crash one validator at a boundary of its write-ahead order: at one occurrence, or at each ``every``-th.

    Validators in ``also`` lose their power in the same instant.
    """

    counts: ClassVar[str] = "restarts"
    cells: ClassVar[RequiredPoints] = (("verifying", "voter"), ("finalizing", "voter"))
    family: ClassVar[Family] = "machine"
    reaches: ClassVar[tuple[Part, ...]] = ("power",)

    validator: Annotated[
        Validator,
        means("The validator that loses power in the middle of a step: the rest of the step does not happen."),
    ]
    also: Annotated[
        tuple[Validator, ...],
        means("Further validators that lose power in the same instant."),
    ] = ()
    boundary: Annotated[
        Boundary,
        means(
            "`before-append`: before a record is written to the vote journal. "
            "`after-append`: after this write. "
            "`after-sync`: after a sync, before any action that waited for it. "
            "`after-send`: after the first message of a vote's broadcast has left, before the other messages leave. "
            "`mid-prune`: one copy of the vote journal is rewritten, the other copy is not. "
            "`before-call`: before a call of an application. "
            "`after-call`: after this call; its answer is lost."
        ),
    ]
    start_ms: Annotated[Milliseconds, means("When it may happen first.")]
    stop_ms: Annotated[Milliseconds, means("When it may happen last.")]
    occurrence: Annotated[
        Positive,
        means("The crossing of the boundary at which it happens, counted from `start_ms`."),
    ] = 1
    every: Annotated[NotNegative, means("In place of `occurrence`: once in this many crossings.")] = 0
    restart_after_ms: Annotated[Positive, means("How long the validators are off each time.")]

    def span(self) -> tuple[int, int]:
        return self.start_ms, self.stop_ms + self.restart_after_ms

    def occupies(self) -> Occupied | None:
        return DOWN

    def check(self, plan: Plan) -> Iterator[Requirement]:
        yield "every", not self.every or self.occurrence == 1, "occurrence and every exclude each other"
        yield distinct("also", self.targets())

    def describe(self) -> str:
        which = f"once in every {self.every} times" if self.every > 1 else "every time" if self.every else "once"
        if self.occurrence > 1:
            which = f"at time number {self.occurrence}"
        where = f"validator {self.validator} loses its power {_PLACES[self.boundary]}, {which}"
        with_it = f"; {who(self.also)} with it in the same instant" if self.also else ""
        return f"{self.when()} {where}, and restarts from its disk {seconds(self.restart_after_ms)} later{with_it}."

    def losses(self, nodes: int) -> Iterator[Loss]:
        yield Loss(*self.span(), off=self.targets(), is_sure=False)

    def inject(self, context: FaultContext) -> Iterator[Edge]:
        # A fault that struck in an earlier process has had its occurrence.
        if self.every or not context.is_resumed:
            begin, end = partial(self._watch, context), partial(context.power.watch, self.validator, None)
            yield from window(self.start_ms, self.stop_ms, begin, end)

    def _watch(self, context: FaultContext) -> None:
        reached = 0

        def is_struck(boundary: Boundary) -> bool:
            nonlocal reached
            if boundary != self.boundary:
                return False
            reached += 1
            return reached % self.every == 0 if self.every else reached == self.occurrence

        def note() -> None:
            context.machinery.trace(context.name, self.boundary)
            context.note_stopped([self.validator])
            context.switch_off(self.also)
            context.fire_later(self.restart_after_ms, "restart", partial(context.switch_on, self.targets()))

        context.power.watch(self.validator, Watch(is_struck, note))

    @classmethod
    def draws(cls) -> tuple[Drawn, ...]:
        return (Drawn(12, "boundary", _draw),)


def _draw(draw: Draw, name: str, validators: int) -> Plain:
    node = draw_validator(draw, name, validators)
    return {
        "validator": node,
        "boundary": draw.one_of(f"{name}.boundary", ("before-append", "after-append", "after-sync", "after-send")),
        "occurrence": draw.between(f"{name}.occurrence", 1, 12),
        "every": draw.one_of(f"{name}.every", (0, 15)),
        "restart_after_ms": draw.between(f"{name}.restart_after_ms", 100, 1_500),
        **draw_window(draw, name),
        **draw_another(draw, name, node, validators),
    }
