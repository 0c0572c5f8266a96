"""Scheduled transactions in one block: prologue, turns, charges, report.

The rules are in docs/scheduled-transactions.md, "A block of the queue".
"""

from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from checker.oracle.contents import Basefees, Timer
from checker.oracle.gas import Gas
from checker.oracle.programs import OK
from checker.oracle.queue import Queue
from checker.oracle.queue_records import ACTIVE, deposit_of, price_of
from checker.oracle.records import Transaction
from checker.oracle.timers import DEFERRED, FIRED, REASONS, SUMMARY, TimerPhase


def cells_as_gas(cells: int, basefees: Basefees) -> int:
    """Return the gas that cells count as: cycles at the ratio of the basefees, rounded up."""
    return -(-cells * basefees.cell // basefees.cycle)


@dataclass
class EntryGas(Gas):
    """The gas of an entry, which cycles and cells use together."""

    basefees: Basefees = field(kw_only=True)

    @property
    def is_exceeded(self) -> bool:
        """Return whether a limit was passed."""
        return self.cycles + cells_as_gas(self.cells, self.basefees) > self.cycles_limit or (
            self.cells > self.cells_limit
        )


class Run(NamedTuple):
    """An entry that ran, and what it used; `cycles` with the base gas."""

    timer: Timer
    is_ok: bool
    cycles: int
    cells: int


@dataclass(kw_only=True)
class QueuePhase(TimerPhase):
    """The queue's part in one block."""

    queue: Queue
    room: Gas
    ready: list[Timer] = field(default_factory=list)
    """The entries that this block may run."""
    next_turn: int = 0
    runs: list[Run] = field(default_factory=list)
    user_prices: list[int] = field(default_factory=list)
    left_live: int = 0
    left_dead: int = 0

    @property
    def waiting_live(self) -> int:
        """The number of due entries that wait and are not expired."""
        return self.left_live

    @property
    def waiting_dead(self) -> int:
        """The number of due entries that wait although they are expired."""
        return self.left_dead

    @property
    def gc_cycles(self) -> int:
        """No cycles: the queue has no GC lane."""
        return 0

    def prologue(self) -> None:
        """Remove entries that the last block marked; expire and choose entries; run them here if they come first."""
        self.queue.remove_marked()
        self.queue.begin_block(self.present.now)
        if self.queue.status != ACTIVE:
            return
        chosen = self._choose()
        if not self.present.config.execution_lane_paused:
            self.ready = chosen
        if self.queue.config.position == "before":
            self.after_transactions()

    def _choose(self) -> list[Timer]:
        """Remove expired entries if the switch is on, and return the ready entries."""
        queue, config = self.queue, self.queue.config
        dues = queue.dues(self.present.now)
        if config.expiry == "own_limit":
            gone = list(islice(queue.in_order([due for due in dues if queue.is_expired(due)]), config.expire_limit))
            live = [due for due in dues if not queue.is_expired(due)]
            chosen = list(islice(queue.in_turn_order(live), config.ready_limit))
        else:
            taken = list(islice(queue.in_turn_order(dues), config.ready_limit))
            gone = [timer for timer in taken if queue.is_expired(timer.due)]
            chosen = [timer for timer in taken if not queue.is_expired(timer.due)]
        for timer in gone:
            queue.take_out(timer)
            self._report_dropped(timer, "Expired")
        return chosen

    def before_transaction(self, transaction: Transaction) -> None:
        """Give each entry that offers at least the price of a transaction its turn, in order."""
        price = min(transaction.max_fee_per_cycle, self.basefees.cycle + transaction.priority_fee_per_cycle)
        self.user_prices.append(price)
        while self.next_turn < len(self.ready) and price_of(self.ready[self.next_turn]) >= price:
            self._take_turn(transaction.cycles_limit, transaction.cells_limit)

    def after_transactions(self) -> None:
        """Give all other ready entries their turn."""
        while self.next_turn < len(self.ready):
            self._take_turn(0, 0)

    def _take_turn(self, cycles_kept: int, cells_kept: int) -> None:
        """Pass over, drop or run the next ready entry, or let it wait; room kept for a transaction is not its room."""
        timer, room = self.ready[self.next_turn], self.room
        self.next_turn += 1
        if self.contents.timers.get(timer.timer_id) is None or self.queue.status != ACTIVE:
            return
        code = self._reason_to_drop(timer)
        if code:
            self.queue.mark(timer)
            self.queue.pay_out(timer)
            self._report_dropped(timer, code)
            return
        cycles_left = room.cycles_limit - room.cycles - cycles_kept
        cells_left = room.cells_limit - room.cells - cells_kept
        if timer.gas_limit <= cycles_left and self._greatest_cells(timer) <= cells_left:
            self._run(timer)

    def _reason_to_drop(self, timer: Timer) -> str:
        queue, entry = self.queue, self.queue.entry_of(timer)
        ends_ms = queue.time_of(timer.due) + entry.expiry_delta_ms
        if queue.config.expiry == "at_run" and entry.expiry_delta_ms and queue.block_ms > ends_ms:
            return "Expired"
        token = entry.token
        if token is None:
            return ""
        is_stale = token.expiration_ms <= queue.block_ms or token.authorization_num != queue.number_of(timer.actor)
        return "AuthExpired" if is_stale else ""

    def _greatest_cells(self, timer: Timer) -> int:
        affordable = timer.gas_limit * self.basefees.cycle // self.basefees.cell
        return min(self.present.config.max_cells_per_fire, affordable)

    def _report_dropped(self, timer: Timer, code: str) -> None:
        self.expired += 1
        self.events.append(self.queue.failed(timer, code))

    def _run(self, timer: Timer) -> None:
        queue, base = self.queue, self.queue.config.base_gas
        entry = queue.entry_of(timer)
        queue.mark(timer)
        gas = EntryGas(timer.gas_limit - base, self.present.config.max_cells_per_fire, basefees=self.basefees)
        queue.runs = (entry.token,)
        ending = self._call(timer, gas, timer.actor if entry.pass_signer else b"")
        queue.runs = ()
        run = Run(timer, ending.status == OK, ending.cycles + base, ending.cells)
        self.fired += 1
        self.lane_cycles += run.cycles
        self.lane_cells += run.cells
        # Entries and transactions share the block's room, but `room` counts transactions alone as used.
        self.room.cycles_limit -= run.cycles
        self.room.cells_limit -= run.cells
        self.events += ending.events
        self.runs.append(run)
        if queue.config.charge == "maximum":
            self._charge(run, price_of(timer))

    def _charge(self, run: Run, price: int) -> None:
        timer = run.timer
        fee = (run.cycles + cells_as_gas(run.cells, self.basefees)) * price
        self.queue.pay_out(timer, fee)
        self.charged[timer.timer_id] = deposit_of(timer)
        self.burned += fee
        about = [timer.timer_id, timer.actor, timer.due, run.is_ok]
        self.events.append([FIRED, *about, run.cycles, run.cells, fee, 0])
        if not run.is_ok:
            self.events.append(self.queue.failed(timer, "Failed"))

    def run(self) -> None:
        """Charge the runs by the whole block's prices, and report waiting entries."""
        self.queue.is_collected = True
        if self.queue.config.charge == "second_price":
            self._charge_by_others()
        self._report_waiting()
        self.queue.end_block(self.present.now)
        self.due = self.fired + self.removed + self.left_live + self.left_dead

    def _charge_by_others(self) -> None:
        """Charge each run at the highest price of the block's other transactions, and at most at its own."""
        offered = [price_of(run.timer) for run in self.runs]
        highest = sorted((*self.user_prices, *offered), reverse=True)
        for run, own in zip(self.runs, offered, strict=True):
            # If its own price is the highest, the second price is the highest of the other transactions.
            others = highest[1:] if own == highest[0] else highest
            self._charge(run, min(own, others[0] if others else self.queue.config.min_price))

    def _report_waiting(self) -> None:
        queue, buckets = self.queue, self.contents.buckets.rows
        dues = queue.dues(self.present.now)
        live = [due for due in dues if not queue.is_expired(due)]
        self.left_live = sum(buckets[due].live for due in live)
        self.left_dead = sum(buckets[due].live for due in dues) - self.left_live
        were_ready = {
            timer.timer_id: "lane_full" for timer in self.ready if timer.timer_id in self.contents.timers.rows
        }
        for timer in queue.in_order([due for due in live if due > self.parent_now]):
            self.events.append([DEFERRED, timer.timer_id, were_ready.get(timer.timer_id, self._reason)])
        counted = dict.fromkeys(REASONS, 0)
        counted["lane_full"] = len(were_ready)
        counted[self._reason] += self.left_live - len(were_ready)
        counts = [[reason, count] for reason, count in counted.items() if count]
        if counts:
            self.events.append([SUMMARY, counts])

    @property
    def _reason(self) -> str:
        """The reason why an entry that was not ready waits."""
        if self.queue.status != ACTIVE:
            return "unavailable"
        return "lane_full" if self.present.config.execution_lane_paused else "ready_limit"
