"""The policy `fifo-free`: the older CIP-5, in which everything due fires, for nothing, and never expires (K-3, K-33).

Nobody is too poor for a fire, nothing is charged or burned, and since no timer ever dies the GC lane has nothing to do.
There is no budget either: a block fires whatever is due, in order, however long that takes.
"""

from typing import ClassVar, Final, final

from scheduler.events import DeferralReason
from scheduler.lane import Lane
from scheduler.policies.fifo import Fifo, newly_due
from scheduler.tables import Ledger, Runner, TimerTables
from scheduler.tally import Tally
from scheduler.types import Basefees, BlockPhase, Moment, Parameters, PhaseResult, TimerConfig

FREE: Final = Basefees(0, 0)
"""What a cycle and a cell of a fire cost."""


@final
class FifoFree:
    """First in, first out, all in the block that they are due in, without fee and expiry (CIP-5, sections 3 to 6)."""

    name: ClassVar[str] = "fifo-free"
    has_ttl: ClassVar[bool] = False
    has_budget: ClassVar[bool] = False
    default_config: ClassVar[TimerConfig] = TimerConfig(schedule_cycles=1_000, cancel_cycles=500)
    config_type: ClassVar[type[Parameters] | None] = None
    follows: ClassVar[tuple[str, ...]] = ()

    def phases(self) -> tuple[BlockPhase, ...]:
        """Return the steps of a block in order: timers come after transactions (K-1)."""
        return Fifo().phases()

    def run_timers(
        self,
        *,
        moment: Moment,
        config: TimerConfig,
        basefees: Basefees,  # noqa: ARG002 - transactions pay them, fires do not
        tables: TimerTables,
        ledger: Ledger,
        run: Runner,
        lane: Lane | None = None,  # noqa: ARG002 - the policies' one form
    ) -> PhaseResult:
        """Run the timer phase of a block: fire everything due, in order, unless the lane is paused."""
        tally = Tally(moment, config, FREE, tables, ledger, run)
        waiting = tables.collect(moment.now)
        if config.execution_lane_paused:
            first = newly_due(tally, waiting, DeferralReason.LANE_FULL)
            tally.report_deferred(reversed(first), ((DeferralReason.LANE_FULL, len(waiting)),))
            return tally.result(waiting_live=len(waiting), waiting_dead=0)
        for timer in waiting:
            tally.fire(timer, 0)
        return tally.result(waiting_live=0, waiting_dead=0)
