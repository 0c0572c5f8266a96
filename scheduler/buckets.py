"""The timers of one height in the order in which they came: the calendar queue's buckets (C-2, docs/state.md, timers).

An operation reads or writes only a bucket's counters and one entry, except for the walk over gaps when the first timer
leaves. Each gap is passed once in a bucket's life.
"""

from collections.abc import Iterator
from typing import Protocol

import msgspec


class Bucket(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """The timers due at one height: `head` is the lowest live sequence, `tail` the next free one, `count` the live.

    `queued` says whether the height was out of range of the ring when the bucket was made, and never changes (K-32).
    """

    head: int
    tail: int
    count: int
    queued: bool


class BucketTable(Protocol):
    """Where buckets and their entries are kept."""

    def bucket(self, due: int) -> Bucket | None:
        """Return a height's bucket."""

    def set_bucket(self, due: int, bucket: Bucket | None) -> None:
        """Put a height's bucket; None removes it."""

    def entry(self, due: int, sequence: int) -> bytes | None:
        """Return the identifier of the timer at a place."""

    def set_entry(self, due: int, sequence: int, timer_id: bytes | None) -> None:
        """Put an identifier at a place; None removes it."""


def next_sequence(table: BucketTable, due: int) -> int:
    """Return the sequence that the next timer of a height gets."""
    bucket = table.bucket(due)
    return 0 if bucket is None else bucket.tail


def new_bucket(*, is_queued: bool) -> Bucket:
    """Return the bucket that the first timer of a height makes."""
    return Bucket(0, 1, 1, is_queued)


def append(table: BucketTable, due: int, timer_id: bytes, *, is_queued: bool) -> int:
    """Put a timer at the tail of its height and return its sequence; `is_queued` is the flag of a new bucket."""
    bucket = table.bucket(due)
    if bucket is None:
        table.set_entry(due, 0, timer_id)
        table.set_bucket(due, new_bucket(is_queued=is_queued))
        return 0
    table.set_entry(due, bucket.tail, timer_id)
    table.set_bucket(due, Bucket(bucket.head, bucket.tail + 1, bucket.count + 1, bucket.queued))
    return bucket.tail


def take(table: BucketTable, due: int, sequence: int) -> None:
    """Take a timer out; with the last one the bucket goes."""
    bucket = table.bucket(due)
    assert bucket is not None, f"no timer lies at {due}, {sequence}"
    table.set_entry(due, sequence, None)
    # The bucket goes with its last timer: sequences of a later one begin at 0 again, and charge for the record again.
    if bucket.count == 1:
        table.set_bucket(due, None)
        return
    head = bucket.head
    if sequence == head:
        head += 1
        # Gaps that cancellations left: each is passed once, since the head never goes back.
        while table.entry(due, head) is None:
            head += 1
            assert head < bucket.tail, f"the bucket of {due} counts {bucket.count} live timers and holds one"
    table.set_bucket(due, Bucket(head, bucket.tail, bucket.count - 1, bucket.queued))


def read(table: BucketTable, due: int) -> Iterator[tuple[int, bytes]]:
    """Yield sequence and identifier of a height's timers in order; nothing where there is no bucket."""
    bucket = table.bucket(due)
    if bucket is None:
        return
    # To the tail and not for `count` entries: there are gaps between the live ones.
    for sequence in range(bucket.head, bucket.tail):
        timer_id = table.entry(due, sequence)
        if timer_id is not None:
            yield sequence, timer_id
