"""The timer lane's tables over the state (docs/state.md, the timer lane)."""

from collections.abc import Mapping, Sequence
from typing import final

from scheduler import LaneMarket, PoolRules, WaitingPool
from validators.execution.schema import (
    FIRES,
    GC_CURSOR,
    LANE_MARKET,
    RECENT_FIRES,
    GcCursor,
    RecentFires,
    fires_key,
    recent_fires_key,
)
from validators.execution.timers import StateTimers
from validators.execution.view import View


@final
class StateLane:
    """The scheduler's LaneTables for one block."""

    def __init__(self, view: View, timers: StateTimers, height: int) -> None:
        self._view = view
        self._timers = timers
        self._height = height

    def pool(self, upto: int, rules: PoolRules) -> WaitingPool:
        """Return every live timer due at or before `upto`."""
        return self._timers.collect_pool(upto, rules)

    def market(self) -> LaneMarket | None:
        """Return what the last block in the lane left; None before there was one."""
        return self._view.get(LANE_MARKET, LANE_MARKET.key())

    def set_market(self, market: LaneMarket) -> None:
        """Leave this to the next block."""
        self._view.set(LANE_MARKET.key(), market)

    def fires(self, height: int) -> Sequence[tuple[bytes, int]]:
        """Return how many timers of each subject fired in a block of the window."""
        return self._view.get(FIRES, fires_key(height)) or ()

    def set_fires(self, height: int, fires: Sequence[tuple[bytes, int]]) -> None:
        """Put a block's fires; none removes the record."""
        self._view.set(fires_key(height), tuple(fires) or None)

    def recent_fires(self, subject: bytes) -> int:
        """Return how often a subject fired within the window."""
        record = self._view.get(RECENT_FIRES, recent_fires_key(subject))
        return 0 if record is None else record.count

    def set_recent_fires(self, subject: bytes, count: int) -> None:
        """Put how often a subject fired within the window; 0 removes the record."""
        sums = self._timers.fire_sums(self._count_sums)
        for value, change in ((self.recent_fires(subject), -1), (count, 1)):
            if value:
                sums[value] = sums.get(value, 0) + change
                if not sums[value]:
                    del sums[value]
        self._view.set(recent_fires_key(subject), RecentFires(count) if count else None)

    def fire_counts(self) -> Mapping[int, int]:
        """Return how many subjects fired how often within the window."""
        return self._timers.fire_sums(self._count_sums)

    def gc_cursor(self) -> tuple[int, int] | None:
        """Return the place of the last timer that the GC lane's walk looked at."""
        record = self._view.get(GC_CURSOR, GC_CURSOR.key())
        return None if record is None else (record.due, record.sequence)

    def set_gc_cursor(self, place: tuple[int, int]) -> None:
        """Remember a place."""
        self._view.set(GC_CURSOR.key(), GcCursor(*place))

    def _count_sums(self) -> dict[int, int]:
        """Return how many subjects fired how often, worked out from the window's blocks: after a restart."""
        market = self.market()
        subjects: dict[bytes, None] = {}
        for height in range(self._height if market is None else market.window_start, self._height):
            subjects.update(dict.fromkeys(subject for subject, _ in self.fires(height)))
        sums: dict[int, int] = {}
        for subject in subjects:
            count = self.recent_fires(subject)
            sums[count] = sums.get(count, 0) + 1
        sums.pop(0, None)
        return sums
