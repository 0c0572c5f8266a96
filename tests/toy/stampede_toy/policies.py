"""A toy policy."""

from typing import ClassVar

from stampede_testbed.plugin.policies import (
    Basefees,
    BlockContext,
    BlockPhase,
    Guarantees,
    Parameters,
    PhaseResult,
    Policy,
    PolicyInBlock,
    SchedulingContext,
    Tally,
)


class Prompt(Policy):
    """Timers fire before the transactions of the block that they are due in, without fee and expiry."""

    name: ClassVar[str] = "prompt"
    has_ttl: ClassVar[bool] = False
    has_budget: ClassVar[bool] = False

    def guarantees(self, own: Parameters | None) -> Guarantees:
        """Return what the checks may rely on."""
        del own
        return Guarantees(in_order=True)

    def phases(self, own: Parameters | None) -> tuple[BlockPhase, ...]:
        """Return the steps of the block in order."""
        del own
        return (BlockPhase.TIMERS, BlockPhase.TRANSACTIONS, BlockPhase.END_OF_BLOCK)

    def open(self, block: BlockContext) -> PolicyInBlock:
        """Return the policy in a block."""
        ceiling = block.config.max_cycles_per_fire
        context = SchedulingContext(block.timers, block.moment, block.config, has_ttl=self.has_ttl, ceiling=ceiling)
        return PromptInBlock(block, context)


class PromptInBlock(PolicyInBlock):
    """One block of the policy."""

    def run(self, phase: BlockPhase) -> PhaseResult:
        """Fire everything that is due."""
        assert phase is BlockPhase.TIMERS, phase
        tally = Tally.of(self, Basefees(0, 0))
        for timer in self.block.timers.collect(self.block.moment.now):
            tally.fire(timer, 0)
        return tally.result(waiting_live=0, waiting_dead=0)
