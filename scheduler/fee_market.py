"""The lane's basefee and its medians: how the use of the lane sets the price of the next block (CIP-1, section 5).

Exact: fractions where the specification has fractions, and the step floored, not the product (Q-2).
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Literal

from scheduler.lane import LaneConfig

Median = Literal["mean", "lower", "upper"]


def basefee_delta(used: int, lane: int, config: LaneConfig) -> Fraction:
    """Return by which fraction a block that used `used` of `lane` cycles moves the basefee.

    The literal slope is the formula of the text, which reaches its clip at 9/16 and 7/16 already. The classic slope is
    that of EIP-1559, which reaches its clip at a full and an empty block (Q-1).
    """
    (over, under), limit = config.target_utilisation, Fraction(*config.max_basefee_step)
    excess = Fraction(used * under, lane * over) - 1
    if config.slope == "classic":
        excess *= limit
    return max(-limit, min(limit, excess))


def next_lane_basefee(basefee: int, used: int, lane: int, config: LaneConfig) -> int:
    """Return the lane basefee after a block whose fired handlers used `used` cycles; an empty block used none (Q-7)."""
    delta = basefee_delta(used, lane, config)
    # The step is floored on the absolute value: floor division of a negative one would round away from 0.
    step = basefee * abs(delta.numerator) // delta.denominator
    if delta > 0:
        # At least 1 upwards: a step rounded to 0 would leave a low price where it is for ever.
        return min(max(basefee + max(step, 1), config.min_lane_basefee), config.max_lane_basefee)
    return max(basefee - step, config.min_lane_basefee)


def median_tip(priorities: Sequence[int], median: Median) -> int:
    """Return the median priority of a block's fires in units per cycle, rounded down; 0 without fires (Q-11)."""
    counts: dict[int, int] = {}
    for priority in priorities:
        counts[priority] = counts.get(priority, 0) + 1
    return doubled_median(counts, median) // 2


def doubled_median(counts: Mapping[int, int], median: Median) -> int:
    """Return twice the median of the values of `counts`, each as often as its count; 0 without values."""
    total = sum(counts.values())
    if not total:
        return 0
    lower, upper = _values_at(counts, (total - 1) // 2, total // 2)
    return {"lower": 2 * lower, "mean": lower + upper, "upper": 2 * upper}[median]


def _values_at(counts: Mapping[int, int], low_rank: int, high_rank: int) -> tuple[int, int]:
    """Return the values at two ranks, counted from 0 in ascending order."""
    passed, low = 0, None
    # By value: the mapping has the order of the fires.
    for value in sorted(counts):
        passed += counts[value]
        if low is None and passed > low_rank:
            low = value
        if passed > high_rank:
            assert low is not None, "the lower rank comes first"
            return low, value
    raise AssertionError(f"rank {high_rank} of {passed} values")
