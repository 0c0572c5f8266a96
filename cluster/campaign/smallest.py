"""The smallest of what a strategy can generate, found by Hypothesis from something that is known to do.

A plan's values are choices: each stands on a rung of a ladder, the lowest the smallest, the highest as it is now.
Before them come switches over all choices, their halves, quarters and so on, down to single groups and within them: one
that is off puts what it covers on the lowest rung. Hypothesis makes what it drew first smaller first, so that whatever
is not needed goes in great pieces.

It is not asked to find an example, for the one to begin with is known: it is fed in as bytes that choose the highest
everywhere, kept in a database in memory, and replayed. Nothing is drawn at random but what a fixed seed says, and
nothing is kept on a disk.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeAlias

Rungs: TypeAlias = tuple[int, ...]
"""The rung of each choice; 0 is the lowest."""

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
    highest = tuple(height - 1 for group in heights for height in group)
    if not highest:
        return ()
    # Imported here: it takes half a second, and only shrinking needs it.
    from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings  # noqa: PLC0415
    from hypothesis import strategies as st  # noqa: PLC0415
    from hypothesis.database import InMemoryExampleDatabase  # noqa: PLC0415

    covers = list(dict.fromkeys(_covers([len(group) for group in heights])))
    answers: dict[Rungs, bool] = {highest: True}
    # A range of a power of two: all bits set is its highest value, and stands for the highest rung.
    ladders = [st.integers(0, (1 << top.bit_length()) - 1) for top in highest]

    @settings(
        database=InMemoryExampleDatabase(),
        phases=(Phase.reuse, Phase.shrink),
        deadline=None,
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
        verbosity=Verbosity.quiet,
    )
    @seed(0)  # below the settings: it would take the database away from them
    @given(st.tuples(*(st.integers(0, 1) for _ in covers)), st.tuples(*ladders))
    def shrink(switches: tuple[int, ...], drawn: tuple[int, ...]) -> None:
        rungs = list(map(min, drawn, highest))
        for switch, cover in zip(switches, covers, strict=True):
            if not switch:
                rungs[cover.start : cover.stop] = [0] * len(cover)
        chosen = tuple(rungs)
        if chosen not in answers:
            answers[chosen] = holds(chosen)
        if answers[chosen]:
            raise _HoldsError

    begin: Any = shrink
    for step in (lambda: begin.hypothesis.fuzz_one_input(_HIGHEST * (len(covers) + len(highest))), shrink):
        try:
            step()
        except _HoldsError:
            continue
        raise AssertionError("Hypothesis begins with what is known to hold")
    return min((rungs for rungs, answer in answers.items() if answer), key=lambda rungs: (sum(rungs), rungs))


def _covers(sizes: Sequence[int]) -> Iterator[range]:
    """Yield what switches cover, the most first: all groups, halves of them, each, and halves within it."""
    starts = [sum(sizes[:place]) for place in range(len(sizes) + 1)]
    yield from (range(starts[part.start], starts[part.stop]) for part in _halves(range(len(sizes))))
    for start, size in zip(starts, sizes, strict=False):
        yield from (part for part in _halves(range(start, start + size)) if len(part) > 1)


def _halves(whole: range) -> Iterator[range]:
    """Yield a range, its halves, their halves and so on down to single numbers, the longest first."""
    parts = [whole]
    while parts:
        yield from parts
        halves = [half for part in parts if len(part) > 1 for half in _split(part)]
        parts = halves


def _split(part: range) -> tuple[range, range]:
    middle = (part.start + part.stop) // 2
    return range(part.start, middle), range(middle, part.stop)
