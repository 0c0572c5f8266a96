"""The pace of leaders: a leader proposes a block exactly one block interval after the parent's timestamp.

A leader that could propose earlier waits for the rest of the interval, by its wall clock. A leader whose clock is
behind the parent's timestamp waits for a whole interval. No other check sees a wrong pace: an early block is valid, and
a late block only costs time. So the check compares the trace of the leader's timer with the timestamps.
"""

from typing import Final

from checker.checks.context import RunContext
from checker.results import CheckTally
from faults.events import Crashed
from network.events import Event, Handlers, TimerElapsed
from network.types import MILLISECOND_US, Micros, NodeId
from validators.events import Booted
from validators.execution.blocks import Header

PACE: Final = "pace"
"""The timer of a leader that waits for the block interval; its number is the view."""


class BlockPace:
    """The waits of leaders for the block interval; `tally` belongs to the check that uses them."""

    def __init__(self, run: RunContext, tally: CheckTally) -> None:
        # Where the clock begins a view, the slot sets the pace.
        self._interval_us = 0 if run.plan.slot_us else run.plan.block_interval_us
        self._paused = run.plan.paused()
        self._tally = tally
        self._waits: dict[tuple[int, NodeId], tuple[Micros, Micros]] = {}

    @property
    def handlers(self) -> Handlers:
        """Timers, and lives that end and begin."""
        return {TimerElapsed: self.elapsed, Crashed: self.crashed, Booted: self.booted}

    def elapsed(self, event: Event, timer: TimerElapsed) -> None:
        """Remember the end and the length of a leader's wait."""
        if isinstance(timer.key, tuple) and timer.key[0] == PACE and isinstance(timer.key[1], int):
            self._waits[timer.key[1], event.node] = (event.at_us, timer.asked_us)

    def crashed(self, _event: Event, crashed: Crashed) -> None:
        """Forget the waits of a life whose blocks may be lost."""
        self._forget(crashed.machine)

    def booted(self, event: Event, _booted: Booted) -> None:
        """Forget the waits of the earlier life."""
        self._forget(event.node)

    def _forget(self, node: NodeId) -> None:
        self._waits = {key: wait for key, wait in self._waits.items() if key[1] != node}

    def judge(self, header: Header, parent_ms: int, entered_us: Micros) -> None:
        """Compare a final block of a leader by true time with its parent's timestamp.

        Args:
            header: The block's header.
            parent_ms: The timestamp of its parent.
            entered_us: When its leader first entered the view.
        """
        wait = self._waits.pop((header.view, header.proposer), None)
        if not self._interval_us:
            return
        parent_us = parent_ms * MILLISECOND_US
        # A leader whose clock is behind the parent's timestamp waits for at most an interval.
        earliest_us = min(parent_us, entered_us) + self._interval_us
        self._require(
            header.timestamp_ms >= earliest_us // MILLISECOND_US,
            header,
            f"its parent has {parent_ms:,} ms, and the view was entered at {entered_us // MILLISECOND_US:,} ms",
        )
        if wait is None:
            return
        over_us, asked_us = wait
        due_us = parent_us + self._interval_us
        is_whole = asked_us == self._interval_us and over_us - asked_us <= parent_us
        is_built_then = header.timestamp_ms == max(over_us // MILLISECOND_US, parent_ms + 1)
        if is_built_then or header.proposer not in self._paused:
            self._require(
                is_built_then and (is_whole or over_us == due_us),
                header,
                f"its leader's wait was over at {over_us:,} us, and the interval at {due_us:,} us",
            )

    def _require(self, holds: bool, header: Header, why: str) -> None:  # noqa: FBT001 - the condition
        self._tally.compared += 1
        if not holds:
            self._tally.fail(
                f"validator {header.proposer} did not keep the block interval of "
                f"{self._interval_us // MILLISECOND_US:,} ms: the block of height {header.height} has timestamp "
                f"{header.timestamp_ms:,} ms, {why}",
                height=header.height,
                validator=header.proposer,
            )
