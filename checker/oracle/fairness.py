"""The fairness weight of an actor under `eip1559`: fewer fires than the recent median raise it."""

from collections.abc import Mapping
from fractions import Fraction

from checker.oracle.contents import Fires
from checker.oracle.lane_config import LaneConfig
from checker.oracle.market import median


def window_start_of(start: int, height: int, window: int) -> int:
    """Return the lowest height whose fires count in a block; it never falls."""
    return max(start, height - window)


def fires_since(blocks: Mapping[int, Fires], start: int) -> Fires:
    """Add up the fires of all blocks from a height on."""
    total: Fires = {}
    for block in sorted(blocks):
        if block >= start:
            for subject, count in blocks[block].items():
                total[subject] = total.get(subject, 0) + count
    return total


def weights_of(recent: Mapping[bytes, int], config: LaneConfig) -> dict[bytes, Fraction]:
    """Return the weight of each named subject."""
    divisor = max(Fraction(1), median([count for count in recent.values() if count], config.median))
    return {subject: _within_bounds(2 - Fraction(count, divisor), config) for subject, count in recent.items()}


def weight_of_others(config: LaneConfig) -> Fraction:
    """Return the weight of a subject without fires in the window."""
    return _within_bounds(Fraction(2), config)


def _within_bounds(weight: Fraction, config: LaneConfig) -> Fraction:
    return min(max(weight, Fraction(*config.weight_min)), Fraction(*config.weight_max))
