"""The timer phase of a block of the policy `bias-auction` (docs/bias-auction.md, "The phase of the bias auction")."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from checker.oracle.bias_records import BOOKS, SLOT_ROW, SLOT_ROWS, WINDOWS, BiasBooks, BiasConfig
from checker.oracle.bias_scores import Candidate, bias, bounded_lambda, next_lambda, payment_of
from checker.oracle.contents import Timer
from checker.oracle.escrow import ESCROW, bid_of, release
from checker.oracle.gas import Gas
from checker.oracle.parameters import MAX_INTEGER
from checker.oracle.programs import OK
from checker.oracle.selection import fee_of
from checker.oracle.timer_tables import remove_timer
from checker.oracle.timers import FIRED, TimerPhase

WINDOW_CLOSED = 16
"""Tag of the event of a closed window of the lambda loop."""


@dataclass(kw_only=True)
class BiasPhase(TimerPhase):
    """A block's auction: winners first, then their fires, then their payments."""

    config: BiasConfig
    activated_at: int
    is_in_slots: bool
    lambda_: int = 0
    winners: list[Candidate] = field(default_factory=list)
    runner_up: Candidate | None = None
    room: int = 0
    waits_on: list[int] = field(default_factory=list)
    wins: dict[bytes, int] = field(default_factory=dict)
    firsts: dict[int, int] = field(default_factory=dict)
    """The height of the first block that served a due."""
    later: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    """Heights of the blocks of a due slot, and the places from which on their timers stand there."""

    def run(self) -> None:
        """Add the block's row, hold the auction, and close a window."""
        if self.is_in_slots:
            self._add_row()
        books = self._books()
        self.lambda_ = bounded_lambda(books.lambda_, self.config)
        if not self.config.lambda_window_blocks:
            self.lambda_ = self.config.bias_lambda
        super().run()
        self._move_lambda(books)

    def end_block(self) -> list[Timer]:
        """Trigger timers, note from where they wait, and drop old rows."""
        triggered = super().end_block()
        if self.is_in_slots:
            self._add_row_of(triggered)
            self._drop_rows()
        return triggered

    def _books(self) -> BiasBooks:
        start = self.config.bias_lambda
        books: BiasBooks = self.contents.own(BOOKS).get(None) or BiasBooks(start, start, 0, self.activated_at)
        return books if books.base_lambda == start else books._replace(lambda_=start, base_lambda=start)

    def _add_row(self) -> None:
        rows, ends = self.contents.own(SLOT_ROW), self.contents.own(SLOT_ROWS)
        head, tail = ends.get(None) or (0, 0)
        if head == tail or rows.rows[tail - 1][0] < self.present.now:
            rows.put(tail, (self.present.now, self.present.height, 0))
            ends.put(None, (head, tail + 1))

    def _add_row_of(self, triggered: Sequence[Timer]) -> None:
        """Add a row for the timers triggered by a block after the first of its slot."""
        rows, ends = self.contents.own(SLOT_ROW), self.contents.own(SLOT_ROWS)
        head, tail = ends.rows[None]
        if triggered and rows.rows[tail - 1][1] != self.present.height:
            rows.put(tail, (self.present.now, self.present.height, min(timer.sequence for timer in triggered)))
            ends.put(None, (head, tail + 1))

    def _drop_rows(self) -> None:
        rows, ends = self.contents.own(SLOT_ROW), self.contents.own(SLOT_ROWS)
        head, tail = ends.rows[None]
        due = (timer.due for timer in self.contents.timers.rows.values())
        oldest = min((each for each in due if each <= self.present.now), default=None)
        gone = [index for index in range(head, tail) if oldest is None or rows.rows[index][0] < oldest]
        for index in gone:
            rows.put(index, None)
        ends.put(None, None if oldest is None else (head + len(gone), tail))

    def wait_of(self, timer: Timer) -> int:
        """Return the number of blocks that a timer has waited since a block served its due, or triggered it."""
        if timer.due not in self.firsts:
            rows = self.contents.own(SLOT_ROW).rows.values() if self.is_in_slots else ()
            # All timers of a due share their first block: thousands of them wait after an outage.
            self.firsts[timer.due] = min((height for slot, height, _ in rows if slot >= timer.due), default=timer.due)
            self.later[timer.due] = [(height, first) for slot, height, first in rows if slot == timer.due]
        # Timers triggered by a further block of the slot stand behind the slot's other timers, unless these are gone.
        reached = [height for height, first in self.later[timer.due] if first <= timer.sequence]
        return self.present.height - max(self.firsts[timer.due], self.activated_at, *reached)

    def _is_dead(self, timer: Timer) -> bool:
        return self._is_expired(timer)

    def _clean_up_and_fire(self, waiting: list[Timer]) -> tuple[list[Timer], dict[bytes, str]]:
        """Remove the expired, let winners fire and pay; return the live timers, and the reason each is held back."""
        self._remove_in_budget([timer for timer in waiting if self._is_expired(timer)])
        live = [timer for timer in waiting if not self._is_expired(timer)]
        competing = [self._candidate(timer) for timer in live if not self._reason_to_hold(timer)]
        if not self.present.config.execution_lane_paused:
            self._walk(sorted(competing, key=lambda candidate: candidate.rank))
        payments = [payment_of(winner, self.runner_up, self.config) if winner.bid else 0 for winner in self.winners]
        for winner, payment in zip(self.winners, payments, strict=True):
            self._fire_winner(winner.timer, payment)
        self._pay(payments)
        return self._held(live, competing)

    def _reason_to_hold(self, timer: Timer) -> str:
        return "over_cap" if timer.gas_limit > self.present.config.lane_timer_cycles else ""

    def _candidate(self, timer: Timer) -> Candidate:
        wait = self.wait_of(timer)
        return Candidate(timer, bid_of(self.contents, timer), wait, bias(wait, self.lambda_))

    def _walk(self, candidates: Sequence[Candidate]) -> None:
        """Choose and charge the winners; remember the first candidate left out, and the room that is left."""
        self.room = self.present.config.lane_timer_cycles
        for candidate in candidates:
            timer = candidate.timer
            if self._is_capped(timer):
                continue
            if len(self.winners) >= self.config.max_fires_per_block or timer.gas_limit > self.room:
                self.runner_up = self.runner_up or candidate
            elif self._is_insolvent(timer):
                # The balance at its turn decides whether it is insolvent, because its turn is the first check.
                self.funds[timer.fee_payer] = self.contents.balance(timer.fee_payer)
                self._remove_if_budget(timer)
            else:
                self.contents.credit(timer.fee_payer, -self._max_cost(timer))
                self.winners.append(candidate)
                self.wins[timer.actor] = self.wins.get(timer.actor, 0) + 1
                self.room -= timer.gas_limit

    def _is_capped(self, timer: Timer) -> bool:
        return self.wins.get(timer.actor, 0) >= self.config.max_fires_per_actor

    def _fire_winner(self, timer: Timer, payment: int) -> None:
        """Run a winner's handler, whose greatest cost its payer was charged in the walk."""
        prices = self._prices(timer)
        release(self.contents, timer)
        remove_timer(self.contents, timer)
        self.charged[timer.timer_id] = self._max_cost(timer)
        ending = self._call(timer, Gas(timer.gas_limit, self.present.config.max_cells_per_fire), timer.actor)
        fee = fee_of(ending.cycles, ending.cells, prices)
        self.contents.credit(timer.fee_payer, self._max_cost(timer) - fee.total)
        self.fired += 1
        self.burned += fee.burned
        self.tips += payment
        self.lane_cycles += ending.cycles
        self.lane_cells += ending.cells
        self.events += ending.events
        about = [timer.timer_id, timer.actor, timer.due, ending.status == OK]
        self.events.append([FIRED, *about, ending.cycles, ending.cells, fee.burned, payment])

    def _pay(self, payments: Sequence[int]) -> None:
        for winner, payment in zip(self.winners, payments, strict=True):
            self.contents.credit(ESCROW, -winner.bid)
            self.contents.credit(self.proposer, payment)
            self.contents.credit(winner.timer.fee_payer, winner.bid - payment)

    def _held(self, live: list[Timer], competing: Sequence[Candidate]) -> tuple[list[Timer], dict[bytes, str]]:
        """Return the live waiting timers, without timers found insolvent, and the reason of each."""
        dead = dict.fromkeys(self.dead_left)
        there = [timer for timer in live if timer.timer_id in self.contents.timers.rows]
        self.waits_on = [it.wait for it in competing if it.timer.timer_id in self.contents.timers.rows]
        waiting = [timer for timer in there if timer.timer_id not in dead]
        return waiting, {timer.timer_id: self._reason_of(timer) for timer in waiting}

    def _reason_of(self, timer: Timer) -> str:
        if self._reason_to_hold(timer):
            return "over_cap"
        if self.present.config.execution_lane_paused:
            return "lane_full"
        if self._is_capped(timer):
            return "actor_cap"
        return "lane_full" if timer.gas_limit > self.room else "block_cap"

    def _move_lambda(self, books: BiasBooks) -> None:
        """Add the block to its window, and close an ended window."""
        height, config, table = self.present.height, self.config, self.contents.own(BOOKS)
        if not config.lambda_window_blocks:
            table.put(None, BiasBooks(self.lambda_, self.lambda_, books.window, height + 1))
            return
        waits = [winner.wait for winner in self.winners]
        books = books._replace(
            lambda_=self.lambda_,
            fires=min(books.fires + len(waits), MAX_INTEGER),
            waited=min(books.waited + sum(waits), MAX_INTEGER),
            worst_wait=max([books.worst_wait, *waits]),
        )
        if height - books.window_start + 1 >= config.lambda_window_blocks:
            books = self._close_window(books)
        table.put(None, books)

    def _close_window(self, books: BiasBooks) -> BiasBooks:
        height = self.present.height
        worst = max([books.worst_wait, *self.waits_on])
        mean = books.waited // books.fires if books.fires else 0
        moved = next_lambda(self.lambda_, mean, worst, self.config)
        sums = (books.window_start, height, books.fires, books.waited, worst, self.lambda_, moved)
        self.contents.own(WINDOWS).put(books.window, sums)
        self.events.append([WINDOW_CLOSED, books.window, worst, self.lambda_, moved])
        return BiasBooks(moved, books.base_lambda, books.window + 1, height + 1)
