"""The turn at which a failure became likely: the largest rise of its share over the turns of a run.

Probes over the whole run come first, with few continuations each. The interval with the largest rise is halved down to
one turn. Where few continuations leave open which half rises more, there are more of them. Then many continuations at
both ends of the turn bound both shares.
"""

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Final, NamedTuple

from cluster.causality.asking import Ask, Point
from cluster.causality.intervals import wilson_ppm

PROBES: Final = 7
PROBE_RUNS: Final = 8
END_RUNS: Final = 36
"""35 of 35 have a lower bound of 0.9."""

GENESIS_RUNS: Final = 40
"""The continuations from the first turn on after which a failure is called unavoidable, if all fail alike."""

CLEAR: Final = Fraction(3, 8)
"""The difference of two rises from which on few continuations tell which is larger."""

BAKED_IN_PPM: Final = 900_000
"""The lower bound from which on a failure counts as decided."""


class Rise(NamedTuple):
    """The curve of a failure.

    Attributes:
        points: The points by turn. The last is that after the last turn, which no continuation changes.
        low: The point before the rise; None where no chance moves the failure.
        high: The point after it, one turn later; None as above.
    """

    points: list[Point]
    low: Point | None = None
    high: Point | None = None

    @property
    def is_unavoidable(self) -> bool:
        """Whether the run fails alike whatever chance is."""
        return self.low is None

    @property
    def is_baked_in(self) -> bool:
        """Whether the failure is decided after the rise, at the bound of `BAKED_IN_PPM`."""
        return self.high is not None and wilson_ppm(self.high.same, self.high.runs)[0] >= BAKED_IN_PPM


def find_rise(points: Callable[[Ask], list[Point]], turns: int, end_us: int) -> Rise:
    """Return the rise of a failure.

    Args:
        points: Returns the points of turns, each with as many continuations as asked for.
        turns: The turns of the run.
        end_us: The virtual time of its end.
    """
    (first,) = points([(1, PROBE_RUNS)])
    if first.same == first.runs:
        (first,) = points([(1, GENESIS_RUNS)])
        if first.same == first.runs:
            return Rise([first])
    probes = sorted({1 + (turns - 1) * place // (PROBES - 1) for place in range(1, PROBES)} - {1})
    found = {point.turn: point for point in (first, *points([(turn, PROBE_RUNS) for turn in probes]))}
    # From after the last turn on no draw is left to change: this is the run itself.
    found[turns + 1] = Point(turns + 1, end_us, PROBE_RUNS, PROBE_RUNS, {})
    by_turn = [found[turn] for turn in sorted(found)]
    low, high = max(pairwise(by_turn), key=lambda pair: _share(pair[1]) - _share(pair[0]))
    while high.turn - low.turn > 1:
        (middle,) = points([((low.turn + high.turn) // 2, PROBE_RUNS)])
        if abs(_more_on_the_left(low, middle, high)) < CLEAR:
            unsure = [point.turn for point in (low, middle, high) if point.turn <= turns]
            found |= {point.turn: point for point in points([(turn, END_RUNS) for turn in unsure])}
            low, middle, high = found[low.turn], found[middle.turn], found[high.turn]
        found[middle.turn] = middle
        low, high = (low, middle) if _more_on_the_left(low, middle, high) >= 0 else (middle, high)
    ends = [turn for turn in (low.turn, high.turn) if turn <= turns]
    found |= {point.turn: point for point in points([(turn, END_RUNS) for turn in ends])}
    return Rise([found[turn] for turn in sorted(found)], found[low.turn], found[high.turn])


def _more_on_the_left(low: Point, middle: Point, high: Point) -> Fraction:
    """Return by how much more a share rises up to the middle than after it."""
    return 2 * _share(middle) - _share(low) - _share(high)


def _share(point: Point) -> Fraction:
    return Fraction(point.same, point.runs)
