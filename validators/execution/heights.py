"""Which heights have timers: the calendar queue of each branch, derived from the buckets of its state.

Each block's queue starts as its parent's and goes its own way, so forks share nothing that changes and dropping a
branch costs nothing. Heights that are due and still have a bucket stand beside it: the queue lets go of what is due.
Invariant: the answer equals what a scan of the buckets in the branch's state would give (tests compare the two).
"""

from collections.abc import Callable, Iterable
from typing import final

from scheduler import CalendarQueue, HeightTree, Profile
from validators.execution.schema import BUCKETS


@final
class BranchHeights:
    """The heights with timers as of one block.

    While the block runs `touched` holds the heights whose bucket it wrote, and whether they had one before.
    """

    __slots__ = ("_overdue", "_queue", "touched")

    def __init__(self, profile: Profile, now: int, buckets: Iterable[tuple[int, bytes]] = ()) -> None:
        """Make the index anew: `buckets` are heights with the encoded records of their buckets."""
        self._queue = CalendarQueue(profile, now)
        self._overdue: list[int] = []
        self.touched: dict[int, bool] = {}
        for height, record in buckets:
            if height <= now:
                self._overdue.append(height)
            else:
                self._queue.put(height, record)
        self._overdue.sort()

    @property
    def now(self) -> int:
        """The present of the block."""
        return self._queue.now

    @property
    def epochs(self) -> dict[int, int]:
        """How many heights lie in each epoch of the epoch queue, zeros left out."""
        return self._queue.epochs

    @property
    def overflow(self) -> HeightTree:
        """The heights beyond the epoch queue."""
        return self._queue.overflow

    @property
    def profile(self) -> Profile:
        """The sizes of the tiers."""
        return self._queue.profile

    def next_block(self, now: int) -> tuple["BranchHeights", int]:
        """Return the index of a child block at its start, and how many heights left the overflow tree for it."""
        child = BranchHeights.__new__(BranchHeights)
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

    def settle(self, profile: Profile, record_of: Callable[[int], bytes | None]) -> None:
        """Take over what the block did to its buckets; `record_of` tells a bucket's record, None where it has none."""
        gone: dict[int, None] = {}
        for height, had_bucket in self.touched.items():
            record = record_of(height)
            if height > self._queue.now:
                if record is not None:
                    self._queue.put(height, record)
                elif had_bucket:
                    self._queue.drop(height)
            elif record is None:
                gone[height] = None
        if gone:
            self._overdue = [height for height in self._overdue if height not in gone]
        self.touched = {}
        if profile != self.profile:
            queue = CalendarQueue(profile, self._queue.now)
            for height in self._queue.heights():
                queue.put(height, record_of(height) or b"")
            self._queue = queue


def scan_buckets(items: Iterable[tuple[bytes, bytes]]) -> dict[int, bytes]:
    """Return the encoded buckets among the state's entries, by height, ascending."""
    return {int.from_bytes(key[1:9], "big"): value for key, value in sorted(items) if key[0] == BUCKETS.code}
