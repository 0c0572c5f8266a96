"""Calls about timers in the lane, and of the agents that bid for them: fees are quoted, `bid` is withdrawn (CIP-1)."""

from collections.abc import Callable
from typing import Final

import msgspec

from scheduler.bidding import Bid, FeeParams, GbaContext, GbaFailure
from scheduler.errors import TimerArgDeprecated
from scheduler.lane import Lane
from scheduler.lifecycle import Admission, ScheduleRequest, SchedulingContext, admit
from scheduler.quotes import freeze_quote
from scheduler.tables import AgentCall, TimerTables
from scheduler.types import MAX_U63, Moment, Quote, Timer, TimerConfig

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
    return admit(context, request)


def ask_agent(
    ask: Callable[[AgentCall], bytes | GbaFailure], cycles: int, timer: Timer, context: GbaContext
) -> FeeParams | GbaFailure:
    """Ask the agent that a timer names what it bids (CIP-1, section 7)."""
    assert timer.quote is not None, "a timer without a quote names no agent"
    assert timer.quote.gba is not None, "only agents are asked"
    reported = msgspec.msgpack.encode([min(value, MAX_U63) for value in msgspec.structs.astuple(context)])
    answer = ask(AgentCall(timer.quote.gba, timer.actor, AGENT_HANDLER, reported, cycles))
    if isinstance(answer, GbaFailure):
        return answer
    try:
        return msgspec.msgpack.decode(answer, type=FeeParams)
    except (msgspec.MsgspecError, UnicodeError):
        return GbaFailure.ABSURD
