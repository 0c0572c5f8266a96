"""Names for a policy of a plug-in (docs/extend/policy.md)."""

from scheduler import (
    Basefees,
    BlockContext,
    BlockPhase,
    Carry,
    DeferralReason,
    Exit,
    Guarantees,
    Parameters,
    PhaseResult,
    Policy,
    PolicyInBlock,
    Refusal,
    ScheduleRequest,
    SchedulingContext,
    StateTable,
    Timer,
    TimerConfig,
)
from scheduler.lifecycle import Admission
from scheduler.settlement import max_cost
from scheduler.tally import Tally

__all__ = [
    "Admission",
    "Basefees",
    "BlockContext",
    "BlockPhase",
    "Carry",
    "DeferralReason",
    "Exit",
    "Guarantees",
    "Parameters",
    "PhaseResult",
    "Policy",
    "PolicyInBlock",
    "Refusal",
    "ScheduleRequest",
    "SchedulingContext",
    "StateTable",
    "Tally",
    "Timer",
    "TimerConfig",
    "max_cost",
]
