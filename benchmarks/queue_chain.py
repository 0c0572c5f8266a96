"""The tables of a chain of scheduled transactions over dicts: the least that its blocks can be measured over."""

from collections.abc import Sequence

import msgspec

from benchmarks.auction_chain import AuctionChain
from benchmarks.dict_chain import use_some
from scheduler import Basefees, BlockContext, BlockPhase, Moment, PhaseResult, Quote, Timer, TimerConfig
from scheduler.aptos_keys import map_key, price_of
from scheduler.aptos_records import DEPOSITS, QUEUE_ENTRY, AptosConfig, QueueEntry
from scheduler.policies.aptos import Aptos
from scheduler.ready_queue import QueueRules, ReadyQueue

SLOT_MS = 1_000
RICH_DEPOSITS = 10**18


class QueueChain(AuctionChain):
    """An AuctionChain whose timers are entries of the queue, with the index that a validator keeps."""

    def __init__(self, waiting: int) -> None:
        super().__init__(waiting)
        self._queue: ReadyQueue | None = None
        self._carried: object = ()
        self._balances[DEPOSITS] = RICH_DEPOSITS
        self._listed = [
            msgspec.structs.replace(timer, quote=Quote(100 + place % 900, 0))
            for place, timer in enumerate(self._listed)
        ]
        self._live = {timer.timer_id: timer for timer in self._listed}
        for timer in self._listed:
            key = map_key(timer.due * SLOT_MS, price_of(timer), timer.timer_id)
            self.set(QUEUE_ENTRY.hashed_key(key), QueueEntry(key, 0, None, pass_signer=True))

    def timer(self, timer_id: bytes) -> Timer | None:
        """Return a live entry."""
        return self._live.get(timer_id)

    def remove(self, timer: Timer) -> None:
        """Forget an entry."""
        super().remove(timer)
        del self._live[timer.timer_id]

    def collect(self, _upto: int) -> Sequence[Timer]:
        """Return what came due: all entries in the first block, and none in others."""
        # The policy reads its queue. To list all that waits in each block would be the benchmark's own work.
        return self._listed if self._queue is None else ()

    def collect_pool(self, upto: int, rules: QueueRules) -> ReadyQueue:
        """Return all entries in key order: all of them are due since the first block."""
        if self._queue is None:
            queue = rules.open_pool()
            for timer in self.collect(upto):
                queue.add(timer)
            self._queue = queue
        return self._queue

    def run_block(self, height: int) -> PhaseResult:
        """Run a block without transactions, in which a hundred entries run."""
        block = BlockContext(
            moment=Moment(height, height, height - 1, "slot", height * SLOT_MS, SLOT_MS),
            config=TimerConfig(),
            basefees=Basefees(1_000, 900),
            timers=self,  # type: ignore[arg-type] # what a block of the queue uses of them
            ledger=self,
            run=use_some,
            own=AptosConfig(expiry_ms=0),
            state=self,
            carried=self._carried,
        )
        opened = Aptos().open(block)
        total = opened.run(BlockPhase.PROLOGUE)
        for result in opened.after_transactions():
            total = total.then(result)
        opened.begin()
        total = total.then(opened.run(BlockPhase.TIMERS))
        self._carried = opened.carried()
        return total
