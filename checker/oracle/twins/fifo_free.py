"""The twin of `fifo-free`: everything due fires, for nothing, and a timer never expires."""

from typing import ClassVar

from checker.oracle.calls import Present
from checker.oracle.contents import Basefees, Timer
from checker.oracle.records import TimerConfig
from checker.oracle.timers import TimerPhase
from checker.oracle.twins.twin import BlockStart, Twin, TwinInBlock


class FreePhase(TimerPhase):
    """One block's timer phase: no timer is over a budget, and none waits unless the lane is paused."""

    def _reason_to_hold(self, _timer: Timer) -> str:
        return ""

    def _fill_lane(self, candidates: list[Timer]) -> list[Timer]:
        if self.present.config.execution_lane_paused:
            return candidates
        for timer in candidates:
            self._attempt(timer)
        return []


class FifoFreeInBlock(TwinInBlock):
    """One block of the policy."""

    has_ttl: ClassVar[bool] = False

    def ceiling(self, config: TimerConfig) -> int:
        """Return the greatest gas limit: without a budget, that of a fire alone."""
        return config.max_cycles_per_fire

    def timer_phase(self, present: Present, parent_now: int, proposer: bytes) -> TimerPhase:
        """Return the timer phase, at zero prices; the rest of the block keeps its own."""
        return FreePhase(self.start.contents, present, parent_now, Basefees(0, 0), proposer)


class FifoFreeTwin(Twin):
    """First in, first out, without fee and expiry."""

    name: ClassVar[str] = "fifo-free"

    def open(self, start: BlockStart) -> TwinInBlock:
        """Return the policy in a block."""
        return FifoFreeInBlock(start)
