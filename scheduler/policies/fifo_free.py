"""The policy `fifo-free`: the older CIP-5, in which a timer costs nothing when it fires and never expires (K-3).

It is `fifo` at a price of zero: nobody is too poor for a fire, nothing is charged or burned, and since no timer ever
dies the GC lane has nothing to do. Order, lane and gas limits are those of `fifo`.
"""

from typing import ClassVar, Final, final

from scheduler.lane import Lane
from scheduler.policies.fifo import Fifo
from scheduler.tables import Ledger, Runner, TimerTables
from scheduler.types import Basefees, BlockPhase, Moment, PhaseResult, TimerConfig

FREE: Final = Basefees(0, 0)
"""What a cycle and a cell of a fire cost."""


@final
class FifoFree:
    """First in, first out, without a fee at the fire and without expiry (CIP-5, sections 3 to 6)."""

    name: ClassVar[str] = "fifo-free"
    has_ttl: ClassVar[bool] = False
    default_config: ClassVar[TimerConfig] = TimerConfig(schedule_cycles=1_000, cancel_cycles=500)

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
        """Run the timer phase of a block as `fifo` does, with nothing to pay."""
        return Fifo().run_timers(moment=moment, config=config, basefees=FREE, tables=tables, ledger=ledger, run=run)
