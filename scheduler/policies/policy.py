"""What a policy is: the phases of a block in their order, and the rules of the timer phase."""

from typing import ClassVar, Protocol

from scheduler.lane import Lane
from scheduler.tables import Ledger, Runner, TimerTables
from scheduler.types import Basefees, BlockPhase, Moment, Parameters, PhaseResult, TimerConfig


class Policy(Protocol):
    """One way to deliver timers; genesis names it."""

    name: ClassVar[str]
    has_ttl: ClassVar[bool]
    """Whether a timer can expire."""
    has_budget: ClassVar[bool]
    """Whether the fires of a block share a budget of cycles."""
    default_config: ClassVar[TimerConfig]
    """The configuration of a chain that states none."""
    config_type: ClassVar[type[Parameters] | None]
    """The parameters of the policy's own, beside the timers'."""
    follows: ClassVar[tuple[str, ...]]
    """The policies that it can be activated after, in the midst of a chain."""

    def phases(self) -> tuple[BlockPhase, ...]:
        """Return the steps of a block in order."""

    def run_timers(
        self,
        *,
        moment: Moment,
        config: TimerConfig,
        basefees: Basefees,
        tables: TimerTables,
        ledger: Ledger,
        run: Runner,
        lane: Lane | None = None,
    ) -> PhaseResult:
        """Run the timer phase of a block; `lane` is there where the policy has one."""
