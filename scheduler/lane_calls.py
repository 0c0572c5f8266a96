"""Calls about timers in the lane, and of the agents that bid for them: fees are quoted, `bid` is withdrawn (CIP-1)."""

from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from scheduler.bidding import Bid, FeeParams, GbaContext, GbaFailure
from scheduler.errors import TimerArgDeprecated
from scheduler.lane import Lane
from scheduler.lifecycle import Admission, ScheduleRequest, SchedulingContext, admit
from scheduler.quotes import freeze_quote
from scheduler.rules import CallRule, CoveragePoint
from scheduler.tables import AgentCall, TimerTables
from scheduler.types import MAX_U63, Moment, Quote, Timer, TimerConfig

_TIERS: Final = {
    "economy": CallRule.TIER_ECONOMY,
    "standard": CallRule.TIER_STANDARD,
    "fast": CallRule.TIER_FAST,
    "urgent": CallRule.TIER_URGENT,
}

AGENT_HANDLER: Final = "get_gas_bid"
"""The handler of a gas bidding agent: getGasBid of CIP-1, section 7."""


def context_in_lane(lane: Lane, timers: TimerTables, moment: Moment, config: TimerConfig) -> SchedulingContext:
    """Return the rules for calls about timers in the lane: a lower ceiling, and fees that are quoted."""

    def quote(fees: Bid) -> tuple[Quote, int | None]:
        return freeze_quote(fees, lane.prices, lane.config)

    return SchedulingContext(timers, moment, config, ceiling=lane.gas_limit_ceiling(config), quote=quote)


def admit_in_lane(lane: Lane, context: SchedulingContext, request: ScheduleRequest) -> Admission:
    """Check a timer that is to come into the lane; raises Rejected."""
    if request.bid is not None and lane.is_bid_deprecated(context.moment.height):
        raise TimerArgDeprecated
    admission = admit(context, request)
    assert admission.timer.quote is not None, "fees are quoted in the lane"
    cells = _cells_of(lane, request, admission.timer.quote)
    return msgspec.structs.replace(admission, reached=(*admission.reached, *cells))


def _cells_of(lane: Lane, request: ScheduleRequest, quote: Quote) -> Iterator[CoveragePoint]:
    """Yield the coverage points of the fees that a call states and of the quote that it gets."""
    bid = request.fees
    fee, tip = bid.max_fee_per_cycle, bid.max_priority_fee_per_cycle
    if request.bid is not None:
        yield CallRule.BID_IGNORED
    if bid.priority_tier_hint is not None:
        yield CallRule.TIP_AND_TIER if tip is not None else _TIERS[bid.priority_tier_hint]
    if quote.gba is not None:
        yield CallRule.AGENT_FOR_BOTH if quote.max_fee_per_cycle is None else CallRule.AGENT_FOR_TIP
    elif bid.gba is not None:
        yield CallRule.AGENT_UNNEEDED
    elif quote.max_fee_per_cycle is None or quote.max_priority_fee_per_cycle is None:
        yield CallRule.FEES_OPEN
    elif bid.priority_tier_hint is None and tip is None and fee is None:
        yield CallRule.FEES_UNSTATED
    elif fee is None:
        yield CallRule.FEE_DEFAULT_FROZEN
    if fee is not None and fee == lane.price:
        yield CallRule.FEE_AT_PRICE


def ask_agent(
    ask: Callable[[AgentCall], bytes | GbaFailure], cycles: int, timer: Timer, context: GbaContext
) -> FeeParams | GbaFailure:
    """Ask the agent that a timer names what it bids (CIP-1, section 7)."""
    assert timer.quote is not None, "a timer without a quote names no agent"
    assert timer.quote.gba is not None, "only agents are asked"
    reported = msgspec.msgpack.encode([min(value, MAX_U63) for value in msgspec.structs.astuple(context)])
    return ask_for_bid(ask, AgentCall(timer.quote.gba, timer.actor, AGENT_HANDLER, reported, cycles))


def ask_for_bid(ask: Callable[[AgentCall], bytes | GbaFailure], call: AgentCall) -> FeeParams | GbaFailure:
    """Return an agent's bid as it stands in its answer, or why there is none."""
    answer = ask(call)
    if isinstance(answer, GbaFailure):
        return answer
    try:
        return msgspec.msgpack.decode(answer, type=FeeParams)
    except (msgspec.MsgspecError, UnicodeError):
        return GbaFailure.ABSURD
