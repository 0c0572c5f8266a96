"""The scheduler over dicts: the calendar queue beside heapq, and the lane's block time by how many timers wait.

The classes are those that the chain runs. Times are the processor's, so that a busy machine does not count.
"""

import gc
import heapq
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec

from scheduler import (
    Basefees,
    BlockContext,
    BlockPhase,
    Bucket,
    CalendarProfile,
    CalendarQueue,
    FeeParams,
    GbaContext,
    GbaFailure,
    Lane,
    LaneConfig,
    LaneMarket,
    Moment,
    PhaseResult,
    PoolRules,
    Quote,
    RunOutcome,
    Timer,
    TimerConfig,
    WaitingPool,
    buckets,
    read_market,
)
from scheduler.policies.eip1559 import Eip1559InBlock
from validators.execution.heights import BranchHeights
from validators.execution.timers import NOTHING_READ, PoolKeeper, StateTimers, TimerKeys
from validators.execution.view import DecodedCache, View
from validators.state import Database

HEIGHTS: Final = 1_000
PENDING: Final = (100_000, 1_000_000, 10_000_000)
WAITING: Final = (1_000, 10_000, 100_000, 1_000_000)
ACTORS: Final = 1_000
BLOCKS: Final = 20
RICH: Final = 10**15
POOR: Final = 10**9
STATE_TIMERS: Final = 20_000
PROFILE: Final = CalendarProfile(4_096, 3_600, 24)

GROWTH_TARGET: Final = 1.5
EAGER_TARGET_US: Final = 0.3
CURSOR_TARGET: Final = 2.0

Show = Callable[[str], None]


class DictBuckets:
    """A BucketTable over dicts by height: the bucket, and its entries as a list by sequence."""

    def __init__(self) -> None:
        self._buckets: dict[int, Bucket] = {}
        self._entries: dict[int, list[bytes | None]] = {}

    def size_bytes(self) -> int:
        """Return what the table holds beside the identifiers themselves."""
        held = [*self._buckets.values(), *self._entries.values(), self._buckets, self._entries]
        return sum(map(sys.getsizeof, held))

    def bucket(self, due: int) -> Bucket | None:
        """Return a height's bucket."""
        return self._buckets.get(due)

    def set_bucket(self, due: int, bucket: Bucket | None) -> None:
        """Put a height's bucket; None removes it with what holds its entries."""
        if bucket is None:
            del self._buckets[due], self._entries[due]
        else:
            self._buckets[due] = bucket

    def entry(self, due: int, sequence: int) -> bytes | None:
        """Return the identifier at a place."""
        return self._entries[due][sequence]

    def set_entry(self, due: int, sequence: int, timer_id: bytes | None) -> None:
        """Put an identifier at a place; None removes it."""
        if timer_id is None:
            self._entries[due][sequence] = None
        else:
            # Places are filled in order and once: the tail is the length.
            self._entries.setdefault(due, []).append(timer_id)


def run(show: Show = print, pending: Sequence[int] = PENDING, waiting: Sequence[int] = WAITING) -> None:
    """Print all figures."""
    run_queue(show, pending)
    run_state(show)
    run_lane(show, waiting)


def run_queue(show: Show, pending: Sequence[int]) -> None:
    """Print the cost of scheduling and delivering a timer at several sizes, heapq beside it."""
    rows: list[tuple[float, float, float]] = []
    for count in pending:
        scheduled, delivered, size = time_queue(count)
        peer = time_heapq(count)
        rows.append((scheduled, delivered, peer))
        show(
            f"scheduler, {count:>10,} timers pending over {HEIGHTS:,} heights: {scheduled:6.0f} ns to schedule"
            f"  {delivered:6.0f} ns to deliver  {size:4.0f} bytes a timer beside its id   heapq {peer:6.0f} ns for both"
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
    keys, pools, cache = TimerKeys(), PoolKeeper(), DecodedCache()
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
        view = View(batch, cache)
        tables = StateTimers(view, heights, NOTHING_READ, keys, pools)
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
            f"scheduler over the state, {STATE_TIMERS:,} timers in a block:"
            f" {1e6 * spent / STATE_TIMERS:6.1f} us to {name}"
            f"   the state's own cost of these {len(changes):,} writes {1e6 * own / STATE_TIMERS:6.1f} us"
            f"   {spent / own:.2f} times"
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


class DictChain:
    """TimerTables, LaneTables and Ledger over dicts, with the pool kept from block to block as the chain keeps it."""

    def __init__(self, lane: LaneConfig, waiting: int, balance: int) -> None:
        self.lane_config = lane
        # Where payers are poor nothing is removed: what is measured is finding out who can pay.
        self.config = TimerConfig(gc_lane_paused=balance < RICH)
        self.timers: dict[bytes, Timer] = {}
        self.balances = {actor_of(number): balance for number in range(ACTORS)}
        self.left: LaneMarket | None = LaneMarket(1_000, 20, 0, 1, 1_000, 0)
        self.window: dict[int, tuple[tuple[bytes, int], ...]] = {}
        self.sums: dict[bytes, int] = {}
        self.counts: dict[int, int] = {}
        self.cursor: tuple[int, int] | None = None
        self.kept: WaitingPool | None = None
        for number in range(waiting):
            self.timers[timer_id_of(number)] = timer_of(number)

    def pool(self, _upto: int, rules: PoolRules) -> WaitingPool:
        """Return all timers: all of them are due since the first block."""
        if self.kept is None:
            self.kept = WaitingPool(rules)
            for timer in self.timers.values():
                self.kept.add(timer)
        assert self.kept.rules == rules
        return self.kept

    collect_pool = pool

    def market(self) -> LaneMarket | None:
        """Return what the last block left."""
        return self.left

    def set_market(self, market: LaneMarket) -> None:
        """Leave this to the next block."""
        self.left = market

    def fires(self, height: int) -> Sequence[tuple[bytes, int]]:
        """Return a block's fires."""
        return self.window.get(height, ())

    def set_fires(self, height: int, fires: Sequence[tuple[bytes, int]]) -> None:
        """Put a block's fires."""
        self.window[height] = tuple(fires)

    def recent_fires(self, subject: bytes) -> int:
        """Return a subject's sum."""
        return self.sums.get(subject, 0)

    def set_recent_fires(self, subject: bytes, count: int) -> None:
        """Put a subject's sum and count the sums."""
        for value, change in ((self.sums.get(subject, 0), -1), (count, 1)):
            if value:
                self.counts[value] = self.counts.get(value, 0) + change
                if not self.counts[value]:
                    del self.counts[value]
        self.sums[subject] = count

    def fire_counts(self) -> Mapping[int, int]:
        """Return how many subjects have each sum."""
        return self.counts

    def gc_cursor(self) -> tuple[int, int] | None:
        """Return where the walk stopped."""
        return self.cursor

    def set_gc_cursor(self, place: tuple[int, int]) -> None:
        """Remember where the walk stopped."""
        self.cursor = place

    def timer(self, timer_id: bytes) -> Timer | None:
        """Return a timer."""
        return self.timers.get(timer_id)

    def remove(self, timer: Timer) -> None:
        """Forget a timer."""
        del self.timers[timer.timer_id]

    def insert(self, timer: Timer) -> None:
        """Refuse: these blocks schedule no timer."""
        raise NotImplementedError

    def replace(self, timer: Timer) -> None:
        """Refuse: these blocks extend no timer."""
        raise NotImplementedError

    def next_sequence(self, due: int) -> int:
        """Refuse: these blocks schedule no timer."""
        raise NotImplementedError

    def live_timers(self, actor: bytes) -> int:
        """Refuse: these blocks schedule no timer."""
        raise NotImplementedError

    def scheduled_timers(self, actor: bytes) -> int:
        """Refuse: these blocks schedule no timer."""
        raise NotImplementedError

    def collect(self, upto: int) -> Sequence[Timer]:
        """Refuse: the lane asks for the pool instead."""
        raise NotImplementedError

    def balance(self, address: bytes) -> int:
        """Return a balance."""
        return self.balances.get(address, 0)

    def charge(self, address: bytes, amount: int) -> None:
        """Take units."""
        self.balances[address] -= amount

    def credit(self, address: bytes, amount: int) -> None:
        """Give units."""
        self.balances[address] = self.balances.get(address, 0) + amount

    def burn(self, _amount: int) -> None:
        """Do nothing: burned units are not added up here."""

    def run_block(self, height: int) -> PhaseResult:
        """Run the timer phase of a block; every basefee has moved since the last one."""
        fees = Basefees(1_000 + height % 7, 900 + height % 5)
        market = read_market(self, self.lane_config, height=height, cycle_basefee=fees.cycle)
        moment, config = Moment(height, height, height - 1, "height"), self.config
        block = BlockContext(moment=moment, config=config, basefees=fees, timers=self, ledger=self, run=use_some)
        lane = Lane(self.lane_config, market, fees, 1, self, b"", ask_nobody, owner_of)
        return Eip1559InBlock(block, lane).run(BlockPhase.TIMERS)


def actor_of(number: int) -> bytes:
    """Return the address of one of the actors, each its own payer."""
    return (number % ACTORS).to_bytes(20, "big")


def timer_id_of(number: int) -> bytes:
    """Return an identifier whose order is not that of the numbers."""
    return (number * 0x9E3779B97F4A7C15 % 2**64).to_bytes(8, "big") * 4


def timer_of(number: int) -> Timer:
    """Return a timer due at block 1; offers lie on both sides of the price and of what binds them."""
    fee, tip = 700 + number * 7_919 % 2_000, number * 104_729 % 500
    actor = actor_of(number)
    gas_limit = 150_000 + 25_000 * (number % 5)
    return Timer(
        timer_id=timer_id_of(number),
        actor=actor,
        due=1,
        sequence=number,
        payload=b"",
        handler="tick",
        fee_payer=actor,
        gas_limit=gas_limit,
        gas_limit_is_default=False,
        expires_at=10**9,
        quote=Quote(fee, tip),
    )


def use_some(timer: Timer) -> RunOutcome:
    """Run a handler that uses three quarters of its limit, so that the basefee moves."""
    return RunOutcome(ok=True, cycles=3 * timer.gas_limit // 4, cells=10, events=())


def ask_nobody(_timer: Timer, _context: GbaContext) -> FeeParams | GbaFailure:
    """Return a failure: timers of this benchmark name no agent."""
    return GbaFailure.FAILED


def owner_of(actor: bytes) -> bytes:
    """Return the actor itself: every actor is its own owner."""
    return actor


def run_lane(show: Show, waiting: Sequence[int]) -> None:
    """Print the time of a block by number of waiting timers, in blocks after the one in which they become due."""
    eager, cursor = LaneConfig(), LaneConfig(classification="cursor", gc_scan_per_block=500)
    for lane, balance in ((eager, RICH), (eager, POOR), (cursor, RICH)):
        classification = lane.classification
        rows = [time_blocks(lane, count, balance) for count in waiting]
        payers = "" if balance == RICH else ", every payer too poor for some of its timers"
        for count, (block_us, first_us, prices) in zip(waiting, rows, strict=True):
            per_timer = f"{block_us / count:6.3f} us a waiting timer" if classification == "eager" else ""
            show(
                f"lane, {classification:6}, {count:>9,} timers wait{payers}: {block_us:9.0f} us a block  {per_timer}"
                f"  ({first_us / count:.1f} us each once, when due; {prices} prices in {BLOCKS} blocks)"
            )
        if classification == "eager":
            worst = rows[-1][0] / waiting[-1]
            show(f"  {worst:.3f} us a waiting timer ({verdict(worst <= EAGER_TARGET_US)}, target {EAGER_TARGET_US})")
        else:
            growth = rows[-1][0] / rows[0][0]
            show(f"  growth {growth:.2f} times ({verdict(growth <= CURSOR_TARGET)}, target {CURSOR_TARGET})")


def time_blocks(lane: LaneConfig, waiting: int, balance: int) -> tuple[float, float, int]:
    """Return microseconds of a block, of the block in which all become due, and the number of lane prices."""
    chain = DictChain(lane, waiting, balance)
    gc.collect()
    gc.freeze()
    started = time.process_time()
    chain.run_block(1)
    first = time.process_time() - started
    gc.collect()
    gc.freeze()
    prices: dict[int, None] = {}
    started = time.process_time()
    for height in range(2, 2 + BLOCKS):
        chain.run_block(height)
        assert chain.left is not None
        prices[chain.left.basefee] = None
    spent = time.process_time() - started
    gc.unfreeze()
    return 1e6 * spent / BLOCKS, 1e6 * first, len(prices)


def verdict(is_met: bool) -> str:  # noqa: FBT001 - one condition
    """Return `met` or `MISSED`."""
    return "met" if is_met else "MISSED"


if __name__ == "__main__":
    is_small = "--small" in sys.argv
    run(pending=PENDING[:-1] if is_small else PENDING, waiting=WAITING[:-1] if is_small else WAITING)
