"""The timer lane's tables over the state, and the sums of its window (docs/state.md, the timer lane).

Invariant: what is carried equals what the window's records in the state lead to.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

from scheduler.lane import Lane, LaneConfig, read_market
from scheduler.lane_calls import ask_agent
from scheduler.pool import PoolRules, WaitingPool
from scheduler.tables import StateTable, StateTables
from scheduler.types import LaneMarket

if TYPE_CHECKING:
    from scheduler.policies.policy import BlockContext

FireCounts: TypeAlias = tuple[tuple[bytes, int], ...]
"""The number of timers of each subject that fired in one block of the fairness window, ascending by subject."""


class RecentFires(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """The number of timers of a subject that fired within the fairness window."""

    count: int


class GcCursor(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """The place of the timer that the GC lane's walk looked at last."""

    due: int
    sequence: int


LANE_CONFIG: Final = StateTable(0x0E, "lane configuration", LaneConfig)
LANE_MARKET: Final = StateTable(0x0F, "lane market", LaneMarket)
FIRES: Final[StateTable[FireCounts]] = StateTable(0x10, "fires", FireCounts)
RECENT_FIRES: Final = StateTable(0x11, "recent fires", RecentFires)
GC_CURSOR: Final = StateTable(0x14, "GC cursor", GcCursor)


LANE_TABLES: Final = (LANE_MARKET, FIRES, RECENT_FIRES, GC_CURSOR)
"""The tables that blocks in the lane write."""


def fires_key(height: int) -> bytes:
    """Return the key of a block's fires."""
    return FIRES.key(height.to_bytes(8, "big"))


def recent_fires_key(subject: bytes) -> bytes:
    """Return the key of a subject's recent fires."""
    return RECENT_FIRES.key(subject)


class LaneState:
    """The LaneTables of one block over its state; `carried` are the parent's sums, which stay as they are."""

    def __init__(
        self,
        state: StateTables,
        pool: Callable[[int, PoolRules], WaitingPool],
        carried: Mapping[int, int],
    ) -> None:
        self._state = state
        self.pool = pool
        self._carried = carried
        self._sums: dict[int, int] | None = None

    def market(self) -> LaneMarket | None:
        """Return what the last block in the lane left; None before there was one."""
        return self._state.get(LANE_MARKET, LANE_MARKET.key())

    def set_market(self, market: LaneMarket) -> None:
        """Leave this to the next block."""
        self._state.set(LANE_MARKET.key(), market)

    def fires(self, height: int) -> Sequence[tuple[bytes, int]]:
        """Return how many timers of each subject fired in a block of the window."""
        return self._state.get(FIRES, fires_key(height)) or ()

    def set_fires(self, height: int, fires: Sequence[tuple[bytes, int]]) -> None:
        """Put a block's fires; an empty sequence removes the record."""
        self._state.set(fires_key(height), tuple(fires) or None)

    def recent_fires(self, subject: bytes) -> int:
        """Return how often a subject fired within the window."""
        record = self._state.get(RECENT_FIRES, recent_fires_key(subject))
        return 0 if record is None else record.count

    def set_recent_fires(self, subject: bytes, count: int) -> None:
        """Put how often a subject fired within the window; 0 removes the record."""
        sums = self._open_sums()
        for value, change in ((self.recent_fires(subject), -1), (count, 1)):
            if value:
                sums[value] = sums.get(value, 0) + change
                if not sums[value]:
                    del sums[value]
        self._state.set(recent_fires_key(subject), RecentFires(count) if count else None)

    def fire_counts(self) -> Mapping[int, int]:
        """Return how many subjects fired how often within the window."""
        return self.sums

    def gc_cursor(self) -> tuple[int, int] | None:
        """Return the place of the last timer that the GC lane's walk looked at."""
        record = self._state.get(GC_CURSOR, GC_CURSOR.key())
        return None if record is None else (record.due, record.sequence)

    def set_gc_cursor(self, place: tuple[int, int]) -> None:
        """Remember a place."""
        self._state.set(GC_CURSOR.key(), GcCursor(*place))

    @property
    def sums(self) -> Mapping[int, int]:
        """The number of subjects by their fires within the window."""
        return self._carried if self._sums is None else self._sums

    def _open_sums(self) -> dict[int, int]:
        if self._sums is None:
            self._sums = dict(self._carried)
        return self._sums

    @staticmethod
    def count_sums(state: StateTables, height: int) -> dict[int, int]:
        """Return how many subjects fired how often, worked out from the window's blocks before a height."""
        market = state.get(LANE_MARKET, LANE_MARKET.key())
        subjects: dict[bytes, None] = {}
        for old in range(height if market is None else market.window_start, height):
            subjects.update(dict.fromkeys(subject for subject, _ in state.get(FIRES, fires_key(old)) or ()))
        sums: dict[int, int] = {}
        for subject in subjects:
            record = state.get(RECENT_FIRES, recent_fires_key(subject))
            if record is not None:
                sums[record.count] = sums.get(record.count, 0) + 1
        return sums


def open_lane(block: "BlockContext") -> Lane:
    """Return the lane of a block, as its parent left it."""
    config, height = block.own, block.moment.height
    assert isinstance(config, LaneConfig), "genesis writes the lane configuration"
    assert block.state is not None, "a chain hands its tables in"
    assert block.ask is not None, "a chain lets agents be asked"
    assert block.owner_of is not None, "a chain knows the owners of its actors"
    assert isinstance(block.carried, Mapping), "a chain derives the sums that no parent carried"
    tables = LaneState(block.state, block.timers.collect_pool, block.carried)
    return Lane(
        config=config,
        market=read_market(tables, config, height=height, cycle_basefee=block.basefees.cycle),
        basefees=block.basefees,
        activated_at=block.activated_at,
        tables=tables,
        proposer=block.proposer,
        ask=partial(ask_agent, block.ask, config.gba_call_cycles),
        owner_of=block.owner_of,
    )
