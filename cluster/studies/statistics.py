"""Means over seeds with 95 % intervals: the percentile bootstrap, with draws that are the same in every process.

Seeds are drawn again with replacement, 1,000 times; the interval is from the 2.5th to the 97.5th percentile of the
means. The difference of two arms is taken seed by seed, because both arms have the same seeds. With fewer than three
seeds there is no interval, and its ends are the least and the greatest value.
"""

from collections.abc import Sequence
from functools import cache
from typing import Final, Literal, NamedTuple

from network.chance import Chance, below

RESAMPLES: Final = 1_000
SEEDS_MIN: Final = 3
"""The fewest seeds of an interval."""

Direction = Literal["rises", "falls", "level", "unclear"]


class Interval(NamedTuple):
    """A mean and its 95 % interval."""

    mean: float
    low: float
    high: float


@cache
def _resamples(seeds: int) -> tuple[tuple[int, ...], ...]:
    draws = Chance(0).stream("bootstrap", str(seeds))
    return tuple(
        tuple(below(draws.at(sample * seeds + place), seeds) for place in range(seeds)) for sample in range(RESAMPLES)
    )


def interval_of(values: Sequence[float]) -> Interval | None:
    """Return the mean of a figure over seeds with its interval; None without a value."""
    if not values:
        return None
    mean = sum(values) / len(values)
    if len(values) < SEEDS_MIN:
        return Interval(mean, min(values), max(values))
    means = sorted(sum(map(values.__getitem__, sample)) / len(values) for sample in _resamples(len(values)))
    cut = RESAMPLES // 40
    return Interval(mean, means[cut - 1], means[-cut])


def difference_of(first: Sequence[float | None], second: Sequence[float | None]) -> Interval | None:
    """Return the difference of two arms, seed by seed; seeds without a value in one of them are left out."""
    pairs = zip(first, second, strict=True)
    return interval_of([two - one for one, two in pairs if one is not None and two is not None])


def direction_of(difference: Interval, within: float = 0.0) -> Direction:
    """Return how a figure moves: `level` if the interval lies within the bound, `unclear` if it contains 0."""
    if -within <= difference.low and difference.high <= within:
        return "level"
    if difference.low > 0:
        return "rises"
    if difference.high < 0:
        return "falls"
    return "unclear"
