"""Variants at the edges of the rules: agents, governance by key, refusals that nobody should need."""

from typing import Any, Final

import msgspec

from checker.mutants.mutant import Swap, Variant, swap
from checker.mutants.phases import IN_LANE
from scheduler import bidding, lifecycle, tally
from scheduler.errors import UnknownTimer
from scheduler.policies import eip1559
from validators.actors import Host
from validators.execution.heights import BranchHeights

# -- the timer lane ----------------------------------------------------------------------------


def _hide_balance() -> list[Swap]:
    def make(context_of: Any) -> Any:
        return lambda timer, **rest: context_of(timer, **(rest | {"balance": 0}))

    return [swap(eip1559, "context_of", make)]


def _let_agents_write() -> list[Swap]:
    return [swap(Host, "_require_writable", lambda _require: lambda _host: None)]


def _round_tiers_up() -> list[Swap]:
    def make(tip_of_tier: Any) -> Any:
        return lambda tier, p50_tip, config: tip_of_tier(tier, p50_tip, config) + 1

    return [swap(bidding, "tip_of_tier", make)]


def _keep_profile() -> list[Swap]:
    def make(settle: Any) -> Any:
        return lambda heights, _profile, record_of: settle(heights, heights.profile, record_of)

    return [swap(BranchHeights, "settle", make)]


def _forgive_delays() -> list[Swap]:
    def make(cancel_for_delay: Any) -> Any:
        return lambda self, timer, delays, _basefee: cancel_for_delay(self, timer, delays, 0)

    return [swap(tally.Tally, "cancel_for_delay", make)]


# -- what is refused ---------------------------------------------------------------------------


def _extend_for_ever() -> list[Swap]:
    def make(move_expiry: Any) -> Any:
        def move_as_asked(desk: Any, timer: Any, expires_at: int) -> int:
            move_expiry(desk, timer, expires_at)
            desk.tables.replace(msgspec.structs.replace(timer, expires_at=expires_at))
            return expires_at

        return move_as_asked

    return [swap(lifecycle, "move_expiry", make)]


def _own_everything() -> list[Swap]:
    def owned(desk: Any, _caller: bytes, timer_id: bytes) -> Any:
        timer = desk.tables.timer(timer_id)
        if timer is None:
            raise UnknownTimer(timer_id)
        return timer

    return [(lifecycle, "_owned", owned)]


EDGES: Final = (
    Variant(
        name="agent-told-of-no-balance",
        what="an agent is told that its timer's actor has nothing",
        area="scheduler",
        caught_by=("oracle",),
        swaps=_hide_balance,
        cause="execution",
        on_all=True,
    ),
    Variant(
        name="agent-may-write",
        what="an agent that is asked for a bid may write, pay and schedule",
        area="execution",
        caught_by=("oracle",),
        swaps=_let_agents_write,
        cause="execution",
        on_all=True,
        needs=(*IN_LANE, 'workload.scribes={kind="heartbeats", actors=2, agent="write", may_be_idle=true}'),
    ),
    Variant(
        name="tier-tip-one-more",
        what="a tier hint stands for a tip of one unit more",
        area="scheduler",
        caught_by=("oracle",),
        swaps=_round_tiers_up,
        cause="execution",
        on_all=True,
    ),
    Variant(
        name="tiers-of-the-old-profile",
        what="the calendar queue keeps its sizes when governance changes them",
        area="execution",
        caught_by=("oracle", "equal-roots", "agreement"),
        swaps=_keep_profile,
        cause="execution",
        on_all=True,
    ),
    Variant(
        name="delay-without-penalty",
        what="a timer that is cancelled for its delays costs its payer nothing",
        area="scheduler",
        caught_by=("oracle",),
        swaps=_forgive_delays,
        cause="execution",
        on_all=True,
    ),
    Variant(
        name="extension-not-clamped",
        what="an owner extends a timer beyond the longest time to live",
        area="scheduler",
        caught_by=("oracle",),
        swaps=_extend_for_ever,
        cause="execution",
        on_all=True,
    ),
    Variant(
        name="timers-of-others",
        what="whoever knows a timer's identifier may cancel and extend it, collected or not",
        area="scheduler",
        caught_by=("oracle", "timer-delivery", "agreement"),
        swaps=_own_everything,
        cause="execution",
        on_all=True,
    ),
)
"""Variants of what only odd transactions and parameters reach."""
