"""A toy policy."""

from typing import Any, ClassVar

from scheduler.lifecycle import SchedulingContext
from scheduler.policies.policy import BlockContext, PolicyInBlock
from scheduler.tables import StateTable
from scheduler.tally import Tally
from scheduler.types import Basefees, BlockPhase, Parameters, PhaseResult, TimerConfig


class Prompt:
    """Timers fire before the transactions of the block that they are due in, without fee and expiry."""

    name: ClassVar[str] = "prompt"
    has_ttl: ClassVar[bool] = False
    has_budget: ClassVar[bool] = False
    default_config: ClassVar[TimerConfig] = TimerConfig()
    config_type: ClassVar[type[Parameters] | None] = None
    follows: ClassVar[tuple[str, ...]] = ()
    config_table: ClassVar[StateTable[Any] | None] = None
    tables: ClassVar[tuple[StateTable[Any], ...]] = ()

    def open(self, block: BlockContext) -> PolicyInBlock:
        """Return the policy in a block."""
        ceiling = block.config.max_cycles_per_fire
        context = SchedulingContext(block.timers, block.moment, block.config, has_ttl=self.has_ttl, ceiling=ceiling)
        return PromptInBlock(block, context)


class PromptInBlock(PolicyInBlock):
    """One block of the policy."""

    def phases(self) -> tuple[BlockPhase, ...]:
        """Return the steps of the block in order."""
        return (BlockPhase.TIMERS, BlockPhase.TRANSACTIONS, BlockPhase.END_OF_BLOCK)

    def run(self, phase: BlockPhase) -> PhaseResult:
        """Fire everything that is due."""
        assert phase is BlockPhase.TIMERS, phase
        tally = Tally.of(self, Basefees(0, 0))
        for timer in self.block.timers.collect(self.block.moment.now):
            tally.fire(timer, 0)
        return tally.result(waiting_live=0, waiting_dead=0)
