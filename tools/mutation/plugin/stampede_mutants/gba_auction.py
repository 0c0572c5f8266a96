"""Mutants of the GBA auction: who is asked, what a tip is worth, slices, the budget, and weights over epochs."""

import dataclasses
from functools import partial
from typing import Any, Final

import msgspec

from checker.mutants.mutant import mutant
from scheduler import gba_weights
from scheduler.gba_weights import AuctionWeights
from scheduler.policies import gba_auction

IN_AUCTION: Final = (
    *('chain.policy="gba-auction"', "chain.lane={}", "chain.activation={height=1}"),
    *("chain.policy_parameters={starvation_deferrals=1}", "chain.calendar={epoch_length=3}"),
    "chain.timers.lane_timer_cycles=15_000",
    'workload.governance={kind="governance", may_be_idle=true, actions=[{do="cancel", at_ms=9, workload="eager"}]}',
)
"""A narrow budget, and epochs so short that weights are scored several times; what is drawn may govern a lane."""

_STORM: Final = "timers_per_actor=40, first_slot=6, spread_slots=3, ttl_slots=60, gas_limit=4_000, start_ms=300"
RIVALS: Final = (
    f'workload.eager={{kind="storm", agent="desperate", actors=1, {_STORM}, may_be_idle=true}}',
    f'workload.competing-heartbeats={{kind="storm", agent="alarmed", actors=2, {_STORM}, may_be_idle=true}}',
)
"""Actors whose agents bid differently, with more timers than the budget has room for."""

FAILING: Final = f'workload.failing={{kind="storm", handler="fail", actors=1, {_STORM}, may_be_idle=true}}'
BROKE: Final = f'workload.broke={{kind="storm", actors=1, unfunded_actors=1, {_STORM}, may_be_idle=true}}'
FEW_ASKS: Final = "chain.policy_parameters={max_gba_calls_per_block=6}"

ASKED: Final = "TimerFired|TimerDeferred|DeferredSummary"

_of_auction = partial(mutant, area="scheduler", cause="execution", on_all=True)
_of_order = partial(_of_auction, cause="order", needs=(*IN_AUCTION, *RIVALS))


@_of_order((gba_auction, "rank_of"), kills=("oracle",), shows="TimerFired", is_of_timer=True)
def lowest_tip_first(rank_of: Any) -> Any:
    """The timers that bid least fire first."""

    def rank_backwards(contender: Any, *rest: Any) -> Any:
        tip, *others = rank_of(contender, *rest)
        return (-tip, *others)

    return rank_backwards


@_of_order((gba_auction, "share_out"), kills=("oracle",), cause="execution", shows="TimerFired", is_of_timer=True)
def slices_for_all(share_out: Any) -> Any:
    """Each actor's slice is the whole budget, so that the greatest bidder takes it all."""
    return lambda budget, weights: dict.fromkeys(share_out(budget, weights), budget)


@_of_auction(
    (gba_auction, "has_room"),
    (gba_auction.GbaAuction, "guarantees"),
    kills=("budgets", "oracle"),
    needs=(*IN_AUCTION, *RIVALS, "chain.timers.lane_timer_cycles=5_000"),
    shows="TimerFired",
    is_of_timer=True,
)
def budget_exceeded_by_the_last(has_room: Any, guarantees: Any) -> Any:
    """The hard cap of the budget is read as the literal one."""

    def guarantee_less(policy: Any, own: Any) -> Any:
        # Else the block's own guard would stop the validator before any check sees it.
        return dataclasses.replace(guarantees(policy, own), overshoots=True)

    return lambda *numbers, **_reading: has_room(*numbers, reading="literal"), guarantee_less


@_of_auction(
    (gba_auction, "next_to_ask"),
    kills=("oracle",),
    needs=(*IN_AUCTION, *RIVALS, FEW_ASKS),
    cause="order",
    shows=ASKED,
)
def one_ask_too_many(next_to_ask: Any) -> Any:
    """A block asks one agent more than it may."""
    return lambda live, cursor, most, **rest: next_to_ask(live, cursor, most + 1, **rest)


@_of_auction(
    (gba_auction, "next_to_ask"),
    kills=("oracle",),
    needs=(*IN_AUCTION, *RIVALS, FEW_ASKS),
    shows=f"{ASKED}|auction cursor",
)
def asking_never_resumed(next_to_ask: Any) -> Any:
    """Every block asks from the first timer on, so that failing agents at the head keep others waiting."""
    return lambda live, _cursor, most, **rest: next_to_ask(live, None, most, **rest)


@_of_auction(
    (gba_auction, "next_to_ask"), kills=("oracle",), needs=(*IN_AUCTION, *RIVALS, BROKE, FEW_ASKS), shows="auction"
)
def asks_for_the_insolvent(next_to_ask: Any) -> Any:
    """Timers that their payers cannot cover at any bid use up the asks of a block."""

    def ask_for_all(*given: Any, **rest: Any) -> Any:
        rest["config"] = msgspec.structs.replace(rest["config"], max_cells_per_fire=0)
        rest["basefees"] = rest["basefees"].__class__(0, 0)
        return next_to_ask(*given, **rest)

    return ask_for_all


@_of_auction(
    (gba_weights, "score_of"),
    kills=("oracle",),
    needs=(*IN_AUCTION, *RIVALS, FAILING),
    shows="auction weight",
)
def failures_score_as_success(score_of: Any) -> Any:
    """A fire that reverts counts in an actor's score as one that ended well."""
    return lambda tally, **rest: score_of(msgspec.structs.replace(tally, succeeded=tally.fires), **rest)


@_of_auction(
    (AuctionWeights, "_take_tallies"),
    kills=("oracle",),
    needs=(*IN_AUCTION, *RIVALS),
    shows="auction (weight|books|tally|actor)",
)
def last_actor_never_scored(take_tallies: Any) -> Any:
    """The rollover of an epoch leaves the weight of its last actor as it was."""
    return lambda weights: take_tallies(weights)[:-1]


@mutant(
    (gba_weights, "step_weight"),
    area="scheduler",
    kills=("equal-roots",),
    cause="execution",
    needs=(*IN_AUCTION, *RIVALS),
    shows="auction weight",
)
def scores_in_floats(step_weight: Any) -> Any:
    """A weight is averaged in floats."""

    def step_in_floats(weight: Any, score: Any, rules: Any, **rest: Any) -> Any:
        share = float(rules.ema_lambda)
        moved = (1 - share) * float(weight) + share * float(score)
        exact = step_weight(weight, score, rules, **rest)
        is_free = exact == (1 - rules.ema_lambda) * weight + rules.ema_lambda * score
        return exact.__class__(round(moved, 5)) if is_free else exact

    return step_in_floats
