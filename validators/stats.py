"""Counts of one validator's whole life, and the beginnings of its halts' reasons."""

from dataclasses import dataclass, field
from typing import Final

from scheduler import CoveragePoint

BROKEN: Final = "broken invariant"
"""Begins the reason of a halt that no fault explains."""

REFUSED_FINAL: Final = "finalized block"
"""Begins the reason of a halt over a block that is final and that this validator cannot execute: a split."""

DISK: Final = "disk"
"""Begins the reason of a halt over the disk: it failed, or its contents cannot be repaired."""


@dataclass(slots=True)
class ValidatorCounts:
    """Counts of one validator's whole life, over all its restarts."""

    height: int = 0
    executed: int = 0
    rolled_back: int = 0
    applied_early: int = 0
    undone: int = 0
    reexecuted: int = 0
    finalized: int = 0
    refused: int = 0
    damaged: int = 0
    repaired: int = 0
    snapshots_joined: int = 0
    rebuilt: int = 0
    pruned: int = 0
    halted: str = ""
    observes: str = ""
    """The reason that the validator has no vote any more, or nothing."""
    reached: dict[CoveragePoint, int] = field(default_factory=dict)
    """The coverage points that no event and no block shows; no validator reads them."""

    def reach(self, point: CoveragePoint) -> None:
        """Count a coverage point as reached once more."""
        self.reached[point] = self.reached.get(point, 0) + 1
