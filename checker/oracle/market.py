"""Prices of the timer lane under `eip1559`: its basefee, the median tip, and a timer's bid.

Fractions are exact; each price is rounded down once, when it is set.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from checker.oracle.contents import Market
from checker.oracle.lane_config import LaneConfig
from checker.oracle.parameters import MAX_INTEGER

HIGHEST_PRICE = 2**62 - 1
"""The greatest lane price; twice this is still a valid integer."""


class Bid(NamedTuple):
    """A timer's bid: the most it pays for lane basefee and tip together, and the most of that as tip."""

    max_fee_per_cycle: int
    max_priority_fee_per_cycle: int
    max_fee_per_cell: int = 0
    max_priority_fee_per_cell: int = 0


class Lane(NamedTuple):
    """The lane's configuration and market for one block, fixed at its start.

    Attributes:
        market: The record that the parent left, or its replacement in block H_activation.
        cycle_basefee: The block's own basefee, which the reading `intro` uses instead of the lane's price.
    """

    config: LaneConfig
    market: Market
    activation_height: int
    cycle_basefee: int

    @property
    def price(self) -> int:
        """The lane price: units asked for a cycle, without the tip."""
        asked = int(self.market.basefee * Fraction(*self.config.lane_multiplier))
        return min(self.cycle_basefee if self.config.settlement == "intro" else asked, HIGHEST_PRICE)

    def default_bid(self, cell_basefee: int = 0) -> Bid:
        """Return the bid of the default agent."""
        return default_bid(self.price, self.market.p50_tip, cell_basefee)


def change_of_basefee(used: int, lane: int, config: LaneConfig) -> Fraction:
    """Return the relative change of the lane's basefee after a block that used this number of lane cycles."""
    target, most = Fraction(*config.target_utilisation), Fraction(*config.max_basefee_step)
    distance = Fraction(Fraction(used, lane) - target, target)
    if config.slope == "classic":
        distance *= most
    return min(max(distance, -most), most)


def next_lane_basefee(basefee: int, used: int, lane: int, config: LaneConfig) -> int:
    """Return the lane's basefee of the next block; above the target it rises by at least 1."""
    change = change_of_basefee(used, lane, config)
    step = int(basefee * abs(change))
    if change > 0:
        return min(max(basefee + max(step, 1), config.min_lane_basefee), config.max_lane_basefee)
    return max(basefee - step, config.min_lane_basefee)


def median(values: Sequence[int], kind: str = "mean") -> Fraction:
    """Return the median, by mean, lower or upper for an even number of values; 0 without values."""
    if not values:
        return Fraction(0)
    ordered = sorted(values)
    half = len(ordered) // 2
    lower, upper = ordered[-half - 1], ordered[half]
    return {"mean": Fraction(lower + upper, 2), "lower": Fraction(lower), "upper": Fraction(upper)}[kind]


def default_bid(price: int, p50_tip: int, cell_basefee: int) -> Bid:
    """Return the bid of the default agent."""
    return Bid(2 * price, p50_tip, cell_basefee, 0)


def tier_tip(p50_tip: int, multiplier: Fraction) -> int:
    """Return the tip of a priority tier."""
    return min(int(multiplier * p50_tip), MAX_INTEGER)


def priority_of(price: int, bid: Bid) -> int:
    """Return the priority per cycle of a bid: its tip, as far as the lane's price leaves room for it."""
    return min(bid.max_priority_fee_per_cycle, bid.max_fee_per_cycle - price)
