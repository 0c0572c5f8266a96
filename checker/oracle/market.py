"""Prices of the timer lane under `eip1559`: its basefee, the median tip, and what a timer offers.

Fractions are exact; each price is rounded down once, where it becomes one.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

TARGET = Fraction(1, 2)
"""The utilisation at which the lane's basefee stays."""

LARGEST_CHANGE = Fraction(1, 8)
"""The greatest part by which it moves in one block."""

SLOPES = ("literal", "eip1559")
"""How the change grows with the distance from the target: up to the largest at once, or in proportion."""


class Bid(NamedTuple):
    """What a timer offers: at most so much for lane basefee and tip together, and of that so much as tip."""

    max_fee_per_cycle: int
    max_priority_fee_per_cycle: int
    max_fee_per_cell: int = 0
    max_priority_fee_per_cell: int = 0


def change_of_basefee(used: int, lane: int, slope: str = "literal") -> Fraction:
    """Return the part by which the lane's basefee moves after a block that used so many of the lane's cycles."""
    distance = (Fraction(used, lane) - TARGET) / TARGET
    if slope == "eip1559":
        distance *= LARGEST_CHANGE
    return min(max(distance, -LARGEST_CHANGE), LARGEST_CHANGE)


def next_lane_basefee(basefee: int, used: int, lane: int, least: int, slope: str = "literal") -> int:
    """Return the lane's basefee of the next block; above the target it rises by at least one."""
    change = change_of_basefee(used, lane, slope)
    step = int(basefee * abs(change))
    return max(basefee + max(step, 1) if change > 0 else basefee - step, least)


def median(values: Sequence[int]) -> Fraction:
    """Return the middle value, or the mean of the middle two; 0 of none."""
    if not values:
        return Fraction(0)
    ordered = sorted(values)
    half = len(ordered) // 2
    return Fraction(ordered[half] + ordered[-half - 1], 2)


def default_bid(lane_basefee: int, median_tip: int, cell_basefee: int) -> Bid:
    """Return what the default agent bids."""
    return Bid(2 * lane_basefee, median_tip, cell_basefee, 0)


def tier_tip(median_tip: int, multiplier: Fraction) -> int:
    """Return the tip that a priority tier stands for."""
    return int(multiplier * median_tip)


def room_for_tip(lane_basefee: int, max_fee: int) -> int:
    """Return the greatest tip beside the lane's basefee; it is below zero where not even that is offered."""
    return max_fee - lane_basefee


def tip_of(lane_basefee: int, bid: Bid) -> int:
    """Return the priority per cycle of a bid."""
    return min(bid.max_priority_fee_per_cycle, room_for_tip(lane_basefee, bid.max_fee_per_cycle))
