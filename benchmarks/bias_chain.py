"""The tables of a chain in the bias auction over dicts: the least that its timer phase can be measured over."""

from typing import Any

import msgspec

from benchmarks.dict_chain import ACTORS, RICH, actor_of, timer_of, use_some
from scheduler import Basefees, BlockContext, BlockPhase, Escrow, Moment, PhaseResult, Timer, TimerConfig
from scheduler.bias_pool import BiasPool, BiasPoolRules
from scheduler.bias_records import BiasConfig
from scheduler.escrow import ESCROW_ADDRESS, LockedBid, bid_key
from scheduler.policies.bias_auction import BiasAuction
from scheduler.tables import Record, StateTable
from scheduler.watches import Watches

SCATTERED_HEIGHTS = 1_000
"""Heights over which the timers of the hard case are due; the first block measured is behind all of them."""


class BiasChain:
    """TimerTables, StateTables and Ledger; the pool is kept from block to block, as the chain keeps it.

    Where timers are scattered, no two that are due at one height have the same gas limit: each is a cohort.
    """

    def __init__(self, waiting: int, *, is_scattered: bool = False) -> None:
        self._balances = {actor_of(number): RICH for number in range(ACTORS)}
        self._records: dict[bytes, bytes] = {}
        self._pool: BiasPool | None = None
        self._fresh: list[Timer] = []
        self._now = SCATTERED_HEIGHTS
        for number in range(waiting):
            timer = timer_of(number)
            if is_scattered:
                due, gas = 1 + number % SCATTERED_HEIGHTS, 100_000 + number * 7_919 % 150_000
                timer = msgspec.structs.replace(timer, due=due, gas_limit=gas)
            bid = number * 104_729 % 50_000
            self.set(bid_key(timer), LockedBid(timer.timer_id, bid) if bid else None)
            self._balances[ESCROW_ADDRESS] = self.balance(ESCROW_ADDRESS) + bid
            self._fresh.append(timer)

    def get(self, table: StateTable[Record], key: bytes) -> Record | None:
        """Return a record."""
        encoded = self._records.get(key)
        return None if encoded is None else msgspec.msgpack.decode(encoded, type=table.record)

    def set(self, key: bytes, record: object) -> None:
        """Put a record; None deletes."""
        self._records.pop(key, None)
        if record is not None:
            self._records[key] = msgspec.msgpack.encode(record)

    def collect_pool(self, _upto: int, rules: BiasPoolRules) -> BiasPool:
        """Return all timers: all of them are due since the first block."""
        if self._pool is None:
            self._pool = rules.open_pool()
            for timer in self._fresh:
                self._pool.add(timer)
        return self._pool

    def remove(self, _timer: Timer) -> None:
        """Do nothing: the policy takes out of the pool what leaves."""

    def balance(self, address: bytes) -> int:
        """Return a balance."""
        return self._balances.get(address, 0)

    def charge(self, address: bytes, amount: int) -> None:
        """Take units."""
        self._balances[address] -= amount

    def credit(self, address: bytes, amount: int) -> None:
        """Give units."""
        self._balances[address] = self.balance(address) + amount

    def burn(self, _amount: int) -> None:
        """Do nothing: burned units are not added up here."""

    def run_block(self, height: int) -> PhaseResult:
        """Run the timer phase of a block; lambda moves in every tenth, and with it every score."""
        now, own = self._now + height, BiasConfig(bias_lambda=10_000 - height // 10, lambda_window_blocks=0)
        timers: Any = self
        block = BlockContext(
            moment=Moment(now, now, now - 1, "height"),
            config=TimerConfig(),
            basefees=Basefees(1_000 + height % 7, 900 + height % 5),
            # What a timer phase uses of them.
            timers=timers,
            ledger=self,
            run=use_some,
            own=own,
            state=self,
            escrow=Escrow(self, self),
            watches=Watches(self, timers, tuple, BiasAuction().watch_limits(own, self)),
        )
        opened = BiasAuction().open(block)
        opened.begin()
        return opened.run(BlockPhase.TIMERS)
