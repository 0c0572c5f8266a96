"""The fault of n13: execution depends on what a validator's own garbage collection has removed by then."""

import dataclasses
from typing import Any

from scheduler.policies import fifo
from stampede_testbed.plugin.mutants import mutant

EVERY_BLOCKS = 50
"""The blocks between two sweeps of the validator's own."""


@mutant((fifo, "classify"), area="scheduler", kills=("equal-roots", "oracle"), cause="clean-up")
def sweeps_at_its_own_pace(classify: Any) -> Any:
    """A validator removes dead timers in every fiftieth block only, and its blocks depend on it."""
    blocks = 0

    def classify_between_sweeps(waiting: Any, **rest: Any) -> Any:
        nonlocal blocks
        blocks += 1
        classes = classify(waiting, **rest)
        return classes if blocks % EVERY_BLOCKS == 0 else dataclasses.replace(classes, dead=[])

    return classify_between_sweeps
