"""The scheduler over dicts: the calendar queue beside heapq, and the lane's block time by how many timers wait.

    python -m benchmarks.bench_scheduler [--full]

`--full` also measures ten times as many timers, in many minutes.

The classes are the chain's own. All is processor time.
"""

import gc
import heapq
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Final

import msgspec

from benchmarks.auction_chain import AuctionChain
from benchmarks.bias_chain import BiasChain
from benchmarks.dict_chain import RICH, DictBuckets, DictChain, timer_of
from benchmarks.figures import DETAIL
from benchmarks.queue_chain import QueueChain
from scheduler import (
    Bucket,
    CalendarProfile,
    CalendarQueue,
    LaneConfig,
    Quote,
    buckets,
)
from scheduler.ready_queue import QueueRules
from validators.execution.heights import BranchHeights
from validators.execution.timers import NOTHING_READ, PoolKeeper, StateTimers, TimerKeys
from validators.execution.view import StateCodec, View
from validators.state import Database

HEIGHTS: Final = 1_000
PENDING: Final = (100_000, 1_000_000, 10_000_000)
WAITING: Final = (1_000, 10_000, 100_000, 1_000_000)
BLOCKS: Final = 20
POOR: Final = 10**9
STATE_TIMERS: Final = 20_000
STATE_WAITING_MAX: Final = 100_000
PROFILE: Final = CalendarProfile(4_096, 3_600, 24)

GROWTH_TARGET: Final = 1.5
EAGER_TARGET_US: Final = 0.3
CURSOR_TARGET: Final = 2.0

Show = Callable[[str], None]


def run(show: Show = print, pending: Sequence[int] = PENDING, waiting: Sequence[int] = WAITING) -> None:
    """Print all figures."""
    run_queue(show, pending)
    run_state(show)
    run_lane(show, waiting)
    run_auction(show, waiting)
    run_bias(show, waiting)
    run_scheduled(show, waiting)
    run_tables(show, [count for count in waiting if count <= STATE_WAITING_MAX])


def run_queue(show: Show, pending: Sequence[int]) -> None:
    """Print the cost of scheduling and delivering a timer at several sizes, heapq beside it."""
    rows: list[tuple[float, float, float]] = []
    for count in pending:
        scheduled, delivered, size = time_queue(count)
        peer = time_heapq(count)
        rows.append((scheduled, delivered, peer))
        show(
            f"calendar, {count:>10,} timers over {HEIGHTS:,} heights: {scheduled:6.0f} ns to schedule  {delivered:6.0f}"
            f" to deliver  {size:4.0f} bytes; heapq {peer:6.0f} ns for both{DETAIL * (count != pending[-1])}"
        )
    first, last = rows[0], rows[-1]
    growth = (last[0] + last[1]) / (first[0] + first[1])
    show(
        f"  growth {growth:.2f} times ({verdict(growth <= GROWTH_TARGET)}, target {GROWTH_TARGET});"
        f" heapq {last[2] / first[2]:.2f} times"
    )


def time_queue(count: int) -> tuple[float, float, float]:
    """Return nanoseconds to schedule and to deliver one timer, and the bytes that one takes."""
    identifiers = [number.to_bytes(32, "big") for number in range(count)]
    gc.collect()
    gc.disable()
    queue, table = CalendarQueue(PROFILE, 0), DictBuckets()
    started = time.process_time()
    for number, identifier in enumerate(identifiers):
        # Neighbours in time are far apart in height: 617 is prime to the number of heights.
        due = 1 + number * 617 % HEIGHTS
        is_queued = PROFILE.is_queued(due, 0)
        if buckets.append(table, due, identifier, is_queued=is_queued) == 0:
            queue.put(due, b"", is_queued=is_queued)
    scheduled = time.process_time() - started
    size = table.size_bytes() / count
    delivered, started = 0, time.process_time()
    for now in range(1, HEIGHTS + 1):
        for due in queue.advance(now).due:
            for sequence, _ in list(buckets.read(table, due)):
                buckets.take(table, due, sequence)
                delivered += 1
    spent = time.process_time() - started
    assert delivered == count
    gc.enable()
    return 1e9 * scheduled / count, 1e9 * spent / count, size


def time_heapq(count: int) -> float:
    """Return nanoseconds to push and pop one timer."""
    identifiers = [number.to_bytes(32, "big") for number in range(count)]
    gc.collect()
    gc.disable()
    heap: list[tuple[int, int, bytes]] = []
    started = time.process_time()
    for number, identifier in enumerate(identifiers):
        heapq.heappush(heap, (1 + number * 617 % HEIGHTS, number, identifier))
    while heap:
        heapq.heappop(heap)
    spent = time.process_time() - started
    gc.enable()
    return 1e9 * spent / count


def run_state(show: Show) -> None:
    """Print the cost of a timer over the real state, beside the state's own cost of the same writes."""
    database, heights, bare = Database(), BranchHeights(PROFILE, 0), Database()
    keys, pools, codec = TimerKeys(), PoolKeeper(), StateCodec()
    timers = [
        msgspec.structs.replace(timer_of(number), due=1 + number * 617 % HEIGHTS) for number in range(STATE_TIMERS)
    ]
    sequences: dict[int, int] = {}
    for index, timer in enumerate(timers):
        sequence = sequences.get(timer.due, 0)
        sequences[timer.due] = sequence + 1
        timers[index] = msgspec.structs.replace(timer, sequence=sequence)

    def insert(tables: StateTimers) -> None:
        for timer in timers:
            tables.insert(timer)

    def remove(tables: StateTimers) -> None:
        for timer in tables.collect(HEIGHTS):
            tables.remove(timer)

    for name, act in (("schedule", insert), ("deliver", remove)):
        gc.collect()
        batch = database.batch()
        view = View(batch, codec)
        tables = StateTimers(view, heights, NOTHING_READ, keys, pools=pools)
        started = time.process_time()
        act(tables)
        view.flush()
        batch.merkleize()
        database.apply(batch)
        spent = time.process_time() - started
        heights.settle(PROFILE, lambda height, table=tables: encoded(table.bucket(height)))  # type: ignore[misc]
        changes = dict(batch.changes)
        own = time_writes(bare, changes)
        assert bare.root == database.root
        show(
            f"over the state, {STATE_TIMERS:,} timers: {1e6 * spent / STATE_TIMERS:6.1f} us to {name}, the state's own"
            f" cost {1e6 * own / STATE_TIMERS:6.1f} us: {spent / own:.2f} times"
        )


def encoded(bucket: Bucket | None) -> bytes | None:
    """Return a bucket's record."""
    return None if bucket is None else msgspec.msgpack.encode(bucket)


def time_writes(database: Database, changes: Mapping[bytes, bytes | None]) -> float:
    """Return the seconds that a state takes for these writes alone."""
    gc.collect()
    started = time.process_time()
    batch = database.batch()
    for key, value in changes.items():
        batch.write(key, value)
    batch.merkleize()
    database.apply(batch)
    return time.process_time() - started


def run_lane(show: Show, waiting: Sequence[int]) -> None:
    """Print the time of a block by number of waiting timers, in blocks after the one in which they become due."""
    eager, cursor = LaneConfig(), LaneConfig(classification="cursor", gc_scan_per_block=500)
    for lane, balance in ((eager, RICH), (eager, POOR), (cursor, RICH)):
        classification = lane.classification
        rows = [time_blocks(lane, count, balance) for count in waiting]
        payers = "" if balance == RICH else ", payers too poor"
        for count, (block_us, first_us, prices) in zip(waiting, rows, strict=True):
            per_timer = f"{block_us / count:6.3f} us a timer" if classification == "eager" else ""
            show(
                f"lane, {classification:6}, {count:>9,} wait{payers}: {block_us:9.0f} us a block  {per_timer}"
                f"  ({first_us / count:.1f} us once; {prices} prices){DETAIL * (count != waiting[-1])}"
            )
        if classification == "eager":
            worst = rows[-1][0] / waiting[-1]
            show(f"  {worst:.3f} us a timer ({verdict(worst <= EAGER_TARGET_US)}, target {EAGER_TARGET_US})")
        else:
            growth = rows[-1][0] / rows[0][0]
            show(f"  growth {growth:.2f} times ({verdict(growth <= CURSOR_TARGET)}, target {CURSOR_TARGET})")


def time_blocks(lane: LaneConfig, waiting: int, balance: int) -> tuple[float, float, int]:
    """Return microseconds of a block, of the block in which all become due, and the number of lane prices."""
    chain, prices = DictChain(lane, waiting, balance), dict[int, None]()

    def run_block(height: int) -> None:
        chain.run_block(height)
        assert chain.left is not None
        # All become due in the first block, which is measured on its own.
        if height > 1:
            prices[chain.left.basefee] = None

    return *time_phases(run_block), len(prices)


def run_auction(show: Show, waiting: Sequence[int]) -> None:
    """Print the time of a block of the GBA auction by number of waiting timers; it asks 1,000 agents whatever waits."""
    worst = 0.0
    for count in waiting:
        block_us, first_us = time_phases(AuctionChain(count).run_block)
        worst = block_us / count
        show(
            f"GBA auction,  {count:>9,} wait: {block_us:9.0f} us a block  {worst:6.3f} us a timer"
            f"  ({first_us / count:.1f} us once){DETAIL * (count != waiting[-1])}"
        )
    show(f"  {worst:.3f} us a timer ({verdict(worst <= EAGER_TARGET_US)}, target {EAGER_TARGET_US})")


def run_bias(show: Show, waiting: Sequence[int]) -> None:
    """Print the time of a block of the bias auction by number of waiting timers, in cohorts and each in its own."""
    for is_scattered in (False, True):
        worst = 0.0
        for count in waiting:
            block_us, first_us = time_phases(BiasChain(count, is_scattered=is_scattered).run_block)
            worst = block_us / count
            show(
                f"bias auction, {count:>9,} wait{', each a cohort' if is_scattered else ''}:"
                f" {block_us:9.0f} us a block  {worst:6.3f} us a timer"
                f"  ({first_us / count:.1f} us once){DETAIL * (count != waiting[-1])}"
            )
        show(f"  {worst:.3f} us a timer ({verdict(worst <= EAGER_TARGET_US)}, target {EAGER_TARGET_US})")


def run_scheduled(show: Show, waiting: Sequence[int]) -> None:
    """Print the time of a block of scheduled transactions by number of due entries; it takes a hundred of them."""
    worst = 0.0
    for count in waiting:
        block_us, first_us = time_phases(QueueChain(count).run_block)
        worst = block_us / count
        show(
            f"scheduled,    {count:>9,} due: {block_us:9.0f} us a block  {worst:6.3f} us an entry"
            f"  ({first_us / count:.1f} us once){DETAIL * (count != waiting[-1])}"
        )
    show(f"  {worst:.3f} us an entry ({verdict(worst <= EAGER_TARGET_US)}, target {EAGER_TARGET_US})")


def run_tables(show: Show, waiting: Sequence[int]) -> None:
    """Print the time of what the tables do about waiting timers in a block that takes a hundred, by number of these."""
    for count in waiting:
        database, heights, codec = Database(), BranchHeights(PROFILE, 0), StateCodec()
        keys, pools = TimerKeys(), PoolKeeper()
        batch = database.batch()
        view = View(batch, codec)
        tables = StateTimers(view, heights, NOTHING_READ, keys, pools=pools)
        for number in range(count):
            tables.insert(msgspec.structs.replace(timer_of(number), due=1, sequence=number, quote=Quote(100, 0)))
        view.flush()
        heights.settle(PROFILE, lambda height, table=tables: encoded(table.bucket(height)))  # type: ignore[misc]
        left, spent = NOTHING_READ, 0.0
        for block in range(1 + BLOCKS):
            gc.collect()
            started = time.process_time()
            tables = StateTimers(view, heights, left, keys, pools=pools)
            pool = tables.collect_pool(1, QueueRules())
            for timer in list(islice(pool.in_key_order(), 100)):
                pool.discard(timer)
                tables.remove(timer)
            tables.collect(1)
            left = tables.waiting("aptos", None)
            # The first block reads them all.
            spent += (time.process_time() - started) * (block > 0)
        detail = DETAIL * (count != waiting[-1])
        show(f"tables,       {count:>9,} wait: {1e6 * spent / BLOCKS:9.0f} us a block that takes a hundred{detail}")


def time_phases(run_block: Callable[[int], object]) -> tuple[float, float]:
    """Return microseconds of a block, and of the block in which all timers become due."""
    gc.collect()
    gc.freeze()
    started = time.process_time()
    run_block(1)
    first = time.process_time() - started
    gc.collect()
    gc.freeze()
    started = time.process_time()
    for height in range(2, 2 + BLOCKS):
        run_block(height)
    spent = time.process_time() - started
    gc.unfreeze()
    return 1e6 * spent / BLOCKS, 1e6 * first


def verdict(is_met: bool) -> str:  # noqa: FBT001 - one condition
    """Return `met` or `MISSED`."""
    return "met" if is_met else "MISSED"


if __name__ == "__main__":
    is_full = "--full" in sys.argv
    run(pending=PENDING if is_full else PENDING[:-1], waiting=WAITING if is_full else WAITING[:-1])
