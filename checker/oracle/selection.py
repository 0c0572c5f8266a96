"""The selection of timers that fire under `eip1559`, their order, and the cost of a fire."""

from collections.abc import Callable, Collection, Iterable, Mapping
from fractions import Fraction
from math import lcm
from typing import NamedTuple

from checker.oracle.contents import Timer
from checker.oracle.market import Lane


class Prices(NamedTuple):
    """Units for a cycle, for a cell, for a cycle of the lane, and the tip for a cycle."""

    cycle: int
    cell: int
    lane: int
    tip: int


class Fee(NamedTuple):
    """The payment for cycles and cells: three parts burned, a fourth part for the proposer."""

    burned_cycle: int
    burned_cell: int
    burned_lane: int
    tip: int

    @property
    def burned(self) -> int:
        """The part that leaves circulation."""
        return self.burned_cycle + self.burned_cell + self.burned_lane

    @property
    def total(self) -> int:
        """The whole payment."""
        return self.burned + self.tip


def max_cost_of(gas_limit: int, max_cells: int, prices: Prices) -> int:
    """Return the greatest cost of a fire, which its payer is charged in advance."""
    return gas_limit * (prices.cycle + prices.lane + prices.tip) + max_cells * prices.cell


def fee_of(cycles: int, cells: int, prices: Prices) -> Fee:
    """Return the fee of a fire that used these cycles and cells."""
    return Fee(cycles * prices.cycle, cells * prices.cell, cycles * prices.lane, cycles * prices.tip)


def ranked(
    timers: Iterable[Timer], priorities: Mapping[bytes, int], weights: Mapping[bytes, Fraction], lane: Lane
) -> list[Timer]:
    """Sort by effective priority, the greatest first; ties by identifier, by age, or with carried timers last.

    Args:
        timers: The timers that compete.
        priorities: The priority per cycle, by timer.
        weights: The weight of every actor among them.
        lane: Its configuration says how priority and weight combine and how ties are broken.
    """
    # Integers in the same proportion as the weights: a fraction for each timer would take ten times as long to compare.
    common = lcm(*(weight.denominator for weight in weights.values()))
    shares = {actor: int(weight * common) for actor, weight in weights.items()}

    def place(timer: Timer) -> tuple[object, ...]:
        priority, share = priorities[timer.timer_id], shares[timer.actor]
        is_additive = lane.config.weight == "additive"
        effective = priority * common + (share - common) * lane.price if is_additive else priority * share
        if lane.config.tie_break == "id":
            return -effective, timer.timer_id
        # By `append` carried timers stand at the end of the bucket.
        return -effective, -timer.due if lane.config.tie_break == "append" else timer.due, timer.sequence

    return sorted(timers, key=place)


def fill(
    timers: Iterable[Timer],
    lane: int,
    attempt: Callable[[Timer], int | None],
    *,
    account: str = "use",
    misfit: str = "skip",
    dead: Collection[bytes] = (),
) -> list[Timer]:
    """Let timers fire in the given order, each if its limit fits the remaining cycles; return timers that did not fit.

    `attempt` fires a timer and returns the cycles it used, or None if it could not fire. `account` decides whether a
    fire takes its used cycles or its limit from the lane. `misfit` decides whether a timer that does not fit is skipped
    or stops all later timers. A timer known to be `dead` stops no other timer: under `stop` it gets its attempt even if
    it does not fit.
    """
    left = lane
    held: list[Timer] = []
    for timer in timers:
        stops_nobody = misfit == "stop" and timer.timer_id in dead
        if (timer.gas_limit > left and not stops_nobody) or (misfit == "stop" and held):
            held.append(timer)
            continue
        used = attempt(timer)
        if used is not None:
            left -= timer.gas_limit if account == "limit" else used
    return held
