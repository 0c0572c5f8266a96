"""All coverage points, by the rooms that declare them."""

from collections.abc import Collection, Mapping
from typing import Final

from checker.coverage.application_points import ApplicationRule
from checker.coverage.engines import COVERED
from checker.coverage.refusals import ROOMS_OF_REFUSALS
from scheduler import SWARM, AptosRule, AuctionRule, BiasRule, CallRule, CoveragePoint, LaneRule, PhaseRule, WatchRule
from validators.execution.refusals import CallRefusal, TransactionRefusal
from validators.execution.rules import BlockRule
from validators.mempool.rules import PoolRule
from validators.state.rules import StateRule
from validators.storage.rules import DiskRule
from validators.sync.refusals import GossipRefusal
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
    "outside applications": ApplicationRule,
    **ROOMS_OF_REFUSALS,
    **{f"consensus, {name}": covered.points for name, covered in COVERED.items()},
}
"""The enum of each room, by the heading of its points."""

POINTS: Final[Mapping[str, CoveragePoint]] = {point.label: point for room in ROOMS.values() for point in room}
"""Every point by its label, in the order of the rooms."""

_OF_OWN_CHAIN: Final = (
    *(CallRule, PhaseRule, LaneRule, AuctionRule, BiasRule, WatchRule, AptosRule, BlockRule, StateRule),
    *(CallRefusal, TransactionRefusal, GossipRefusal),
)
"""The enums of the rules of this project's own chain, whose points an application does not have to reach."""

_OF_OWN_POOL: Final = (
    PoolRule.NONCE_SPENT,
    PoolRule.NONCE_TAKEN,
    PoolRule.VOIDED_BY_SNAPSHOT,
    PoolRule.SENDER_WAITS_TWICE,
)


def is_of_application(reached: Collection[str]) -> bool:
    """Return whether the points with these labels were reached by runs of an application."""
    return any(point.label in reached for point in ApplicationRule)


def points_for(reached: Collection[str]) -> Mapping[str, CoveragePoint]:
    """Return the points to which a campaign is compared: the application's if it has any, else the own chain's.

    Args:
        reached: The labels that the campaign has reached.
    """
    if not is_of_application(reached):
        return {label: point for label, point in POINTS.items() if not isinstance(point, ApplicationRule)}
    own = dict.fromkeys((*(point for room in _OF_OWN_CHAIN for point in room), *_OF_OWN_POOL))
    return {label: point for label, point in POINTS.items() if point not in own or label in reached}


def promised_by(subject: str = SWARM) -> tuple[str, ...]:
    """Return the labels of the points that a scenario, or a campaign of the swarm, promises to reach."""
    return tuple(label for label, point in POINTS.items() if point.promised_by == subject)
