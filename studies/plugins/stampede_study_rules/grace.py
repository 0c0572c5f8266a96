"""The policies `fifo-grace` and `eip1559-grace`, without oracle: after an outage, values come first and timers later.

A block whose slot is more than `gap_slots` after its parent's begins a grace of `grace_blocks` blocks, itself included.
In a grace no timer fires, as if governance had paused the execution lane: transactions run, dead timers are removed,
and the lane's basefee falls. A further gap begins a new grace.
"""

from dataclasses import replace
from typing import Annotated, Any, ClassVar, Final

import msgspec

from scheduler.errors import InvalidInput
from scheduler.lane import LaneConfig
from scheduler.lane_state import open_lane
from scheduler.policies.eip1559 import Eip1559, Eip1559InBlock
from scheduler.policies.fifo import Fifo, FifoInBlock
from scheduler.policies.policy import BlockContext, Guarantees, PolicyInBlock
from scheduler.tables import StateTable
from scheduler.types import MAX_U63, BlockPhase, Parameters, PhaseResult, means

GapSlots = Annotated[int, means("The greatest distance of a block's slot to its parent's without a grace.")]
GraceBlocks = Annotated[int, means("Blocks of a grace, in which no timer fires.")]


class GraceConfig(Parameters, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The outages that begin a grace, and its length."""

    gap_slots: GapSlots = 60
    grace_blocks: GraceBlocks = 10

    def __post_init__(self) -> None:
        """Refuse a number out of its range; raises InvalidInput."""
        for name in self.__struct_fields__:
            if not 0 <= getattr(self, name) <= MAX_U63:
                raise InvalidInput(name, f"{getattr(self, name)} is out of range")

    @classmethod
    def key_of(cls, field: str) -> str:
        """Return the key by which governance knows a field."""
        return f"system:grace:{field}"


class LaneGraceConfig(LaneConfig, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The lane's parameters, the outages that begin a grace, and its length."""

    gap_slots: GapSlots = 60
    grace_blocks: GraceBlocks = 10


class Grace(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The height of the last block of a grace."""

    until: int


GRACE_CONFIG: Final = StateTable(0xF4, "grace configuration", GraceConfig)
GRACE: Final = StateTable(0xF5, "grace", Grace)
LANE_GRACE_CONFIG: Final = StateTable(0xF6, "lane configuration with a grace", LaneGraceConfig)
LANE_GRACE: Final = StateTable(0xF7, "grace of the lane", Grace)


def begun(block: BlockContext) -> Grace | None:
    """Return the grace that a block begins; None if its parent is near."""
    own, moment = block.own, block.moment
    assert isinstance(own, GraceConfig | LaneGraceConfig), "genesis writes the configuration"
    is_far = moment.slot - moment.parent_slot > own.gap_slots
    return Grace(moment.height + own.grace_blocks - 1) if is_far else None


def paused_in(block: BlockContext, table: StateTable[Grace]) -> BlockContext:
    """Return a block as the policy sees it: in a grace its execution lane is paused."""
    assert block.state is not None, "a chain hands its tables in"
    grace = begun(block) or block.state.get(table, table.key())
    if grace is None or block.moment.height > grace.until:
        return block
    return replace(block, config=msgspec.structs.replace(block.config, execution_lane_paused=True))


class GraceInBlock(PolicyInBlock):
    """A block that may begin a grace."""

    grace: ClassVar[StateTable[Grace]]

    def run(self, phase: BlockPhase) -> PhaseResult:
        """Note the grace that begins, and run the timer phase."""
        grace, state = begun(self.block), self.block.state
        if grace is not None and state is not None:
            state.set(self.grace.key(), grace)
        return super().run(phase)


class FifoGrace(Fifo):
    """`fifo` with a grace after an outage; without oracle."""

    name: ClassVar[str] = "fifo-grace"
    config_type: ClassVar[type[Parameters] | None] = GraceConfig
    config_table: ClassVar[StateTable[Any] | None] = GRACE_CONFIG
    tables: ClassVar[tuple[StateTable[Any], ...]] = (GRACE,)

    def guarantees(self, own: Parameters | None) -> Guarantees:
        """Return those of `fifo`, except that a grace leaves the lane empty."""
        return replace(super().guarantees(own), fills_lane=False)

    def open(self, block: BlockContext) -> PolicyInBlock:
        """Return the policy in a block."""
        return FifoGraceInBlock(paused_in(block, GRACE))


class FifoGraceInBlock(GraceInBlock, FifoInBlock):
    """One block of `fifo-grace`."""

    grace = GRACE


class Eip1559Grace(Eip1559):
    """`eip1559` with a grace after an outage; without oracle."""

    name: ClassVar[str] = "eip1559-grace"
    config_type: ClassVar[type[Parameters] | None] = LaneGraceConfig
    config_table: ClassVar[StateTable[Any] | None] = LANE_GRACE_CONFIG
    tables: ClassVar[tuple[StateTable[Any], ...]] = (*Eip1559.tables, LANE_GRACE)

    def guarantees(self, own: Parameters | None) -> Guarantees:
        """Return those of `eip1559`, except that a grace leaves the lane empty."""
        return replace(super().guarantees(own), fills_lane=False)

    def open(self, block: BlockContext) -> PolicyInBlock:
        """Return the policy in a block."""
        paused = paused_in(block, LANE_GRACE)
        return Eip1559GraceInBlock(paused, open_lane(paused))


class Eip1559GraceInBlock(GraceInBlock, Eip1559InBlock):
    """One block of `eip1559-grace`."""

    grace = LANE_GRACE
