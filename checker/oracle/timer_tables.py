"""The tables of a timer: the cells of its index, and its removal from all of them."""

from typing import Final

from checker.oracle import escrow, watches
from checker.oracle.contents import Bucket, Contents, Timer, TimerCounts
from checker.oracle.records import write

KEY_BYTES: Final = 32


def index_cells(timer: Timer, bucket: Bucket) -> int:
    """Return the cells of a new timer's index: its record, its entry, and its bucket if that is new."""
    records: list[list[object]] = [list(timer._replace(payload=b"")), [timer.timer_id]]
    if not bucket.live:
        records.append([0, 1, 1, bucket.queued])
    return sum(KEY_BYTES + len(write(record)) for record in records)


def remove_timer(contents: Contents, timer: Timer) -> None:
    """Remove a timer from all its tables, and its escrow; the last timer of a height removes the bucket."""
    escrow.give_back(contents, timer)
    watches.end(contents, timer)
    contents.timers.put(timer.timer_id, None)
    contents.bucket_entries.put((timer.due, timer.sequence), None)
    bucket = contents.buckets.rows[timer.due]
    contents.buckets.put(timer.due, bucket._replace(live=bucket.live - 1) if bucket.live > 1 else None)
    counts = contents.counts.rows[timer.actor]
    contents.counts.put(timer.actor, TimerCounts(counts.live - 1, counts.scheduled))
