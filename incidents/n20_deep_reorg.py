"""The fault of n20: a branch that is given up leaves its traces in the ring of the calendar."""

from typing import Any

from scheduler.calendar import CalendarQueue
from stampede_testbed.plugin.mutants import mutant


@mutant((CalendarQueue, "fork"), area="scheduler", kills=("equal-roots", "oracle"), on_all=True)
def branches_share_a_ring(fork: Any) -> Any:
    """Blocks of different branches share the places of one ring."""

    def fork_in_part(self: Any) -> Any:
        queue = fork(self)
        queue._ring = self._ring  # noqa: SLF001 - it is bad on purpose
        return queue

    return fork_in_part
