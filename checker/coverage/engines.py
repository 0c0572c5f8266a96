"""The coverage of each consensus engine: its coverage points, its refusals, and the reader of its events."""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from checker.coverage.hotstuff_points import read_hotstuff_points
from checker.coverage.longest_chain_points import LongestChainPoints
from checker.coverage.simplex_points import SimplexPoints
from network.events import Handlers
from scheduler import CoveragePoint, Reach, RefusalPoint
from validators.consensus.hotstuff.kind import HOTSTUFF
from validators.consensus.hotstuff.refusals import HotStuffRefusal
from validators.consensus.hotstuff.rules import HotStuffRule
from validators.consensus.longest_chain.kind import LONGEST_CHAIN
from validators.consensus.longest_chain.refusals import LongestChainRefusal
from validators.consensus.longest_chain.rules import LongestChainRule
from validators.consensus.simplex.kind import SIMPLEX
from validators.consensus.simplex.refusals import SimplexRefusal
from validators.consensus.simplex.rules import SimplexRule


class EngineCoverage(NamedTuple):
    """The points and refusals of one engine; `read` returns the handlers that note the points of a run."""

    points: type[CoveragePoint]
    refusals: type[RefusalPoint]
    read: Callable[[Reach], Handlers]


COVERED: Final[Mapping[str, EngineCoverage]] = {
    SIMPLEX.name: EngineCoverage(SimplexRule, SimplexRefusal, lambda reach: SimplexPoints(reach).handlers),
    HOTSTUFF.name: EngineCoverage(HotStuffRule, HotStuffRefusal, read_hotstuff_points),
    LONGEST_CHAIN.name: EngineCoverage(
        LongestChainRule, LongestChainRefusal, lambda reach: LongestChainPoints(reach).handlers
    ),
}
"""Every engine of the test bed by its name; an engine of a plug-in has no points."""


def rules_of_others(engine: str) -> tuple[str, ...]:
    """Return the labels of the points that only other engines have."""
    own = [point.label for point in COVERED[engine].points] if engine in COVERED else []
    others = (point.label for name, covered in COVERED.items() if name != engine for point in covered.points)
    return tuple(label for label in others if label not in own)
