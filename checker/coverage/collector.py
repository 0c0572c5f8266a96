"""The collector of one run: how often each rule cell was reached."""

from typing import NamedTuple

from checker.coverage.blocks import BlockCells
from checker.coverage.registry import CELLS
from scheduler import RuleCell, Timebase
from validators.execution import Executed


class RuleHit(NamedTuple):
    """A rule cell by its label, and its hits in a run: final blocks, or acts of honest replicas."""

    cell: str
    hits: int


class RuleCoverage:
    """Counts the cells of one run."""

    def __init__(self, timebase: Timebase) -> None:
        self._hits: dict[RuleCell, int] = {}
        self._blocks = BlockCells(timebase, self.reach)

    def reach(self, cell: RuleCell) -> None:
        """Count a cell as reached once more."""
        self._hits[cell] = self._hits.get(cell, 0) + 1

    def finalize(self, executed: Executed) -> None:
        """Read a final block; heights ascend by one."""
        self._blocks.add(executed)

    def hits(self) -> tuple[RuleHit, ...]:
        """Return the cells that were reached, in the order of their declarations."""
        return tuple(RuleHit(label, self._hits[cell]) for label, cell in CELLS.items() if cell in self._hits)
