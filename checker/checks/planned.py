"""The plan of a run as its checks know it: when each fault is at work and where, and the limits that were set.

Plain data of the scenario, so that a check can say when nothing was wrong and what validators may do in a time.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple


class PlannedFault(NamedTuple):
    """An enabled fault: its name, its time, and the replicas that it names, none where it may hit all of them.

    `pauses` says whether it holds the events of these replicas back.
    """

    name: str
    start_us: int
    stop_us: int
    nodes: tuple[int, ...] = ()
    pauses: bool = False


class PlannedRun(NamedTuple):
    """The plan of a run.

    `answers_per_second` is how many requests of one kind a replica answers to each peer in a second.
    """

    faults: Sequence[PlannedFault] = ()
    answers_per_second: int = 0


NOT_PLANNED: Final = PlannedRun()
"""A run without faults, for the test of a check that asks for no plan."""
