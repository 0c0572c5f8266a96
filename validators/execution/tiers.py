"""The calendar queue of one block: epoch maintenance at its start, and the tables of the tiers at its end.

Both tables follow from the state's buckets, its calendar profile and its present (docs/state.md, tiers).
"""

import msgspec

from scheduler import EpochPromoted, Moment
from validators.execution.heights import BranchHeights
from validators.execution.schema import (
    BUCKETS,
    CALENDAR,
    OVERFLOW,
    Epoch,
    Overflow,
    bucket_key,
    epoch_key,
)
from validators.execution.view import View


class Tiers:
    """The heights of one block, searched and changed while it runs."""

    def __init__(self, view: View, parent: BranchHeights, moment: Moment) -> None:
        self._view = view
        self._parent = parent
        self._moment = moment
        self.heights, self._left_overflow = parent.next_block(moment.now)

    @property
    def promoted(self) -> int:
        """The number of heights that the queue reports as moved out of the overflow tree for this block."""
        return self._left_overflow

    def count_left_overflow(self) -> int:
        """Return the number of heights by which the overflow tree is smaller than the parent's."""
        return len(self._parent.overflow) - len(self.heights.overflow)

    @property
    def epoch_length(self) -> int:
        """The length of an epoch in this block, in the timebase."""
        return self._parent.profile.epoch_length

    def promote(self) -> EpochPromoted | None:
        """Return the event of epoch maintenance if an epoch begins with this block (A-1), else None."""
        length = self.epoch_length
        epoch = self._moment.now // length
        if epoch <= self._moment.parent_now // length:
            return None
        return EpochPromoted(epoch, self._left_overflow)

    def close(self) -> None:
        """Take over the block's changes of its buckets, and write the tables."""
        profile = self._view.get(CALENDAR, CALENDAR.key())
        assert profile is not None, "genesis writes the calendar profile"
        self.heights.settle(profile, self._record_of)
        before, after = self._parent.epochs, self.heights.epochs
        for epoch in sorted(before | after):
            count = after.get(epoch, 0)
            if count != before.get(epoch, 0):
                self._view.set(epoch_key(epoch), Epoch(count) if count else None)
        tree = self.heights.overflow
        if tree is not self._parent.overflow:
            self._view.set(OVERFLOW.key(), Overflow(len(tree), tree.root()) if tree else None)

    def _record_of(self, height: int) -> bytes | None:
        bucket = self._view.get(BUCKETS, bucket_key(height))
        return None if bucket is None else msgspec.msgpack.encode(bucket)
