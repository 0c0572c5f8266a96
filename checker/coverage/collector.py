"""The collector of one run: how often each coverage point was reached."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from checker.coverage.application_points import read_application_points
from checker.coverage.blocks import BlockPoints
from checker.coverage.engines import COVERED
from checker.coverage.events import DiskPoints, StatePoints, SyncPoints
from checker.coverage.refusals import RefusalPoints
from checker.coverage.registry import POINTS
from network.events import Handlers
from scheduler import CoveragePoint, Timebase
from validators.execution import Executed, PolicyEntry
from validators.state.rules import StateRule
from validators.stats import ValidatorCounts
from validators.storage.rules import DiskRule


class RuleHit(NamedTuple):
    """A coverage point by its label, and its hits in a run: final blocks, or acts of honest replicas."""

    point: str
    hits: int


class RuleCoverage:
    """Counts the points of one run with this consensus engine, and perhaps with an outside application.

    Attributes:
        handlers: Readers of the events of honest replicas and of the supervisor.
    """

    def __init__(
        self,
        *,
        timebase: Timebase,
        engine: str,
        policies: Sequence[PolicyEntry] = (),
        has_application: bool = False,
    ) -> None:
        self._hits: dict[CoveragePoint, int] = {}
        self._blocks = BlockPoints(timebase, self.reach, policies)
        self.handlers: Final[tuple[Handlers, ...]] = (
            DiskPoints(self.reach).handlers,
            SyncPoints(self.reach).handlers,
            StatePoints(self.reach).handlers,
            RefusalPoints(self.reach, engine).handlers,
            COVERED[engine].read(self.reach) if engine in COVERED else {},
            read_application_points(self.reach) if has_application else {},
        )

    def reach(self, point: CoveragePoint) -> None:
        """Count a point as reached once more."""
        self._hits[point] = self._hits.get(point, 0) + 1

    def finalize(self, executed: Executed) -> None:
        """Read a final block; heights ascend by one."""
        self._blocks.add(executed)

    def hits(self, replicas: Iterable[ValidatorCounts] = ()) -> tuple[RuleHit, ...]:
        """Return the points that were reached, in declared order; replicas' own counts are included."""
        hits = dict(self._hits)
        for counts in replicas:
            for point, count in (*counts.reached.items(), *_derived(counts).items()):
                hits[point] = hits.get(point, 0) + count
        return tuple(RuleHit(label, hits[point]) for label, point in POINTS.items() if hits.get(point))


def _derived(counts: ValidatorCounts) -> Mapping[CoveragePoint, int]:
    """Return the points that a replica's counts show."""
    return {
        DiskRule.TORN_TAIL_AGAIN: max(0, counts.reached.get(DiskRule.TORN_TAIL, 0) - 1),
        StateRule.APPLIED_EARLY: counts.applied_early,
        StateRule.LOG_PRUNED: counts.pruned,
        StateRule.INDEXES_REBUILT: counts.rebuilt,
    }
