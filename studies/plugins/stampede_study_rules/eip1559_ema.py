"""The policy `eip1559-ema`, without oracle: weights by a smoothed median (CIP-1, section 8, limitation 2).

The document proposes "EMA-smoothing the median". Each block moves the smoothed median by the share `smoothing` of its
distance to the median of recent fires, and the weights use the result. The first block begins with the median that it
finds. With `smoothing = [1, 1]` blocks fire as under `eip1559`.
"""

from typing import Annotated, Any, ClassVar, Final

import msgspec

from scheduler.errors import InvalidInput
from scheduler.fairness import Weights, weights_at
from scheduler.fee_market import doubled_median
from scheduler.lane import Lane, LaneConfig
from scheduler.lane_state import open_lane
from scheduler.policies.eip1559 import Eip1559, Eip1559InBlock
from scheduler.policies.policy import BlockContext, PolicyInBlock
from scheduler.tables import StateTable
from scheduler.types import Parameters, Ratio, means

PARTS: Final = 1_000_000
"""Parts of 1 in which the smoothed median counts: the denominators of exact fractions would grow in every block."""


class EmaConfig(LaneConfig, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The lane's parameters, and the share by which a block moves the median."""

    smoothing: Annotated[
        Ratio, means("Share of its distance to the median by which a block moves the smoothed one.")
    ] = (1, 50)

    def __post_init__(self) -> None:
        """Refuse a share that is not above 0 and at most 1; raises InvalidInput."""
        super().__post_init__()
        over, under = self.smoothing
        if not 0 < over <= under:
            raise InvalidInput("smoothing", f"{self.smoothing} must be above 0 and at most 1")


class SmoothedMedian(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Twice the smoothed median of a block, in millionths."""

    doubled: int


EMA_CONFIG: Final = StateTable(0xF0, "smoothed lane configuration", EmaConfig)
SMOOTHED: Final = StateTable(0xF1, "smoothed median", SmoothedMedian)


class Eip1559Ema(Eip1559):
    """`eip1559` whose weights follow a smoothed median; without oracle."""

    name: ClassVar[str] = "eip1559-ema"
    config_type: ClassVar[type[Parameters] | None] = EmaConfig
    config_table: ClassVar[StateTable[Any] | None] = EMA_CONFIG
    tables: ClassVar[tuple[StateTable[Any], ...]] = (*Eip1559.tables, SMOOTHED)

    def open(self, block: BlockContext) -> PolicyInBlock:
        """Return the policy in a block."""
        return Eip1559EmaInBlock(block, open_lane(block))


class Eip1559EmaInBlock(Eip1559InBlock):
    """One block of the policy."""

    def weights(self, lane: Lane) -> Weights:
        """Move the smoothed median once, and return the weights that it gives."""
        own, state = self.block.own, self.block.state
        assert isinstance(own, EmaConfig), "genesis writes the configuration"
        assert state is not None, "a chain hands its tables in"
        found = doubled_median(lane.tables.fire_counts(), own.median) * PARTS
        before = state.get(SMOOTHED, SMOOTHED.key()) or SmoothedMedian(found)
        over, under = own.smoothing
        doubled = before.doubled + (found - before.doubled) * over // under
        state.set(SMOOTHED.key(), SmoothedMedian(doubled))
        return weights_at(lane, doubled, PARTS)
