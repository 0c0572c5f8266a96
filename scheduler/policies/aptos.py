"""The policy `aptos`: scheduled transactions after AIP-125, paid for in advance and taken from a queue in key order.

Its rules by file: aptos_records.py parameters, profiles and tables, aptos_keys.py bytes, hashes and order,
aptos_rules.py checks, expiry and prices. ready_queue.py has the range index, aptos_calls.py the calls about the queue.
docs/spec.md, scheduled transactions, says every reading.

Invariants: the deposit account holds the deposits of all entries with a body. Within a block it also holds those of
entries that have run and not paid. Each entry leaves by one exit, and its deposit is returned, less the fee of a run. A
block walks only the part of the queue that it takes and expires.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from typing import Any, ClassVar, Final

from scheduler.aptos_calls import CallsInBlock
from scheduler.aptos_keys import deposit_of, price_of, removal_slot
from scheduler.aptos_records import (
    APTOS_CONFIG,
    APTOS_TABLES,
    DEPOSITS,
    REMOVAL_SLOT,
    REMOVAL_SLOTS_MAX,
    AptosConfig,
    QueueEntry,
    RemovalSlot,
    ServiceState,
    slot_key,
)
from scheduler.aptos_rules import gas_of, highest_others, is_expired, live_from_ms, price_charged, settle_deposit
from scheduler.bias_waits import WaitClock
from scheduler.events import DeferralReason, FailureCode, TimerFired, TransactionFailed
from scheduler.policies.policy import BlockContext, Guarantees, Payable, Policy, PolicyInBlock
from scheduler.ready_queue import QueueRules, ReadyQueue
from scheduler.rules import AptosRule, CoveragePoint
from scheduler.tables import StateTable, StateTables
from scheduler.tally import Tally
from scheduler.types import Basefees, BlockPhase, Parameters, PhaseResult, Timebase, Timer

PHASES: Final = (BlockPhase.PROLOGUE, BlockPhase.TRANSACTIONS, BlockPhase.TIMERS, BlockPhase.END_OF_BLOCK)
"""The phases of a block; the timer phase runs nothing: it charges what ran, and counts who waits."""

FREE: Final = Basefees(0, 0)
"""The basefees that a run burns beside its own price: they have no part in it (Q-53)."""


class Aptos(Policy):
    """A queue by time and price, with deposits (AIP-125)."""

    name: ClassVar[str] = "aptos"
    has_ttl: ClassVar[bool] = True
    has_budget: ClassVar[bool] = False
    timebases: ClassVar[tuple[Timebase, ...]] = ("slot",)
    escrow: ClassVar[bytes | None] = DEPOSITS
    refuses_successors: ClassVar[str] = "entries of aptos hold deposits at prices that no other policy charges"
    refuses_predecessors: ClassVar[str] = "timers of {} hold no deposit, and every entry of the queue has paid one"
    config_type: ClassVar[type[Parameters] | None] = AptosConfig
    config_table: ClassVar[StateTable[Any] | None] = APTOS_CONFIG
    tables: ClassVar[tuple[StateTable[Any], ...]] = APTOS_TABLES

    def derive(self, state: StateTables, height: int) -> object | None:
        """Return the removal slots that the block before filled: all that there are."""
        del height
        filled = (slot for slot in range(REMOVAL_SLOTS_MAX) if state.get(REMOVAL_SLOT, slot_key(slot)) is not None)
        return tuple(filled)

    def guarantees(self, own: Parameters | None) -> Guarantees:
        """Return what the queue promises: its runs share the block's limits, and what leaves needs no GC lane."""
        if not isinstance(own, AptosConfig):
            return Guarantees(shares_block=True, has_gc_lane=False)
        bound = own.expire_limit if own.expiry == "own_limit" else None
        return Guarantees(shares_block=True, has_gc_lane=False, returns_ids=not own.counts_ids, dead_per_block=bound)

    def phases(self, own: Parameters | None) -> tuple[BlockPhase, ...]:
        """Return the steps of a block."""
        del own
        return PHASES

    def open(self, block: BlockContext) -> PolicyInBlock:
        """Return the policy in a block."""
        return AptosInBlock(block)


@dataclass(frozen=True, slots=True)
class _Run:
    """An entry that ran in this block, with what it used, before it has paid."""

    timer: Timer
    key: bytes
    is_ok: bool
    cycles: int
    cells: int


class AptosInBlock(CallsInBlock):
    """One block of the policy."""

    shares_block = True

    def __init__(self, block: BlockContext) -> None:
        super().__init__(block)
        self._queue = ReadyQueue(QueueRules(is_price_first=self.own.ready_order == "price"))
        self._clock = WaitClock(self.state, block.moment, block.activated_at)
        self._ready: list[Timer] = []
        self._next = 0
        self._unpaid: list[_Run] = []
        self._prices: list[int] = []
        """The prices of the transactions so far."""
        self._marked: dict[int, tuple[bytes, ...]] = {}

    def run(self, phase: BlockPhase) -> PhaseResult:
        """Run the prologue, or charge what ran and count who waits (docs/scheduled-transactions.md)."""
        if phase is BlockPhase.TIMERS:
            tally = Tally.of(self, FREE)
            self._charge(tally)
            return self._count_waiting(tally)
        assert phase is BlockPhase.PROLOGUE, phase
        tally = Tally.of(self, FREE)
        if self.own.expiry_by == "blocks":
            self._clock.open()
        self._remove_marked(tally)
        self._queue = self.block.timers.collect_pool(self.block.moment.now, self._queue.rules)
        if self.status is ServiceState.ACTIVE:
            self._ready = self._take_ready(tally)
            tally.reached += _cells_of_order(self._ready)
        if self.own.position == "before":
            for timer in self._turns():
                self._take_turn(tally, timer)
            tally.reached += (AptosRule.RAN_BEFORE,) if tally.fired else ()
        return tally.result()

    def before_transaction(self, item: Payable) -> Iterator[PhaseResult]:
        """Give their turns to the ready entries whose price is at least the transaction's (Q-49)."""
        price = min(item.max_fee_per_cycle, self.block.basefees.cycle + item.priority_fee_per_cycle)
        if self.own.position == "price":
            for timer in self._turns(price):
                tally = Tally.of(self, FREE)
                # The transaction was admitted already: whoever goes ahead of it has to leave its room.
                self._take_turn(tally, timer, (item.cycles_limit, item.cells_limit))
                tally.reached += (AptosRule.RAN_AHEAD,) if tally.fired else ()
                yield tally.result()
        self._prices.append(price)

    def after_transactions(self) -> Iterator[PhaseResult]:
        """Give their turns to all ready entries that are left."""
        has_users = bool(self._prices)
        for timer in self._turns():
            tally = Tally.of(self, FREE)
            self._take_turn(tally, timer)
            tally.reached += (AptosRule.RAN_BEHIND,) if tally.fired and has_users else ()
            yield tally.result()

    def counts(self) -> Mapping[str, int]:
        """Return what the deposit account holds (invariant 12)."""
        return {"deposits": self.block.ledger.balance(DEPOSITS)}

    def carried(self) -> object | None:
        """Return the removal slots that this block filled."""
        return tuple(sorted(self._marked))

    def _remove_marked(self, tally: Tally) -> None:
        """Remove the keys of what ran or was dropped in the parent (F-7)."""
        filled = self.block.carried
        assert isinstance(filled, tuple), "the policy derives which slots are filled"
        for slot in filled:
            marked = self.state.get(REMOVAL_SLOT, slot_key(slot))
            assert marked is not None, f"removal slot {slot} is filled"
            for key in marked.keys:
                self.remove_key(key)
            self.state.set(slot_key(slot), None)
        tally.reached += (AptosRule.KEYS_REMOVED,) if filled else ()

    def _take_ready(self, tally: Tally) -> list[Timer]:
        """Remove what has expired, within its bound, and return the entries that may run in this block."""
        limit, live_due = self.own.ready_limit, self.first_live_due()
        if self.own.expiry == "own_limit":
            expired = list(islice(self._before(live_due), self.own.expire_limit))
            ready = list(islice(self._queue.in_turn(live_due), limit))
        else:
            walked = list(islice(self._queue.in_turn(), limit))
            expired = [timer for timer in walked if timer.due < live_due]
            ready = [timer for timer in walked if timer.due >= live_due]
            tally.reached += (AptosRule.EXPIRED_COUNTED,) if expired else ()
        for timer in expired:
            self._queue.discard(timer)
            self._expire(tally, timer)
        tally.reached += (AptosRule.EXPIRED_BY_BLOCKS,) if expired and self.own.expiry_by == "blocks" else ()
        return [] if self.block.config.execution_lane_paused else ready

    def _before(self, due: int) -> Iterator[Timer]:
        """Yield the entries due before a slot, in key order."""
        for timer in self._queue.in_key_order():
            if timer.due >= due:
                return
            yield timer

    def first_live_due(self) -> int:
        """Return the first due slot that is not expired by the expiry of all; -1 where that has no part."""
        own = self.own
        if own.expiry_by == "blocks":
            # Strictly, as in time: the first block that served the slot is none of those that are counted (K-38).
            oldest = self.block.moment.height - own.expiry_blocks
            return self._clock.last_slot_before(oldest) + 1 if own.expiry_blocks else -1
        if own.expiry == "at_run" or not own.expiry_ms:
            return -1
        return -(-live_from_ms(own.expiry_ms, self.now_ms, own.time_unit_ms) // self.slot_ms)

    def _expire(self, tally: Tally, timer: Timer) -> None:
        key = self.return_entry(timer)
        tally.expired += 1
        tally.dropped += 1
        tally.unattempted += timer.due > self.block.moment.parent_now
        tally.events.append(TransactionFailed(timer.timer_id, key, timer.actor, FailureCode.EXPIRED))

    def _turns(self, price: int | None = None) -> Iterator[Timer]:
        """Yield the ready entries whose turn it is: the first ones, while their price is at least this."""
        while self._next < len(self._ready):
            timer = self._ready[self._next]
            if price is not None and price_of(timer) < price:
                return
            self._next += 1
            yield timer

    def _take_turn(self, tally: Tally, timer: Timer, reserved: tuple[int, int] = (0, 0)) -> None:
        """Run an entry, drop it, or leave it for the next block."""
        if self.block.timers.timer(timer.timer_id) is None or self.status is not ServiceState.ACTIVE:
            tally.reached.append(AptosRule.PASSED_OVER)
            return
        entry = self.entry_of(timer)
        code = self._why_dropped(timer, entry)
        if code is None and not self._fits(timer, tally, reserved):
            tally.reached += (AptosRule.ROOM_TAKEN,) if self._prices or any(reserved) else ()
            return
        self.block.timers.remove(timer)
        self._queue.discard(timer)
        # A call before it may have cancelled it and come to nothing: it is out already, and leaves but once.
        self.cancelled.pop(timer.timer_id, None)
        self._mark(entry.key, timer.timer_id)
        if code is None:
            self._run_entry(tally, timer, entry)
            return
        self.return_deposit(timer, deposit_of(timer))
        tally.expired += 1
        tally.dropped += 1
        tally.reached.append(
            AptosRule.EXPIRED_AT_TURN if code is FailureCode.EXPIRED else AptosRule.AUTHORIZATION_EXPIRED
        )
        tally.events.append(TransactionFailed(timer.timer_id, entry.key, timer.actor, code))

    def _why_dropped(self, timer: Timer, entry: QueueEntry) -> FailureCode | None:
        scheduled_ms = timer.due * self.slot_ms
        if self.own.expiry == "at_run" and is_expired(scheduled_ms, entry.expiry_delta_ms, self.now_ms):
            return FailureCode.EXPIRED
        token = entry.token
        if token is None:
            return None
        is_valid = token.expiration_ms > self.now_ms and token.authorization_num == self.number_of(timer.actor)
        return None if is_valid else FailureCode.AUTH_EXPIRED

    def _fits(self, timer: Timer, tally: Tally, reserved: tuple[int, int]) -> bool:
        """Say whether the block has room for all that an entry may use (Q-42)."""
        cycles, cells = self.block.room()
        basefees = self.block.basefees
        cells_max = min(self.block.config.max_cells_per_fire, timer.gas_limit * basefees.cycle // basefees.cell)
        has_cycles = timer.gas_limit <= cycles - tally.lane_cycles - reserved[0]
        return has_cycles and cells_max <= cells - tally.lane_cells - reserved[1]

    def _mark(self, key: bytes, txn_id: bytes) -> None:
        """Mark a key for the next block's prologue."""
        slot = removal_slot(txn_id, self.own.removal_slots)
        self._marked[slot] = (*self._marked.get(slot, ()), key)
        self.state.set(slot_key(slot), RemovalSlot(self._marked[slot]))

    def _run_entry(self, tally: Tally, timer: Timer, entry: QueueEntry) -> None:
        outcome = self.run_within(timer, entry)
        run = _Run(timer, entry.key, outcome.ok, outcome.cycles + self.own.base_gas, outcome.cells)
        assert run.cycles <= timer.gas_limit, "an entry used more than its greatest amount of gas"
        tally.fired += 1
        tally.late += timer.due <= self.block.moment.parent_now
        tally.reverted += not run.is_ok
        tally.lane_cycles += run.cycles
        tally.lane_cells += run.cells
        tally.events.extend(outcome.events)
        if self.own.charge == "maximum":
            self._pay(tally, run, price_of(timer))
        else:
            self._unpaid.append(run)

    def _pay(self, tally: Tally, run: _Run, price: int) -> None:
        """Divide an entry's deposit, and tell of its run: in this policy a fire is over when it is paid."""
        timer, basefees = run.timer, self.block.basefees
        gas = gas_of(run.cycles, run.cells, basefees.cycle, basefees.cell)
        paid = settle_deposit(deposit_of(timer), price, gas)
        self.block.ledger.charge(DEPOSITS, deposit_of(timer))
        self.block.ledger.burn(paid.burned)
        self.block.ledger.credit(timer.actor, paid.returned)
        tally.burned += paid.burned
        fired = TimerFired(timer.timer_id, timer.actor, timer.due, run.is_ok, run.cycles, run.cells, paid.burned, 0)
        tally.events.append(fired)
        if not run.is_ok:
            tally.events.append(TransactionFailed(timer.timer_id, run.key, timer.actor, FailureCode.FAILED))

    def _charge(self, tally: Tally) -> None:
        """Charge what ran and has not paid, now that the prices of the whole block are known (F-6, Q-36)."""
        users, own = self._prices, [price_of(run.timer) for run in self._unpaid]
        others = highest_others([*users, *own], range(len(users), len(users) + len(own)))
        for run, price, highest in zip(self._unpaid, own, others, strict=True):
            charged = price_charged(price, highest, self.own.min_price)
            tally.reached.append(AptosRule.PAID_OWN_PRICE if charged == price else AptosRule.PAID_LESS)
            tally.reached += (AptosRule.PAID_LEAST,) if highest is None else ()
            self._pay(tally, run, charged)

    def _count_waiting(self, tally: Tally) -> PhaseResult:
        """Tell of those whose first attempt failed, and count all that wait, each with its reason."""
        block = self.block
        for timer in self.cancelled.values():
            # Asked of the tables: a call that cancelled it may have come to nothing.
            if block.timers.timer(timer.timer_id) is None:
                self._queue.discard(timer)
        # For the ledger of phases, which counts in the tables and not here.
        block.timers.collect(block.moment.now)
        live_due = self.first_live_due()
        dead = self._queue.count_before(live_due)
        live = len(self._queue) - dead
        ready = {timer.timer_id: None for timer in self._ready if block.timers.timer(timer.timer_id) is not None}
        rest = self._reason_of_rest()
        first = [
            (timer, DeferralReason.LANE_FULL if timer.timer_id in ready else rest)
            for timer in self._queue.in_key_order(max(block.moment.parent_now + 1, live_due))
        ]
        counts = dict.fromkeys((DeferralReason.LANE_FULL, DeferralReason.READY_LIMIT, DeferralReason.UNAVAILABLE), 0)
        counts[DeferralReason.LANE_FULL] += len(ready)
        counts[rest] += live - len(ready)
        tally.report_deferred(first, counts.items())
        if dead:
            tally.reached.append(AptosRule.EXPIRED_WAITS)
        self._clock.close(self._queue.first_due if self.own.expiry_by == "blocks" else None)
        # Put in afterwards: the cells of a tally tell of the GC lane, which has no part in this.
        return replace(tally.result(waiting_live=live, waiting_dead=0), waiting_dead=dead)

    def _reason_of_rest(self) -> DeferralReason:
        """Return why the entries wait that were not ready."""
        if self.status is not ServiceState.ACTIVE:
            return DeferralReason.UNAVAILABLE
        if self.block.config.execution_lane_paused:
            return DeferralReason.LANE_FULL
        return DeferralReason.READY_LIMIT


def _cells_of_order(ready: Sequence[Timer]) -> Iterator[CoveragePoint]:
    """Yield the coverage points of the order in which entries are ready."""
    for before, after in pairwise(ready):
        if after.due < before.due:
            yield AptosRule.PRICE_BEFORE_TIME
        elif after.due == before.due and after.sequence < before.sequence and price_of(after) == price_of(before):
            yield AptosRule.TIE_BY_HASH
