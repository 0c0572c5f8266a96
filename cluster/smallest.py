"""The smallest of what a strategy can generate, found by Hypothesis from something that is known to do.

A plan's values are choices: each stands on a rung of a ladder, the lowest the smallest, the highest as it is now.
Hypothesis is not asked to find an example, for the one to begin with is known: it is fed in as bytes that choose the
highest rung everywhere, kept in a database in memory, and replayed. What is left to do is what Hypothesis is best at:
making choices smaller, in groups and one by one, as long as something holds.

Nothing is drawn at random but what the seed says, and nothing is kept on a disk.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

Rungs: TypeAlias = tuple[tuple[int, ...], ...]
"""The rung of each choice, by group; 0 is the lowest."""

_HIGHEST: Final = b"\xff" * 64
"""Bytes from which Hypothesis draws the highest of a range of a power of two, for one choice and its surroundings."""


class _HoldsError(Exception):
    """What Hypothesis is to keep up while it makes the choices smaller."""


def find_smallest(heights: Sequence[Sequence[int]], holds: Callable[[Rungs], bool]) -> Rungs:
    """Return the lowest rungs found for which something holds; all at their highest, if nothing lower does.

    Args:
        heights: How many rungs each choice has, by group: choices of a group are made smaller together first.
        holds: Whether it holds for some rungs; asked once for each, and not for the highest ones, for which it does.
    """
    if not any(heights):
        return ()
    # Imported here: it takes half a second, and only shrinking needs it.
    from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings  # noqa: PLC0415
    from hypothesis import strategies as st  # noqa: PLC0415
    from hypothesis.database import InMemoryExampleDatabase  # noqa: PLC0415

    highest = tuple(tuple(height - 1 for height in group) for group in heights)
    answers: dict[Rungs, bool] = {highest: True}
    # A range of a power of two: all bits set is its highest value, and stands for the highest rung.
    ranges = [[st.integers(0, (1 << (height - 1).bit_length()) - 1) for height in group] for group in heights]
    strategy = st.tuples(*(st.tuples(*group) for group in ranges))

    @settings(
        database=InMemoryExampleDatabase(),
        phases=(Phase.reuse, Phase.shrink),
        deadline=None,
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
        verbosity=Verbosity.quiet,
    )
    @seed(0)  # below the settings: it would take the database away from them
    @given(strategy)
    def shrink(drawn: Rungs) -> None:
        rungs = tuple(tuple(map(min, group, highest[place])) for place, group in enumerate(drawn))
        if rungs not in answers:
            answers[rungs] = holds(rungs)
        if answers[rungs]:
            raise _HoldsError

    begin: Any = shrink
    for step in (lambda: begin.hypothesis.fuzz_one_input(_HIGHEST * sum(map(len, heights))), shrink):
        try:
            step()
        except _HoldsError:
            continue
        raise AssertionError("Hypothesis begins with what is known to hold")
    return min((rungs for rungs, answer in answers.items() if answer), key=_size_of)


def _size_of(rungs: Rungs) -> tuple[int, Rungs]:
    return sum(map(sum, rungs)), rungs
