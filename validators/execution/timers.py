"""The tables of timers over the state, and the waiting set that is carried from block to block.

The timers waiting at the end of a block are a list from which its children start, so that a block reads only the timers
that become due in it. Without the list, 20,000 timers waiting for the GC lane would be read and decoded in each block.
The list is derived data: it equals the timers of the buckets up to the block's present, and a restart reads it from
them. A block copies the parts that it changes and shares the rest (timer_list.py).

The timer lane asks for the same timers in many orders, as a pool. A validator has one pool, which follows the blocks
that it executes. A block that starts where the last block ended reuses the pool; any other block makes its own from the
list.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, cast

import msgspec

from scheduler import MAX_U63, Bucket, Reach, Timer, buckets, unheard
from scheduler.pool import DuePool, OpensPool, Pool
from validators.execution.heights import BranchHeights
from validators.execution.schema import (
    BUCKET_ENTRIES,
    BUCKETS,
    TIMER_COUNTS,
    TIMERS,
    BucketEntry,
    TimerCounts,
    bucket_entry_key,
    bucket_key,
    timer_counts_key,
    timer_key,
)
from validators.execution.timer_list import NO_TIMERS, Place, TimerList
from validators.execution.view import View
from validators.state.rules import StateRule

TIMER_KEYS_MAX: Final = 1 << 18
"""Most keys of timers that a validator remembers; at the limit it forgets all of them."""

_NO_TIMERS: Final = TimerCounts(0, 0)


@dataclass(frozen=True, slots=True, eq=False)
class Waiting:
    """All live timers due at or before `through`, ordered by (due, sequence). Shared between forks, never changed.

    `carried` is data that the block's `policy` keeps for its children outside the state; None where it is not known.
    """

    timers: TimerList
    through: int
    carried: object | None = None
    policy: str = ""


NOTHING_READ: Final = Waiting(NO_TIMERS, -1)
"""The start of a branch about which nothing is known yet: every due timer is read from the state."""


class TimerKeys:
    """A cache of the keys of timers: a Keccak-256 costs more than all other work in memory to remove a timer."""

    def __init__(self) -> None:
        self._keys: dict[bytes, bytes] = {}

    def key_of(self, timer_id: bytes) -> bytes:
        """Return the state's key of a timer."""
        key = self._keys.get(timer_id)
        if key is None:
            if len(self._keys) >= TIMER_KEYS_MAX:
                self._keys.clear()
            key = self._keys[timer_id] = timer_key(timer_id)
        return key

    def forget(self, timer_id: bytes) -> bytes:
        """Return the key of a timer that leaves the state; a fork that still has the timer will hash it again."""
        key = self._keys.pop(timer_id, None)
        return timer_key(timer_id) if key is None else key


class PoolKeeper:
    """A validator's only pool, and the waiting set that it represents."""

    def __init__(self, reach: Reach = unheard) -> None:
        self.reach = reach
        self._pool: DuePool | None = None
        self._waiting: Waiting | None = None

    def take(self, waiting: Waiting, rules: OpensPool[Pool]) -> Pool | None:
        """Hand the pool to the caller, as its only holder, if it represents this waiting set under these rules."""
        pool, stands_for = self._pool, self._waiting
        # Handed out once: a second fork that took it would see the first fork's removals.
        self._pool = self._waiting = None
        if pool is None or stands_for is not waiting or pool.rules != rules:
            return None
        return cast("Pool", pool)

    @property
    def kept(self) -> tuple[DuePool, Waiting] | None:
        """The pool and the waiting set that it represents, unless it is handed out."""
        return None if self._pool is None or self._waiting is None else (self._pool, self._waiting)

    def give_back(self, waiting: Waiting, pool: DuePool) -> None:
        """Keep a pool that represents this waiting set now."""
        self._pool, self._waiting = pool, waiting


class StateTimers:
    """The scheduler's TimerTables for one block (docs/state.md, timers)."""

    __slots__ = (
        *("_carried", "_collected", "_heights", "_keys", "_pool", "_pools", "_reach", "_touched", "_view", "due"),
    )

    def __init__(
        self, view: View, heights: BranchHeights, carried: Waiting, keys: TimerKeys, *, pools: PoolKeeper
    ) -> None:
        self._view = view
        self._heights = heights
        self._carried = carried
        self._keys = keys
        self._pools = pools
        self._pool: DuePool | None = None
        self._reach = carried.through
        self.due = 0
        self._collected = carried.timers
        # This block's changes to timers of the carried list, by their places there.
        self._touched: dict[Place, Timer | None] = {}

    def timer(self, timer_id: bytes) -> Timer | None:
        """Return the live timer of this identifier."""
        return self._view.get(TIMERS, self._keys.key_of(timer_id))

    def next_sequence(self, due: int) -> int:
        """Return the sequence that the next timer inserted at `due` must have."""
        return buckets.next_sequence(self, due)

    def insert(self, timer: Timer) -> None:
        """Add a timer at the tail of its height."""
        # A timer inserted below would be in the tables, but on no list until a restart reads it.
        assert timer.due > self._reach, f"a timer due at {timer.due} comes after {self._reach} was collected"
        sequence = buckets.append(self, timer.due, timer.timer_id, is_queued=self._heights.is_queued(timer.due))
        assert timer.sequence == sequence, f"sequence {timer.sequence} where {sequence} comes next"
        self._view.set(self._keys.key_of(timer.timer_id), timer)
        counts = self._counts(timer.actor)
        self._view.set(timer_counts_key(timer.actor), TimerCounts(counts.live + 1, counts.scheduled + 1))

    def replace(self, timer: Timer) -> None:
        """Replace the record with the same identifier."""
        self._view.set(self._keys.key_of(timer.timer_id), timer)
        if timer.due <= self._reach:
            # Through the view, so that a reverted call undoes this as well.
            self._view.change(self._touched, (timer.due, timer.sequence), timer)

    def remove(self, timer: Timer) -> None:
        """Take a live timer out of every table."""
        self._view.set(self._keys.forget(timer.timer_id), None)
        buckets.take(self, timer.due, timer.sequence)
        counts = self._counts(timer.actor)
        assert counts.live > 0, f"actor {timer.actor.hex()} has no live timer to remove"
        self._view.set(timer_counts_key(timer.actor), TimerCounts(counts.live - 1, counts.scheduled))
        if timer.due <= self._reach:
            # Through the view, so that a reverted call undoes this as well.
            self._view.change(self._touched, (timer.due, timer.sequence), None)

    def bucket(self, due: int) -> Bucket | None:
        """Return a height's bucket."""
        return self._view.get(BUCKETS, bucket_key(due))

    def set_bucket(self, due: int, bucket: Bucket | None) -> None:
        """Put a height's bucket; note that it was written, and the flag of the bucket that the block found there."""
        key = bucket_key(due)
        # The first time only: the flag is that of the bucket before this block.
        if due not in self._heights.touched:
            found = self._view.get(BUCKETS, key)
            self._view.change(self._heights.touched, due, None if found is None else found.queued)
        self._view.set(key, bucket)

    def entry(self, due: int, sequence: int) -> bytes | None:
        """Return the identifier of the timer at a place."""
        entry = self._view.get(BUCKET_ENTRIES, bucket_entry_key(due, sequence))
        return None if entry is None else entry.timer_id

    def set_entry(self, due: int, sequence: int, timer_id: bytes | None) -> None:
        """Put an identifier at a place; None removes it."""
        self._view.set(bucket_entry_key(due, sequence), None if timer_id is None else BucketEntry(timer_id))

    def live_timers(self, actor: bytes) -> int:
        """Return the number of the actor's live timers."""
        return self._counts(actor).live

    def scheduled_timers(self, actor: bytes) -> int:
        """Return the number of timers that the actor ever scheduled."""
        return self._counts(actor).scheduled

    def collect(self, upto: int) -> TimerList:
        """Return every live timer due at or before `upto`, ordered by (due, sequence): carried timers first."""
        self._collect(upto)
        return self._collected

    def _collect(self, upto: int) -> Sequence[Timer]:
        """Collect, and return the timers that were not on the list before."""
        carried = self._current()
        fresh = tuple(self._read_due(upto))
        self._collected = carried.extended(fresh)
        self.due = len(self._collected)
        self._reach = max(upto, self._reach)
        self._touched = {}
        return fresh

    def collect_pool(self, upto: int, rules: OpensPool[Pool]) -> Pool:
        """Return the timers of `collect` as a pool. A timer removed from it must be removed from the tables as well."""
        carried, touched = self._carried.timers, self._touched
        pool = self._pools.take(self._carried, rules)
        is_known = len(self._current()) > 0
        fresh: Sequence[Timer] = self._collect(upto)
        if is_known:
            self._pools.reach(StateRule.POOL_MADE_ANEW if pool is None else StateRule.POOL_KEPT)
        if pool is None:
            pool, fresh = rules.open_pool(), self._collected
        else:
            for place, changed in touched.items():
                timer = carried.at(place)
                if timer is None:
                    continue
                pool.discard(timer)
                self._pools.reach(StateRule.POOL_TIMER_REMOVED if changed is None else StateRule.POOL_TIMER_CHANGED)
                if changed is not None:
                    pool.add(changed)
        for timer in fresh:
            pool.add(timer)
        if pool.has_split_books:
            self._pools.reach(StateRule.BOOK_SPLIT)
        self._pool = pool
        return pool

    def bring_forward(self, timers: Sequence[Timer], due: int) -> list[Timer]:
        """Move timers that are not due to the tail of a collected height; return them as they wait there."""
        moved = []
        for timer in timers:
            assert due <= self._reach < timer.due, f"a timer due at {timer.due} is brought forward to {due}"
            buckets.take(self, timer.due, timer.sequence)
            sequence = buckets.append(self, due, timer.timer_id, is_queued=self._heights.is_queued(due))
            moved.append(msgspec.structs.replace(timer, due=due, sequence=sequence))
            self._view.set(self._keys.key_of(timer.timer_id), moved[-1])
        if moved:
            # At the end, as their places are: the block's children start from this list. Removed timers go first: an
            # emptied height starts its sequence again, and a place then belongs to another timer.
            self._collected = self._current().extended(moved)
            self._touched = {}
        if self._pool is not None:
            for timer in moved:
                self._pool.add(timer)
        return moved

    def by_due(self) -> Iterator[Sequence[Timer]]:
        """Yield the live timers of each due height, heights ascending, timers by sequence."""
        # The index of heights is that of the block's start; this block's own heights are added.
        heights = dict.fromkeys([*self._heights.due_heights(MAX_U63), *self._heights.touched])
        for due in sorted(heights):
            found = [self.timer(timer_id) for _, timer_id in buckets.read(self, due)]
            if found:
                yield [timer for timer in found if timer is not None]

    def carried_for(self, policy: str) -> object | None:
        """Return the data that a policy carried from the parent; None where the parent had another policy."""
        return self._carried.carried if self._carried.policy == policy else None

    def waiting(self, policy: str, carried: object | None) -> Waiting:
        """Return the waiting timers, and the policy's carried data, for the children of this block."""
        waiting = Waiting(self._current(), self._reach, carried, policy)
        if self._pool is not None:
            self._pools.give_back(waiting, self._pool)
        return waiting

    def count_waiting(self) -> int:
        """Count the collected timers that still wait."""
        return len(self._current())

    def _current(self) -> TimerList:
        """Return the list with this block's changes to its timers."""
        return self._collected.changed(self._touched)

    def _read_due(self, upto: int) -> Iterator[Timer]:
        for due in self._heights.due_heights(upto, after=self._reach):
            # A height may have lost its bucket: its timers were cancelled by this block's transactions.
            for _, timer_id in buckets.read(self, due):
                timer = self.timer(timer_id)
                assert timer is not None, f"height {due} names timer {timer_id.hex()}, which is not there"
                yield timer

    def _counts(self, actor: bytes) -> TimerCounts:
        return self._view.get(TIMER_COUNTS, timer_counts_key(actor)) or _NO_TIMERS
