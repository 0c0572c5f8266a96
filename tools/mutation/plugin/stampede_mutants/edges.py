"""Mutants at the edges of the rules: agents, governance by key, refusals that are rarely needed."""

from functools import partial
from typing import Any

import msgspec

from checker.mutants.mutant import mutant
from scheduler import TimerExtended, auction, quotes, tally
from scheduler.errors import UnknownTimer
from scheduler.policies import policy
from stampede_mutants.phases import IN_LANE
from validators.actors import Host
from validators.execution.heights import BranchHeights

_scheduler_mutant = partial(mutant, area="scheduler")
_execution_mutant = partial(mutant, area="execution")


@_scheduler_mutant((auction, "context_of"), kills=("oracle",), cause="execution", on_all=True)
def agent_told_of_no_balance(context_of: Any) -> Any:
    """An agent sees a balance of nothing for its timer's actor."""
    return lambda timer, **rest: context_of(timer, **(rest | {"balance": 0}))


@_execution_mutant(
    (Host, "_require_writable"),
    kills=("oracle",),
    cause="execution",
    on_all=True,
    needs=(*IN_LANE, 'workload.scribes={kind="heartbeats", actors=2, agent="write", may_be_idle=true}'),
)
def agent_may_write(_require: Any) -> Any:
    """An agent that is asked for a bid may write, pay and schedule."""
    return lambda _host: None


@_scheduler_mutant((quotes, "tip_of_tier"), kills=("oracle",), cause="execution", on_all=True)
def tier_tip_one_more(tip_of_tier: Any) -> Any:
    """A tier hint stands for a tip of one unit more."""
    return lambda tier, p50_tip, config: tip_of_tier(tier, p50_tip, config) + 1


@_execution_mutant(
    (BranchHeights, "settle"), kills=("oracle", "equal-roots", "agreement"), cause="execution", on_all=True
)
def tiers_of_the_old_profile(settle: Any) -> Any:
    """The calendar queue keeps its sizes when governance changes them."""
    return lambda heights, _profile, record_of: settle(heights, heights.profile, record_of)


@_scheduler_mutant((tally.Tally, "cancel_for_delay"), kills=("oracle",), cause="execution", on_all=True)
def delay_without_penalty(cancel_for_delay: Any) -> Any:
    """A timer that is cancelled for its delays costs its payer nothing."""
    return lambda self, timer, delays, _basefee: cancel_for_delay(self, timer, delays, 0)


@_scheduler_mutant((policy.PolicyInBlock, "extend"), kills=("oracle",), cause="execution", on_all=True)
def extension_not_clamped(extend: Any) -> Any:
    """An owner extends a timer beyond the longest time to live."""

    def extend_as_asked(self: Any, caller: bytes, timer_id: bytes, expires_at: int) -> Any:
        extend(self, caller, timer_id, expires_at)
        timers = self.block.timers
        timers.replace(msgspec.structs.replace(timers.timer(timer_id), expires_at=expires_at))
        return TimerExtended(timer_id, expires_at)

    return extend_as_asked


@_scheduler_mutant(
    (policy, "owned_timer"), kills=("oracle", "timer-delivery", "agreement"), cause="execution", on_all=True
)
def timers_of_others(_original: Any) -> Any:
    """A timer is cancelled and extended for any caller that knows its identifier, collected or not."""

    def owned(context: Any, _caller: bytes, timer_id: bytes) -> Any:
        timer = context.tables.timer(timer_id)
        if timer is None:
            raise UnknownTimer(timer_id)
        return timer

    return owned
