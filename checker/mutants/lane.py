"""Variants of the timer lane: its price, its weights, its order, the calendar queue below it, and the mailbox."""

import dataclasses
from typing import Any, Final

import msgspec

from checker.mutants.mutant import OtherLedger, Swap, Variant, swap
from scheduler import fairness, tally
from scheduler.bidding import FeeParams, Prices
from scheduler.calendar import CalendarQueue
from scheduler.fee_market import basefee_delta
from scheduler.policies import eip1559
from validators.execution.genesis import Genesis
from validators.execution.mailbox import StateMailbox

FULL_MAILBOX: Final = "chain.mailbox_cycles=8_000"
MANY_MESSAGES: Final = 'workload.games={kind="games", games=3, players=4, gas_limit=30_000, may_be_idle=true}'
"""Three games tell twelve players in each block, and a block has cycles for two of them."""


def _configure(lane: Any, **changes: Any) -> Any:
    return dataclasses.replace(lane, config=msgspec.structs.replace(lane.config, **changes))


# -- price -------------------------------------------------------------------------------------


def _float_price() -> list[Swap]:
    def make(next_lane_basefee: Any) -> Any:
        def next_in_floats(basefee: int, used: int, lane: int, config: Any) -> int:
            exact = next_lane_basefee(basefee, used, lane, config)
            delta = float(basefee_delta(used, lane, config))
            rounded = round(basefee * (1 + delta))
            return exact if exact in {config.min_lane_basefee, config.max_lane_basefee} else rounded

        return next_in_floats

    return [swap(eip1559, "next_lane_basefee", make)]


def _no_decay() -> list[Swap]:
    def make(next_lane_basefee: Any) -> Any:
        return lambda basefee, used, *rest: next_lane_basefee(basefee, used, *rest) if used else basefee

    return [swap(eip1559, "next_lane_basefee", make)]


def _upper_median() -> list[Swap]:
    return [swap(eip1559, "median_tip", lambda median_tip: lambda tips, _median: median_tip(tips, "upper"))]


def _forget_the_price() -> list[Swap]:
    return [swap(eip1559, "Scale", lambda scale: lambda *, price, **rest: scale(price=0 * price, **rest))]


def _plain_default() -> list[Swap]:
    return [(Prices, "default_params", lambda self: FeeParams(self.lane, self.p50_tip, self.cell, 0))]


def _burn_tips() -> list[Swap]:
    def make(settle: Any) -> Any:
        def settle_and_burn(timer: Any, *, ledger: Any, proposer: bytes = b"", **rest: Any) -> Any:
            def credit(address: bytes, amount: int) -> None:
                if address == proposer:
                    ledger.burn(amount)
                else:
                    ledger.credit(address, amount)

            return settle(timer, ledger=OtherLedger(ledger, credit=credit), proposer=proposer, **rest)

        return settle_and_burn

    return [swap(tally, "settle", make)]


# -- weights and order -------------------------------------------------------------------------


def _wider_window() -> list[Swap]:
    def make(open_window: Any) -> Any:
        def open_a_block_more(lane: Any, height: int) -> Any:
            return open_window(_configure(lane, fairness_window_blocks=lane.config.fairness_window_blocks + 1), height)

        return open_a_block_more

    return [swap(eip1559, "open_window", make)]


def _float_weights() -> list[Swap]:
    def numerator(self: Any, subject: bytes) -> int:
        weight = 2 - self.slope * self.recent_fires(subject) / self.denominator
        bounded = max(self.low / self.denominator, min(self.high / self.denominator, weight))
        return int(int(bounded) * self.denominator)

    return [(fairness.Weights, "numerator", numerator)]


def _other_tie_break() -> list[Swap]:
    def make(tables_pool: Any) -> Any:
        def pool_with_other_ties(lane: Any, config: Any, now: int) -> Any:
            return tables_pool(
                _configure(lane, tie_break="id" if lane.config.tie_break == "age" else "age"), config, now
            )

        return pool_with_other_ties

    return [swap(eip1559, "tables_pool", make)]


def _early_activation() -> list[Swap]:
    return [swap(Genesis, "is_in_lane", lambda is_in_lane: lambda self, height: is_in_lane(self, height + 1))]


# -- the calendar queue and the mailbox --------------------------------------------------------


def _miss_a_place() -> list[Swap]:
    def make(take_ring: Any) -> Any:
        return lambda self, before, now: take_ring(self, before, max(before, now - 1))

    return [swap(CalendarQueue, "_take_ring", make)]


def _promote_late() -> list[Swap]:
    def make(take_epochs: Any) -> Any:
        return lambda self, last: take_epochs(self, last - self.profile.ring_size)

    return [swap(CalendarQueue, "_take_epochs", make)]


def _double_mailbox() -> list[Swap]:
    def make(init: Any) -> Any:
        return lambda self, view, cycles_budget: init(self, view, 2 * cycles_budget)

    return [swap(StateMailbox, "__init__", make)]


LANE: Final = (
    Variant(
        name="lane-basefee-in-floats",
        what="the lane basefee moves by rounded floats",
        area="scheduler",
        caught_by=("equal-roots",),
        swaps=_float_price,
        cause="execution",
        shows="lane market",
    ),
    Variant(
        name="lane-decay-skipped-on-empty-blocks",
        what="a block without a fire leaves the lane basefee where it was",
        area="scheduler",
        caught_by=("lane-books", "oracle"),
        swaps=_no_decay,
        cause="execution",
        on_all=True,
        shows="lane market",
    ),
    Variant(
        name="median-of-the-upper-half",
        what="the median tip is the upper of the two in the middle",
        area="scheduler",
        caught_by=("equal-roots",),
        swaps=_upper_median,
        cause="execution",
        shows="lane market",
    ),
    Variant(
        name="price-left-out-of-priority",
        what="a timer's priority does not leave room for the lane's price: those priced out fire",
        area="scheduler",
        caught_by=("oracle", "lane-books", "agreement"),
        swaps=_forget_the_price,
        cause="order",
        on_all=True,
        shows="TimerFired|TimerDeferred",
        is_of_timer=True,
    ),
    Variant(
        name="default-agent-bids-once",
        what="the default agent offers the lane's price and not twice as much",
        area="scheduler",
        caught_by=("equal-roots",),
        swaps=_plain_default,
        cause="execution",
        shows="TimerFired|TimerDeferred",
        is_of_timer=True,
    ),
    Variant(
        name="timer-tip-burned",
        what="the tip of a fire is burned and not given to the proposer",
        area="scheduler",
        caught_by=("oracle",),
        swaps=_burn_tips,
        cause="execution",
        on_all=True,
        shows="TimerFired.*account",
        is_of_timer=True,
    ),
    Variant(
        name="fairness-window-off-by-one",
        what="a fire counts for fairness one block longer than the window",
        area="scheduler",
        caught_by=("oracle",),
        swaps=_wider_window,
        cause="execution",
        on_all=True,
        shows="lane market|fires",
    ),
    Variant(
        name="weights-in-floats",
        what="fairness weights are floats that become whole numbers",
        area="scheduler",
        caught_by=("equal-roots",),
        swaps=_float_weights,
        cause="order",
        shows="TimerFired",
        is_of_timer=True,
    ),
    Variant(
        name="tie-break-of-the-other-reading",
        what="equal priorities are ordered by age where the chain says identifier, and the other way round",
        area="scheduler",
        caught_by=("equal-roots",),
        swaps=_other_tie_break,
        cause="order",
        shows="TimerFired",
        is_of_timer=True,
    ),
    Variant(
        name="lane-active-a-block-early",
        what="the timer lane holds from the block before its activation on",
        area="scheduler",
        caught_by=("equal-roots", "agreement"),
        swaps=_early_activation,
        cause="execution",
        shows="activation|lane",
    ),
    Variant(
        name="ring-place-off-by-one",
        what="the ring is read up to the place before the present's",
        area="scheduler",
        caught_by=("timer-delivery",),
        swaps=_miss_a_place,
        cause="execution",
        on_all=True,
        shows="TimerFired",
        is_of_timer=True,
    ),
    Variant(
        name="promotion-missed",
        what="heights leave the epoch queue when they are due and not when the ring reaches them",
        area="scheduler",
        caught_by=("timer-delivery", "oracle", "agreement"),
        swaps=_promote_late,
        cause="execution",
        on_all=True,
        shows="epoch|EpochPromoted|TimerFired",
    ),
    Variant(
        name="mailbox-budget-doubled",
        what="a block delivers twice as many messages as its mailbox may",
        area="execution",
        caught_by=("message-delivery", "oracle"),
        swaps=_double_mailbox,
        cause="execution",
        on_all=True,
        needs=(FULL_MAILBOX, MANY_MESSAGES),
        shows="MessageDelivered",
    ),
)
"""Variants of the timer lane."""
