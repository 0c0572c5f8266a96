"""The share of a run's work that is over and the time that is left, from its plan, its blocks and its dead timers."""

from itertools import pairwise
from typing import Final, Protocol

from cluster.scenario.cost import (
    MICROSECONDS_PER_TIMER,
    Rhythm,
    edge_ms_of,
    microseconds_of_view,
    removals_of,
    storm_timers_of,
    stretches_of,
)
from cluster.scenario.model import Scenario

SURE_AFTER_S: Final = 1.0
"""Before this much real time nothing is said of the time that is left."""

WHOLE: Final = 1_000

BLOCKS_FOR_A_PACE: Final = 3
"""Before so many blocks the pace of the chain is that of its plan."""

DARK_SHARE: Final = 0.05
"""The work of a time without blocks, beside that of a time with them."""


class Aim(Protocol):
    """The part of a run's progress that an estimate needs; see cluster.runtime.progress.Progress."""

    finalized_heights: list[int]
    now_us: int
    faults_end_us: int
    target_height: int
    drained_height: int | None
    until_drained: bool
    waiting_dead: int
    scheduled: int


class Estimate:
    """The estimate of a run.

    Work is counted in virtual milliseconds of a chain that makes blocks. A time without a quorum costs almost nothing,
    and each timer of a storm costs work at its schedule and its exit. Blocks are expected at their past pace, and each
    block removes as many dead timers as its budget allows. The run may deviate, so the remaining time is called
    *about*.
    """

    def __init__(self, scenario: Scenario) -> None:
        self._rhythm = rhythm = Rhythm.of(scenario)
        self._edge_ms = edge_ms_of(scenario)
        self._removals, self._after_drain = removals_of(scenario), scenario.run.blocks_after_drain
        self._timers = storm_timers_of(scenario, self._edge_ms)
        per_timer_us = MICROSECONDS_PER_TIMER * scenario.replicas / 2
        self._timer_work = per_timer_us / microseconds_of_view(scenario) * rhythm.block_ms
        self._curve = [(0, 0.0)]
        for lasts_ms, present, lost_ppm in stretches_of(scenario, rhythm, self._edge_ms):
            at_ms, work = self._curve[-1]
            share = 1 if rhythm.share_of_blocks(present, lost_ppm) else DARK_SHARE
            self._curve.append((at_ms + lasts_ms, work + lasts_ms * share))

    def progress(self, aim: Aim, real_s: float) -> tuple[int, float | None]:
        """Return how much is done, in thousandths of the work, and the real seconds that are left, if known."""
        now_ms = aim.now_us // 1_000
        edge_ms = min(self._edge_ms, aim.faults_end_us // 1_000)
        chain_work = self._until(min(now_ms, edge_ms)) + max(now_ms - edge_ms, 0)
        to_edge = self._until(self._edge_ms) - self._until(now_ms) if now_ms < edge_ms else 0.0
        left = max(to_edge, self._missing(aim, chain_work))
        come = min(aim.scheduled, self._timers)
        gone = 0
        if aim.until_drained and aim.drained_height is None:
            dead = self._timers if now_ms < edge_ms else aim.waiting_dead
            gone = self._timers - dead
            blocks = dead // self._removals + self._after_drain
            left = max(left, to_edge + blocks * self._rhythm.block_ms) + dead * self._timer_work
        left += (self._timers - come) * self._timer_work * (now_ms < edge_ms)
        done = chain_work + (come + gone) * self._timer_work
        share = int(WHOLE * done / (done + left)) if done else 0
        if real_s < SURE_AFTER_S or not done:
            return share, None
        return share, real_s * left / done

    def _missing(self, aim: Aim, chain_work: float) -> float:
        """Return the work until the height is reached."""
        height, rhythm = max(aim.finalized_heights), self._rhythm
        pace = float(rhythm.block_ms)
        # Where slots are the pace, final blocks only come later.
        if height >= BLOCKS_FOR_A_PACE and rhythm.quorum is not None:
            pace = min(max(chain_work / height, pace), rhythm.timeout_ms)
        return max(aim.target_height - height, 0) * pace

    def _until(self, at_ms: int) -> float:
        """Return the work that the plan has until a time."""
        for (start_ms, before), (stop_ms, after) in pairwise(self._curve):
            if start_ms <= at_ms < stop_ms:
                return before + (after - before) * (at_ms - start_ms) / (stop_ms - start_ms)
        return self._curve[-1][1]
