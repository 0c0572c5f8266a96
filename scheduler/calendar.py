"""The calendar queue: which heights have timers, in three tiers by how far away they are (A-1, K-32, Q-32, Q-35).

Its members are heights, never timers: a timer for a height that already has timers changes nothing here, and heights
move between tiers. The tier of a height follows from the height, its bucket's flag, the present and the profile alone.
So the queue of a state can be rebuilt from its buckets, and equals the queue that was kept. Heights keep their own
value in every tier and are checked when they are taken out. So a ring shorter than an epoch, or a jump over more than
the ring, causes no confusion. Forks share unchanged parts. Rejected: one sorted list of heights, which every block
would have to copy.
"""

import enum
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, assert_never

from scheduler.errors import InvalidInput
from scheduler.height_tree import EMPTY, HeightTree
from scheduler.types import MAX_U63, Parameters

MAX_TIER: Final = 65_536
"""The longest ring in places, and the farthest horizon in epochs."""

NO_HEIGHT: Final = -1
"""Stands at a place of the ring that holds nothing."""


class Tier(enum.StrEnum):
    """Where a height waits."""

    RING = "ring"
    EPOCH = "epoch"
    OVERFLOW = "overflow"


class CalendarProfile(Parameters, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The sizes of the tiers: places of the ring, heights in an epoch, epochs that the epoch queue reaches ahead.

    It is also a record of consensus state (docs/state.md, Tiers), read once per block; a change applies from its end.
    """

    ring_size: int = 4_096
    epoch_length: int = 3_600
    epoch_horizon: int = 24

    def __post_init__(self) -> None:
        """Refuse sizes that no chain can run on.

        Raises:
            InvalidInput: A size is out of its range.
        """
        ranges = {"ring_size": (1, MAX_TIER), "epoch_length": (1, MAX_U63), "epoch_horizon": (0, MAX_TIER)}
        for name, (least, greatest) in ranges.items():
            value = getattr(self, name)
            if not least <= value <= greatest:
                raise InvalidInput(name, f"{value} is not within {least}..{greatest}")

    @classmethod
    def key_of(cls, field: str) -> str:
        """Return the key by which governance knows a field: as CIP-1 names it, on every chain."""
        return "system:cip1:" + field

    def epoch_of(self, height: int) -> int:
        """Return the epoch of a height, counted from 0."""
        return height // self.epoch_length

    def place_of(self, height: int) -> int:
        """Return the place that a height has, or would have, in the ring."""
        return height % self.ring_size

    def last_in_ring(self, now: int) -> int:
        """Return the highest height in range of the ring; the next one has the place that is emptied now (Q-32)."""
        return now + self.ring_size - 1

    def last_within_horizon(self, now: int) -> int:
        """Return the highest height of the epochs that the epoch queue reaches."""
        return (self.epoch_of(now) + self.epoch_horizon + 1) * self.epoch_length - 1

    def is_queued(self, height: int, now: int) -> bool:
        """Say whether a bucket that is made for a height now is out of range of the ring: its flag, for its life."""
        return height > self.last_in_ring(now)

    def last_promoted(self, now: int) -> int:
        """Return the highest height that is in the ring even if its bucket was queued: of a begun epoch, in range."""
        return min(self.last_in_ring(now), (self.epoch_of(now) + 1) * self.epoch_length - 1)

    def tier_of(self, height: int, now: int, *, is_queued: bool) -> Tier | None:
        """Return the tier of a height, or None when it is not in the future (K-32)."""
        if height <= now:
            return None
        if height <= (self.last_promoted(now) if is_queued else self.last_in_ring(now)):
            return Tier.RING
        return Tier.EPOCH if height <= self.last_within_horizon(now) else Tier.OVERFLOW


INTRO_CALENDAR: Final = CalendarProfile(256, 360, 13)
"""The sizes of the introduction page (part E, Q-33)."""


@dataclass(frozen=True, slots=True)
class Advance:
    """The result of moving the present: heights due now, ascending, and the number that left the overflow tree."""

    due: list[int]
    left_overflow: int


class CalendarQueue:
    """The heights above the present that have a bucket.

    `_early` are heights outside the ring whose bucket was made within its range. Only a ring that was shortened since
    leaves heights there, and they come back into the ring before their epoch begins.
    """

    __slots__ = ("_early", "_epochs", "_now", "_overflow", "_ring", "profile")

    def __init__(self, profile: CalendarProfile, now: int) -> None:
        self.profile = profile
        self._now = now
        self._ring = [NO_HEIGHT] * profile.ring_size
        self._epochs: dict[int, HeightTree] = {}
        self._overflow = EMPTY
        self._early: dict[int, None] = {}

    def fork(self) -> "CalendarQueue":
        """Return a queue that goes its own way from here."""
        fork = CalendarQueue.__new__(CalendarQueue)
        fork.profile = self.profile
        fork._now = self._now  # noqa: SLF001 - its own kind
        # Copied where it changes in place; trees are immutable and shared.
        fork._ring = self._ring.copy()  # noqa: SLF001
        fork._epochs = self._epochs.copy()  # noqa: SLF001
        fork._overflow = self._overflow  # noqa: SLF001
        fork._early = self._early.copy()  # noqa: SLF001
        return fork

    @property
    def now(self) -> int:
        """The present, in the timebase."""
        return self._now

    @property
    def epochs(self) -> dict[int, int]:
        """The number of heights in the epoch queue by epoch, zeros left out."""
        return {epoch: len(tree) for epoch, tree in self._epochs.items()}

    @property
    def overflow(self) -> HeightTree:
        """The heights beyond the epoch queue, with their buckets' records."""
        return self._overflow

    def put(self, height: int, record: bytes, *, is_queued: bool) -> None:
        """Note that a height above the present has a bucket, what its record is now, and its flag, which stays."""
        tier = self.profile.tier_of(height, self._now, is_queued=is_queued)
        assert tier is not None, f"height {height} is not above the present {self._now}"
        if tier is Tier.RING:
            self._ring[self.profile.place_of(height)] = height
            return
        if not is_queued:
            self._early[height] = None
        if tier is Tier.EPOCH:
            self._put_epoch(height)
        elif tier is Tier.OVERFLOW:
            self._overflow = self._overflow.put(height, record)
        else:
            assert_never(tier)

    def drop(self, height: int) -> None:
        """Note that a height above the present has no bucket any more."""
        assert height > self._now, f"height {height} is not above the present {self._now}"
        place = self.profile.place_of(height)
        if self._ring[place] == height:
            self._ring[place] = NO_HEIGHT
            return
        self._early.pop(height, None)
        if height <= self.profile.last_within_horizon(self._now):
            epoch = self.profile.epoch_of(height)
            self._keep_epoch(epoch, self._epochs[epoch].drop(height))
        else:
            self._overflow = self._overflow.drop(height)

    def advance(self, now: int) -> Advance:
        """Move the present to `now` or let it stand: take out what is due, move up what came into range (A-1)."""
        assert now >= self._now, f"the present goes from {self._now} to {now}"
        # Before the present moves: `drop` finds the tier of a height by the old one.
        early, left_overflow = self._take_early(self.profile.last_in_ring(now))
        before, self._now = self._now, now
        due = self._take_ring(before, now)
        promoted = self._take_epochs(self.profile.last_promoted(now))
        from_overflow, self._overflow = self._overflow.take(self.profile.last_within_horizon(now))
        for height in (*early, *promoted, *from_overflow):
            if height <= now:
                due.append(height)
            else:
                is_early = height in early or height in self._early
                self.put(height, b"", is_queued=not is_early)
        # The parts come from three tiers, and timers fire by height.
        due.sort()
        return Advance(due, left_overflow + len(from_overflow))

    def heights(self) -> Iterator[int]:
        """Yield all heights, in no order that matters."""
        yield from (height for height in self._ring if height != NO_HEIGHT)
        for tree in self._epochs.values():
            yield from tree
        yield from self._overflow

    def _put_epoch(self, height: int) -> None:
        epoch = self.profile.epoch_of(height)
        self._epochs[epoch] = self._epochs.get(epoch, EMPTY).put(height, b"")

    def _keep_epoch(self, epoch: int, tree: HeightTree) -> None:
        if tree:
            self._epochs[epoch] = tree
        else:
            del self._epochs[epoch]

    def _take_ring(self, before: int, now: int) -> list[int]:
        """Take the due heights out of the ring, walking it once at most however far the present jumped."""
        size, ring = self.profile.ring_size, self._ring
        # Once round at most, however far the present has jumped.
        places = range(before + 1, now + 1) if now - before < size else range(size)
        due: list[int] = []
        for place in places:
            height = ring[place % size]
            if height != NO_HEIGHT:
                due.append(height)
                ring[place % size] = NO_HEIGHT
        return due

    def _take_early(self, last: int) -> tuple[list[int], int]:
        """Take out what comes back into range up to `last` before its epoch, and count what left overflow."""
        early = sorted(height for height in self._early if height <= last)
        horizon = self.profile.last_within_horizon(self._now)
        for height in early:
            self.drop(height)
        return early, sum(height > horizon for height in early)

    def _take_epochs(self, last: int) -> list[int]:
        """Take every height up to `last` out of the epoch queue."""
        taken: list[int] = []
        # Sorted, and a copy: epochs are deleted as they empty.
        for epoch in sorted(epoch for epoch in self._epochs if epoch <= self.profile.epoch_of(last)):
            heights, tree = self._epochs[epoch].take(last)
            taken += heights
            self._keep_epoch(epoch, tree)
        return taken
