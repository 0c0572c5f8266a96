"""The claims of a header beside the proposal that names its block: view, leader, parent and time, before execution.

A header that contradicts its proposal is refuted here by itself, so that nothing is fetched or executed for it.
"""

from collections.abc import Callable

from network.types import Micros
from validators.execution.blocks import Header
from validators.settings import ValidatorSettings
from validators.sync.follower import Goal, Purpose


class HeaderRules:
    """One validator's judgement of headers; `leader` names the leader of a view, `wall_us` reads its clock."""

    def __init__(
        self, settings: ValidatorSettings, leader: Callable[[int], int | None], wall_us: Callable[[], Micros]
    ) -> None:
        self._settings = settings
        self._leader = leader
        self._wall_us = wall_us

    def find_fault(self, goal: Goal, header: Header) -> str:
        """Return how a block contradicts its proposal, or ""; only blocks to verify or to adopt are judged."""
        if goal.purpose not in {Purpose.VERIFY, Purpose.ADOPT}:
            return ""
        if not self.is_of_view(header, goal.view):
            return f"view {header.view} of leader {header.proposer} is not that of the proposal"
        if header.parent != goal.parent:
            return "the parent is not that of the proposal"
        if goal.purpose is Purpose.ADOPT:
            return self._find_time_fault(header)
        limit_ms = self._wall_us() // 1_000 + self._settings.max_skew_ms
        return f"time {header.timestamp_ms} is beyond {limit_ms}" if header.timestamp_ms > limit_ms else ""

    def time_of(self, view: int, parent: Header) -> int:
        """Return the time of a block that is built now, in milliseconds, as all peers will accept it."""
        # Above the parent's even if this clock is behind, because all peers would refuse any other header.
        time_ms = max(self._wall_us() // 1_000, parent.timestamp_ms + 1)
        times_ms = self._settings.consensus_config.times_of(view)
        # The clock may have been set since the view began.
        return time_ms if times_ms is None else min(max(time_ms, times_ms.start), times_ms.stop - 1)

    def is_of_view(self, header: Header, view: int) -> bool:
        """Return whether a block is of a view and of its leader."""
        return header.view == view and header.proposer == self._leader(view)

    def _find_time_fault(self, header: Header) -> str:
        """Return why a block cannot have its time; the view determines the time, whatever time it is now."""
        times_ms = self._settings.consensus_config.times_of(header.view)
        is_of_view = times_ms is None or header.timestamp_ms in times_ms
        return "" if is_of_view else f"time {header.timestamp_ms} is not of view {header.view}"
