"""The faults of n09: a walk over a map ends at the first item that it should skip, and each node walks in its order."""

import dataclasses
from itertools import takewhile
from typing import Any

from scheduler.lifecycle import is_expired
from scheduler.policies import fifo
from stampede_testbed.plugin.mutants import mutant


def _until_insolvent(classes: Any, now: int, walk: Any) -> Any:
    dead = [*takewhile(lambda timer: is_expired(timer, now), walk(classes.dead))]
    return dataclasses.replace(classes, dead=dead)


@mutant((fifo, "classify"), area="scheduler", kills=("oracle",), cause="order")
def walk_ends_at_the_first_gone(classify: Any) -> Any:
    """A clean-up ends at the first timer whose owner is gone, instead of going on behind it."""
    return lambda waiting, *, now, **rest: _until_insolvent(classify(waiting, now=now, **rest), now, list)


@mutant((fifo, "classify"), area="scheduler", kills=("oracle",), cause="order")
def walk_from_the_end_ends(classify: Any) -> Any:
    """The same, in the order in which another node walks over its map."""
    return lambda waiting, *, now, **rest: _until_insolvent(
        classify(waiting, now=now, **rest), now, lambda timers: timers[::-1]
    )
