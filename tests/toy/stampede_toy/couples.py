"""The policy `couples`: at most a fixed number of timers a block, in waiting order, for nothing and for ever."""

from typing import Any, ClassVar, Final

import msgspec

from stampede_testbed.plugin.policies import (
    Basefees,
    BlockContext,
    BlockPhase,
    DeferralReason,
    Guarantees,
    Parameters,
    PhaseResult,
    Policy,
    PolicyInBlock,
    SchedulingContext,
    StateTable,
    Tally,
)


class CouplesConfig(Parameters, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The policy's parameters; governance knows them as `couples.fires_per_block` and so on."""

    fires_per_block: int = 2

    @classmethod
    def key_of(cls, field: str) -> str:
        """Return the key by which governance knows a field."""
        return f"couples.{field}"


class CouplesFired(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The number of timers that ever fired under the policy."""

    count: int


CONFIG: Final = StateTable(0x80, "couples parameters", CouplesConfig)
FIRED: Final = StateTable(0x81, "couples fired", CouplesFired)


class Couples(Policy):
    """Timers come out two by two."""

    name: ClassVar[str] = "couples"
    has_ttl: ClassVar[bool] = False
    has_budget: ClassVar[bool] = False
    config_type: ClassVar[type[Parameters] | None] = CouplesConfig
    config_table: ClassVar[StateTable[Any] | None] = CONFIG
    tables: ClassVar[tuple[StateTable[Any], ...]] = (FIRED,)

    def guarantees(self, own: Parameters | None) -> Guarantees:
        """Return what the checks may rely on: fires are in order, and the lane is not filled."""
        del own
        return Guarantees(in_order=True)

    def open(self, block: BlockContext) -> PolicyInBlock:
        """Return the policy in a block."""
        return CouplesInBlock(block, SchedulingContext(block.timers, block.moment, block.config, has_ttl=False))


class CouplesInBlock(PolicyInBlock):
    """One block of the policy."""

    def run(self, phase: BlockPhase) -> PhaseResult:
        """Fire the first timers that wait, and tell of those that are held back."""
        del phase
        block, tally = self.block, Tally.of(self, Basefees(0, 0))
        waiting = block.timers.collect(block.moment.now)
        couple, held = waiting[: block.own.fires_per_block], waiting[block.own.fires_per_block :]
        for timer in couple:
            tally.fire(timer, 0)
        before = block.state.get(FIRED, FIRED.key()) or CouplesFired(0)
        block.state.set(FIRED.key(), CouplesFired(before.count + len(couple)))
        first = [(timer, DeferralReason.LANE_FULL) for timer in held if timer.due > block.moment.parent_now]
        tally.report_deferred(first, ((DeferralReason.LANE_FULL, len(held)),))
        return tally.result(waiting_live=len(held), waiting_dead=0)
