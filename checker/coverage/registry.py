"""All coverage points, by the rooms that declare them."""

from collections.abc import Mapping
from typing import Final

from checker.coverage.engines import COVERED
from checker.coverage.refusals import ROOMS_OF_REFUSALS
from scheduler import SWARM, AptosRule, AuctionRule, BiasRule, CallRule, CoveragePoint, LaneRule, PhaseRule, WatchRule
from validators.execution.rules import BlockRule
from validators.mempool.rules import PoolRule
from validators.state.rules import StateRule
from validators.storage.rules import DiskRule
from validators.sync.rules import SyncRule

ROOMS: Final[Mapping[str, type[CoveragePoint]]] = {
    "calls about timers": CallRule,
    "the timer phase": PhaseRule,
    "the timer lane": LaneRule,
    "the GBA auction": AuctionRule,
    "the bias auction": BiasRule,
    "state-triggered timers": WatchRule,
    "scheduled transactions": AptosRule,
    "blocks": BlockRule,
    "state": StateRule,
    "mempool": PoolRule,
    "catching up": SyncRule,
    "disks": DiskRule,
    **ROOMS_OF_REFUSALS,
    **{f"consensus, {name}": covered.points for name, covered in COVERED.items()},
}
"""The enum of each room, by the heading of its points."""

POINTS: Final[Mapping[str, CoveragePoint]] = {point.label: point for room in ROOMS.values() for point in room}
"""Every point by its label, in the order of the rooms."""


def promised_by(subject: str = SWARM) -> tuple[str, ...]:
    """Return the labels of the points that a scenario, or a campaign of the swarm, promises to reach."""
    return tuple(label for label, point in POINTS.items() if point.promised_by == subject)
