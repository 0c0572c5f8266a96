"""The progress of a run, and the conditions that it still waits for."""

from dataclasses import dataclass, field
from typing import Final

from cluster.scenario.model import Scenario
from network.words import counted
from validators.execution import BlockSummary

BLOCKS_AFTER_HEALING: Final = 2

BLOCKS_AFTER_REOPENING: Final = 3
"""The fewest blocks of a run from a data directory, however long the chain is."""


@dataclass(slots=True)
class Progress:
    """The progress of each validator: live figures for a person, and the condition that ends the run."""

    finalized_heights: list[int]
    halted: dict[int, None] = field(default_factory=dict)
    now_us: int = 0
    healed_us: int | None = None
    drained_height: int | None = None
    waiting_dead: int = 0
    waiting_live: int = 0
    target_height: int = 0
    faults_end_us: int = 0
    until_drained: bool = False
    blocks_after_drain: int = 0
    drains_all: bool = False
    """Whether every due timer counts for the drain: an application does not report dead timers before they leave."""
    events: int = 0
    fault_edge: str = ""
    scheduled: int = 0
    """Timers that the final blocks have scheduled, not all of them of storms."""
    _counted_height: int = 0

    @property
    def stage(self) -> str:
        """The condition that the run waits for, in a word or two, and the last edge of a fault."""
        if self.healed_us is None:
            return f"faults; {self.fault_edge}" if self.fault_edge else "faults"
        return "draining" if self.until_drained and self.drained_height is None else "to its height"

    @property
    def aim(self) -> str:
        """The end of the stage; a height is named only once it can no longer rise."""
        if self.healed_us is None:
            return f"faults until {self.faults_end_us / 1_000_000:.1f} s"
        if self.until_drained and self.drained_height is None:
            left = self.waiting_dead + self.waiting_live if self.drains_all else self.waiting_dead
            return f"draining, {counted(left, 'due timers' if self.drains_all else 'dead timers')} left"
        return f"to height {self.target_height:,}"

    def note_healed(self, at_us: int) -> None:
        """Note that the last fault is over."""
        self.healed_us = at_us
        # A run that reached its height before the end of the faults still has to show that finality came back.
        self.target_height = max(self.target_height, max(self.finalized_heights) + BLOCKS_AFTER_HEALING)

    def note_block(self, height: int, summary: BlockSummary, *, is_after_faults: bool) -> None:
        """Note the timers that wait after a final block, and the first block that leaves no timer of the drain."""
        self.waiting_dead, self.waiting_live = summary.waiting_dead, summary.waiting_live
        # Each replica finalizes each block.
        if height > self._counted_height:
            self._counted_height = height
            self.scheduled += summary.scheduled
        left = summary.waiting_dead + (summary.waiting_live if self.drains_all else 0)
        if self.drained_height is None and is_after_faults and left == 0:
            self.drained_height = height
            if self.until_drained:
                self.target_height = max(self.target_height, height + self.blocks_after_drain)

    def is_goal(self, height: int) -> bool:
        """Return whether the run would be over if every replica had this height."""
        is_drained = self.drained_height is not None or not self.until_drained
        return is_drained and self.healed_us is not None and height >= self.target_height


def progress_of(scenario: Scenario, reopened_height: int) -> Progress:
    """Return the progress of a run that begins, with its goal; `reopened_height` is 0 without earlier data."""
    target_height = scenario.run.until_height
    if reopened_height:
        # A run that is reopened at its goal would end before it has shown anything.
        target_height = max(target_height, reopened_height + BLOCKS_AFTER_REOPENING)
    return Progress(
        [0] * scenario.replicas,
        target_height=target_height,
        until_drained=scenario.run.until_drained,
        blocks_after_drain=scenario.run.blocks_after_drain,
        drains_all=scenario.application is not None,
    )
