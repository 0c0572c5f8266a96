"""Variants of execution and of the timer phase."""

from typing import Any, Final

from checker.planted.variant import Swap, Variant
from scheduler.policies import fifo
from scheduler.settlement import classify


def _expire_late() -> list[Swap]:
    def classify_a_slot_late(waiting: Any, *, now: int, **rest: Any) -> Any:
        return classify(waiting, now=now - 1, **rest)

    return [(fifo, "classify", classify_a_slot_late)]


EXECUTION: Final = (
    Variant(
        name="expiry-a-slot-late",
        what="a timer lives one slot longer than its time to live",
        area="scheduler",
        caught_by=("equal-roots", "oracle", "timer-delivery"),
        swaps=_expire_late,
        needs=("workload.storm",),
    ),
)
