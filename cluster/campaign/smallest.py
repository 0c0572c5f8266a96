"""The smallest choices that satisfy a property, found by Hypothesis from choices known to satisfy it.

A choice is the index of a candidate for a value: 0 is the smallest candidate, the highest index is the present value.
Before the choices Hypothesis draws switches: over all choices, their halves, quarters and so on, down to single groups
and parts of a group. A switch that is off sets the choices it covers to 0. Hypothesis shrinks its first draws first,
so it removes needless values in large parts.

The known example enters as bytes that choose the highest index everywhere; Hypothesis replays it from a database in
memory. All random draws depend on a fixed seed, and nothing is written to disk.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeAlias

Choices: TypeAlias = tuple[int, ...]
"""The chosen candidate of each value by its index; 0 is the smallest."""

_HIGHEST: Final = b"\xff" * 64
"""Bytes from which Hypothesis draws the highest number below a power of two, for a choice and its surroundings."""


class _HoldsError(Exception):
    """The property that Hypothesis keeps while it makes the choices smaller."""


def find_smallest(counts: Sequence[Sequence[int]], holds: Callable[[Choices], bool]) -> Choices:
    """Return the lowest choices found that satisfy a property; the highest choices, if no lower choices do.

    Args:
        counts: The number of candidates for each value, by group: values of a group are made smaller together first.
        holds: Whether choices satisfy the property; asked once for each, and never for the highest choices.
    """
    highest = tuple(count - 1 for group in counts for count in group)
    if not highest:
        return ()
    # Trio passes a generator to it, and a frozen garbage collector cannot see its other holders; a harmless warning.
    warnings.filterwarnings("ignore", message=".*register_random.*")
    from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings  # noqa: PLC0415 - takes half a second
    from hypothesis import strategies as st  # noqa: PLC0415
    from hypothesis.database import InMemoryExampleDatabase  # noqa: PLC0415

    covers = list(dict.fromkeys(_covers([len(group) for group in counts])))
    answers: dict[Choices, bool] = {highest: True}
    ranges = [st.integers(0, (1 << top.bit_length()) - 1) for top in highest]  # all bits set: see `_HIGHEST`

    @settings(
        derandomize=False,  # against the profile of the process: a derandomized test has no database
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
        raise AssertionError("Hypothesis begins with choices that hold")
    return min((choices for choices, answer in answers.items() if answer), key=lambda choices: (sum(choices), choices))


def _covers(sizes: Sequence[int]) -> Iterator[range]:
    """Yield the range of each switch, the longest first: all groups, halves of them, each group, halves within it."""
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
