"""The tables of a chain over dicts: the least that the scheduler can be measured over."""

import sys
from collections.abc import Mapping, Sequence
from typing import Final

from scheduler import (
    Basefees,
    BlockContext,
    BlockPhase,
    Bucket,
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
    read_market,
)
from scheduler.policies.eip1559 import Eip1559InBlock

ACTORS: Final = 1_000
RICH: Final = 10**15


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
        block = BlockContext(
            moment=moment,
            config=config,
            basefees=fees,
            timers=self,  # type: ignore[arg-type] # it has the lane's pool alone
            ledger=self,
            run=use_some,
        )
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


def use_some(timer: Timer, *, has_sender: bool = True) -> RunOutcome:
    """Run a handler that uses three quarters of its limit, so that the basefee moves."""
    del has_sender
    return RunOutcome(ok=True, cycles=3 * timer.gas_limit // 4, cells=10, events=())


def ask_nobody(_timer: Timer, _context: GbaContext) -> FeeParams | GbaFailure:
    """Return a failure: timers of this benchmark name no agent."""
    return GbaFailure.FAILED


def owner_of(actor: bytes) -> bytes:
    """Return the actor itself: every actor is its own owner."""
    return actor
