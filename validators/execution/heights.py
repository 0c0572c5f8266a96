"""The heights that have timers: the calendar queue of each branch, derived from the buckets of its state.

Each block's queue starts as its parent's and then changes on its own, so forks share no mutable data and dropping a
branch costs nothing. Due heights that still have a bucket are kept beside the queue, which drops due heights.
Invariant: the answer equals a scan of the buckets in the branch's state (tests compare the two).
"""

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable
from typing import Final

from scheduler import CalendarProfile, CalendarQueue, HeightTree
from validators.execution.schema import BUCKETS

_TRUE: Final = b"\xc3"


class BranchHeights:
    """The heights with timers as of one block.

    While the block runs, `touched` holds the heights whose bucket it wrote, with the flag of the previous bucket, None
    for a height that had no bucket.
    """

    __slots__ = ("_overdue", "_queue", "touched")

    def __init__(self, profile: CalendarProfile, now: int, buckets: Iterable[tuple[int, bytes]] = ()) -> None:
        """Build the index: `buckets` are heights with the encoded records of their buckets."""
        self._queue = CalendarQueue(profile, now)
        self._overdue: list[int] = []
        self.touched: dict[int, bool | None] = {}
        for height, record in buckets:
            if height <= now:
                self._overdue.append(height)
            else:
                self._queue.put(height, record, is_queued=is_queued(record))
        self._overdue.sort()

    @property
    def now(self) -> int:
        """The present of the block."""
        return self._queue.now

    @property
    def epochs(self) -> dict[int, int]:
        """The number of heights in each epoch of the epoch queue, without zeros."""
        return self._queue.epochs

    @property
    def overflow(self) -> HeightTree:
        """The heights beyond the epoch queue."""
        return self._queue.overflow

    @property
    def profile(self) -> CalendarProfile:
        """The sizes of the tiers."""
        return self._queue.profile

    def is_queued(self, height: int) -> bool:
        """Return whether a bucket that this block makes for a height is out of range of the ring."""
        return self.profile.is_queued(height, self.now)

    def next_block(self, now: int) -> tuple["BranchHeights", int]:
        """Return the index of a child block at its start, and the number of heights leaving the overflow tree."""
        child = BranchHeights.__new__(BranchHeights)
        # Forked, not shared, because siblings advance by different times.
        child._queue = self._queue.fork()  # noqa: SLF001 - its own kind
        advance = child._queue.advance(now)  # noqa: SLF001
        child._overdue = self._overdue + advance.due  # noqa: SLF001
        child.touched = {}
        return child, advance.left_overflow

    def due_heights(self, upto: int, after: int = -1) -> list[int]:
        """Return the heights with timers above `after` and not above `upto`, ascending, as of the block's start."""
        found = [height for height in self._overdue if after < height <= upto]
        if upto > self._queue.now:
            found += sorted(height for height in self._queue.heights() if after < height <= upto)
        return found

    def settle(self, profile: CalendarProfile, record_of: Callable[[int], bytes | None]) -> None:
        """Apply the block's changes to its buckets; `record_of` returns a bucket's record or None."""
        gone: dict[int, None] = {}
        for height, was_queued in self.touched.items():
            record = record_of(height)
            if height > self._queue.now:
                self._settle_height(height, was_queued, record)
            elif record is None:
                gone[height] = None
            # A triggered timer may have made a bucket at the present itself.
            elif self._overdue[bisect_left(self._overdue, height) :][:1] != [height]:
                insort(self._overdue, height)
        if gone:
            self._overdue = [height for height in self._overdue if height not in gone]
        self.touched = {}
        if profile != self.profile:
            queue = CalendarQueue(profile, self._queue.now)
            for height in self._queue.heights():
                record = record_of(height) or b""
                queue.put(height, record, is_queued=is_queued(record))
            self._queue = queue

    def _settle_height(self, height: int, was_queued: bool | None, record: bytes | None) -> None:  # noqa: FBT001
        """Apply a changed bucket that is not due; a bucket made again may have another flag, hence another tier."""
        flag = None if record is None else is_queued(record)
        # A bucket that was emptied and made again may change its tier, and must be removed from the old tier too.
        if was_queued not in {None, flag}:
            self._queue.drop(height)
        if record is not None:
            self._queue.put(height, record, is_queued=is_queued(record))


def is_queued(record: bytes) -> bool:
    """Return the flag of an encoded bucket: its last byte, which msgpack has for true and no damage elsewhere hides."""
    return record[-1:] == _TRUE


def scan_buckets(items: Iterable[tuple[bytes, bytes]]) -> dict[int, bytes]:
    """Return the encoded buckets among the state's entries, by height, ascending."""
    return {int.from_bytes(key[1:9], "big"): value for key, value in sorted(items) if key[0] == BUCKETS.code}
