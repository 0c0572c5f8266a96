"""The smallest choices for which something holds, found by Hypothesis from those that are known to do.

A choice is the index of a candidate for one value: 0 the smallest, the highest the value as it is now. Before the
choices come switches over all of them, their halves, quarters and so on, down to single groups and within them: one
that is off makes what it covers 0. Hypothesis makes what it drew first smaller first, so that whatever is not needed
goes in great pieces.

It is not asked to find an example, for the one to begin with is known: it is fed in as bytes that choose the highest
everywhere, kept in a database in memory, and replayed. Nothing is drawn at random but what a fixed seed says, and
nothing is kept on a disk.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeAlias

Choices: TypeAlias = tuple[int, ...]
"""The chosen candidate of each value by its index; 0 is the smallest."""

_HIGHEST: Final = b"\xff" * 64
"""Bytes from which Hypothesis draws the highest of a range of a power of two, for one choice and its surroundings."""


class _HoldsError(Exception):
    """The property that Hypothesis keeps while it makes the choices smaller."""


def find_smallest(counts: Sequence[Sequence[int]], holds: Callable[[Choices], bool]) -> Choices:
    """Return the lowest choices found for which something holds; the highest, if nothing lower does.

    Args:
        counts: The number of candidates for each value, by group: values of a group are made smaller together first.
        holds: Whether it holds for some choices; asked once for each, and not for the highest ones, for which it does.
    """
    highest = tuple(count - 1 for group in counts for count in group)
    if not highest:
        return ()
    # Trio hands it a generator, and a frozen collector does not see who else holds that: nothing that one can mend.
    warnings.filterwarnings("ignore", message=".*register_random.*")
    from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings  # noqa: PLC0415 - takes half a second
    from hypothesis import strategies as st  # noqa: PLC0415
    from hypothesis.database import InMemoryExampleDatabase  # noqa: PLC0415

    covers = list(dict.fromkeys(_covers([len(group) for group in counts])))
    answers: dict[Choices, bool] = {highest: True}
    ranges = [st.integers(0, (1 << top.bit_length()) - 1) for top in highest]  # all bits set: see `_HIGHEST`

    @settings(
        derandomize=False,  # whatever profile the process has loaded: with it there is no database
        database=InMemoryExampleDatabase(),
        phases=(Phase.reuse, Phase.shrink),
        deadline=None,
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
        verbosity=Verbosity.quiet,
    )
    @seed(0)  # below the settings: it would take the database away from them
    @given(st.tuples(*(st.integers(0, 1) for _ in covers)), st.tuples(*ranges))
    def shrink(switches: tuple[int, ...], drawn: tuple[int, ...]) -> None:
        choices = list(map(min, drawn, highest))
        for switch, cover in zip(switches, covers, strict=True):
            if not switch:
                choices[cover.start : cover.stop] = [0] * len(cover)
        chosen = tuple(choices)
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
    return min((choices for choices, answer in answers.items() if answer), key=lambda choices: (sum(choices), choices))


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
