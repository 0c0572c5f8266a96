"""Mutants of the timer lane: its price, its weights, its order, the calendar queue below it, and the mailbox."""

import dataclasses
from functools import partial
from typing import Any, Final

import msgspec

from checker.mutants.mutant import burning_for, mutant
from scheduler import auction, fairness, tally
from scheduler.bidding import FeeParams, Prices
from scheduler.calendar import CalendarQueue
from scheduler.fee_market import basefee_delta
from scheduler.policies import eip1559
from validators.execution.genesis import Genesis
from validators.execution.mailbox import StateMailbox

_scheduler_mutant = partial(mutant, area="scheduler")
_scheduler_timer_mutant = partial(_scheduler_mutant, is_of_timer=True)
_execution_mutant = partial(mutant, area="execution")

FULL_MAILBOX: Final = "chain.mailbox_cycles=8_000"
MANY_MESSAGES: Final = 'workload.games={kind="games", games=3, players=4, gas_limit=30_000, may_be_idle=true}'
"""Three games send messages to twelve players in each block, and a block has cycles for two of them."""


def _configure(lane: Any, **changes: Any) -> Any:
    return dataclasses.replace(lane, config=msgspec.structs.replace(lane.config, **changes))


@_scheduler_mutant((auction, "next_lane_basefee"), kills=("equal-roots",), cause="execution", shows="lane market")
def lane_basefee_in_floats(next_lane_basefee: Any) -> Any:
    """The lane basefee moves by rounded floats."""

    def next_in_floats(basefee: int, used: int, lane: int, config: Any) -> int:
        exact = next_lane_basefee(basefee, used, lane, config)
        delta = float(basefee_delta(used, lane, config))
        rounded = round(basefee * (1 + delta))
        return exact if exact in {config.min_lane_basefee, config.max_lane_basefee} else rounded

    return next_in_floats


@_scheduler_mutant(
    (auction, "next_lane_basefee"), kills=("oracle",), cause="execution", on_all=True, shows="lane market"
)
def lane_decay_skipped_on_empty_blocks(next_lane_basefee: Any) -> Any:
    """A block without a fire leaves the lane basefee where it was."""
    return lambda basefee, used, *rest: next_lane_basefee(basefee, used, *rest) if used else basefee


@_scheduler_mutant((auction, "median_tip"), kills=("equal-roots",), cause="execution", shows="lane market")
def median_of_the_upper_half(median_tip: Any) -> Any:
    """The median tip is the upper of the two in the middle."""
    return lambda tips, _median: median_tip(tips, "upper")


@_scheduler_timer_mutant(
    (auction, "Scale"),
    kills=("oracle", "agreement"),
    cause="order",
    on_all=True,
    shows="TimerFired|TimerDeferred",
)
def price_left_out_of_priority(scale: Any) -> Any:
    """A timer's priority does not leave room for the lane's price: those priced out fire."""
    return lambda *, price, **rest: scale(price=0 * price, **rest)


@_scheduler_timer_mutant(
    (Prices, "default_params"), kills=("equal-roots",), cause="execution", shows="TimerFired|TimerDeferred|required="
)
def default_agent_bids_once(_original: Any) -> Any:
    """The default agent offers the lane's price and not twice as much."""
    return lambda self: FeeParams(self.lane, self.p50_tip, self.cell, 0)


@_scheduler_timer_mutant(
    (tally, "settle"), kills=("oracle",), cause="execution", on_all=True, shows="TimerFired.*account"
)
def timer_tip_burned(settle: Any) -> Any:
    """The tip of a fire is burned and not given to the proposer."""

    def settle_and_burn(timer: Any, *, ledger: Any, proposer: bytes = b"", **rest: Any) -> Any:
        return settle(timer, ledger=burning_for(proposer, ledger), proposer=proposer, **rest)

    return settle_and_burn


@_scheduler_mutant(
    (eip1559, "open_window"), kills=("oracle",), cause="execution", on_all=True, shows="lane market|fires"
)
def fairness_window_off_by_one(open_window: Any) -> Any:
    """A fire counts for fairness one block longer than the window."""

    def open_a_block_more(lane: Any, height: int) -> Any:
        return open_window(_configure(lane, fairness_window_blocks=lane.config.fairness_window_blocks + 1), height)

    return open_a_block_more


@_scheduler_timer_mutant((fairness.Weights, "numerator"), kills=("equal-roots",), cause="order", shows="TimerFired")
def weights_in_floats(_original: Any) -> Any:
    """Fairness weights are floats that become whole numbers."""

    def numerator(self: Any, subject: bytes) -> int:
        weight = 2 - self.slope * self.recent_fires(subject) / self.denominator
        bounded = max(self.low / self.denominator, min(self.high / self.denominator, weight))
        return int(int(bounded) * self.denominator)

    return numerator


@_scheduler_timer_mutant((eip1559, "tables_pool"), kills=("equal-roots",), cause="order", shows="TimerFired")
def tie_break_of_the_other_reading(tables_pool: Any) -> Any:
    """Equal priorities are ordered by age where the chain says identifier, and the other way round."""

    def pool_with_other_ties(lane: Any, config: Any, now: int) -> Any:
        return tables_pool(_configure(lane, tie_break="id" if lane.config.tie_break == "age" else "age"), config, now)

    return pool_with_other_ties


@_scheduler_mutant(
    (Genesis, "entry_at"),
    kills=("equal-roots", "agreement"),
    cause="execution",
    shows="activation|lane|recent fires|bid due",
)
def lane_active_a_block_early(entry_at: Any) -> Any:
    """The timer lane holds from the block before its activation on."""
    return lambda self, height: entry_at(self, height + 1)


@_scheduler_timer_mutant(
    (CalendarQueue, "_take_ring"), kills=("timer-delivery",), cause="execution", on_all=True, shows="TimerFired"
)
def ring_place_off_by_one(take_ring: Any) -> Any:
    """The ring is read up to the place before the present's."""
    return lambda self, before, now: take_ring(self, before, max(before, now - 1))


@_scheduler_mutant(
    (CalendarQueue, "_take_epochs"),
    kills=("timer-delivery", "oracle", "agreement"),
    cause="execution",
    on_all=True,
    shows="epoch|EpochPromoted|TimerFired",
)
def promotion_missed(take_epochs: Any) -> Any:
    """Heights leave the epoch queue when they are due and not when the ring reaches them."""
    return lambda self, last: take_epochs(self, last - self.profile.ring_size)


@_execution_mutant(
    (StateMailbox, "__init__"),
    kills=("message-delivery", "oracle"),
    cause="execution",
    on_all=True,
    needs=(FULL_MAILBOX, MANY_MESSAGES),
    shows="MessageDelivered",
)
def mailbox_budget_doubled(init: Any) -> Any:
    """A block delivers twice as many messages as its mailbox may."""
    return lambda self, view, cycles_budget: init(self, view, 2 * cycles_budget)
