"""The policy `fifo-free`: the older CIP-5, in which everything due fires, for nothing, and never expires (K-3, K-33).

No payer is too poor for a fire, and nothing is charged or burned. Since no timer ever dies, the GC lane has nothing to
do. There is no budget either: a block fires whatever is due, in order, however long that takes.
"""

from typing import Annotated, Any, ClassVar, Final

from scheduler.errors import InvalidInput, TooManyCalls
from scheduler.events import DeferralReason
from scheduler.lifecycle import SchedulingContext
from scheduler.policies.fifo import newly_due
from scheduler.policies.policy import BlockContext, Carry, Guarantees, Policy, PolicyInBlock, Refusal
from scheduler.rules import CallRule, PhaseRule
from scheduler.tables import StateTable
from scheduler.tally import Tally
from scheduler.types import MAX_U63, Basefees, BlockPhase, Parameters, PhaseResult, TimerConfig, means

FREE: Final = Basefees(0, 0)
"""The price of a cycle and of a cell of a fire."""


class FreeConfig(Parameters, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The bounds of the messages that one fire sends, read once per block (CIP-5, section 6.2; K-39)."""

    deferred_calls_per_fire_max: Annotated[int, means("Messages that one fire may send.")] = 2
    deferred_call_cycles_max: Annotated[int, means("Cycles that the handler of such a message may use.")] = 100_000

    def __post_init__(self) -> None:
        """Refuse what no chain can run on.

        Raises:
            InvalidInput: A number is negative or above 63 bits.
        """
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if not 0 <= value <= MAX_U63:
                raise InvalidInput(name, f"{value} is not within 0..{MAX_U63}")

    @classmethod
    def key_of(cls, field: str) -> str:
        """Return the key by which governance knows a field."""
        return "system:cip5:" + field


FREE_CONFIG: Final = StateTable(0x29, "free configuration", FreeConfig)


class FifoFree(Policy):
    """First in, first out, all in the block that they are due in, without fee and expiry (CIP-5, sections 3 to 6)."""

    name: ClassVar[str] = "fifo-free"
    has_ttl: ClassVar[bool] = False
    has_budget: ClassVar[bool] = False
    default_config: ClassVar[TimerConfig] = TimerConfig(schedule_cycles=1_000, cancel_cycles=500)
    config_type: ClassVar[type[Parameters] | None] = FreeConfig
    config_table: ClassVar[StateTable[Any] | None] = FREE_CONFIG

    def carry(self, previous: Policy) -> Carry | Refusal:
        """Refuse timers that may expire."""
        if previous.has_ttl:
            return Refusal(f"pending timers of {previous.name} may expire, and would fire after that for nothing")
        return super().carry(previous)

    def guarantees(self, own: Parameters | None) -> Guarantees:
        """Return what a lane without a budget promises: no timer is dead, and none waits but for a pause."""
        del own
        return Guarantees(in_order=True, clears_dead=True, fills_lane=True, caps_by_limit=True)

    def open(self, block: BlockContext) -> PolicyInBlock:
        """Return the policy in a block."""
        context = SchedulingContext(
            block.timers, block.moment, block.config, has_ttl=self.has_ttl, ceiling=block.config.max_cycles_per_fire
        )
        return FifoFreeInBlock(block, context)


class FifoFreeInBlock(PolicyInBlock):
    """One block of the policy."""

    def check_call(self, sent: int, cycles: int) -> None:
        """Check a message of a fire: no more of them than the record allows, and none with more cycles (K-39).

        Raises:
            TooManyCalls: It is one too many, or has too many cycles.
        """
        own = self.block.own
        assert isinstance(own, FreeConfig), "genesis writes the free configuration"
        if sent >= own.deferred_calls_per_fire_max:
            raise TooManyCalls(f"a fire may send {own.deferred_calls_per_fire_max} messages")
        if cycles > own.deferred_call_cycles_max:
            raise TooManyCalls(f"{cycles} cycles exceed the {own.deferred_call_cycles_max} of a message")
        if sent + 1 == own.deferred_calls_per_fire_max:
            self.reached.append(CallRule.LAST_CALL_SENT)

    def run(self, phase: BlockPhase) -> PhaseResult:
        """Run the timer phase: fire everything due, in order, unless the lane is paused."""
        assert phase is BlockPhase.TIMERS, phase
        tally = Tally.of(self, FREE)
        waiting = self.block.timers.collect(self.block.moment.now)
        if self.block.config.execution_lane_paused:
            first = newly_due(tally, waiting, DeferralReason.LANE_FULL)
            tally.report_deferred(reversed(first), ((DeferralReason.LANE_FULL, len(waiting)),))
            return tally.result(waiting_live=len(waiting), waiting_dead=0)
        for timer in waiting:
            tally.fire(timer, 0)
        if waiting:
            tally.reached.append(PhaseRule.FIRED_FREE)
        return tally.result(waiting_live=0, waiting_dead=0)
