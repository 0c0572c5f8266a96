"""The timer phase of a block of the policy `gba-auction` (docs/gba-auction.md, "The phase of the auction")."""

from dataclasses import dataclass, field
from fractions import Fraction
from math import floor
from typing import NamedTuple

from checker.oracle.auction_records import (
    ACTORS,
    BOOKS,
    CURSOR,
    TALLIES,
    WEIGHTS,
    AuctionConfig,
    Books,
    Tally,
    Weight,
)
from checker.oracle.auction_weights import MILLION, scores_of, slices_of, stepped, weight_in
from checker.oracle.bidding import Answer, ask
from checker.oracle.contents import Timer
from checker.oracle.lane import GBA_FAILED
from checker.oracle.market import Bid
from checker.oracle.parameters import MAX_INTEGER
from checker.oracle.selection import Prices, max_cost_of
from checker.oracle.timers import DEFERRED, FIRED, TimerPhase

DEFAULT_AGENT = bytes(19) + b"\x0c"
"""The actor that bids for a timer that names no agent."""


class Contender(NamedTuple):
    """A timer that can pay its bid, and its actor's weight."""

    timer: Timer
    tip: int
    weight: int

    def rank(self, tie_break: str) -> tuple[object, ...]:
        """Return the place in the order: the greatest tip first, then the greatest weight; ties by identifier.

        By `append` carried timers stand behind new timers instead.
        """
        timer = self.timer
        tie = (-timer.due, timer.sequence) if tie_break == "append" else (timer.timer_id,)
        return -self.tip, -self.weight, *tie


@dataclass(kw_only=True)
class AuctionPhase(TimerPhase):
    """One block's auction; `tips_bid` holds the effective tip of each timer whose agent answered."""

    config: AuctionConfig
    epoch_length: int
    tips_bid: dict[bytes, int] = field(default_factory=dict)
    books: Books = field(default_factory=lambda: Books(0, 0, 0, 0))
    asked: dict[bytes, Answer] = field(default_factory=dict)
    unpayable: dict[bytes, None] = field(default_factory=dict)

    def run(self) -> None:
        """Score an ended epoch, run the auction, keep its books."""
        self._open_books()
        super().run()
        self._keep_tallies()
        lane = 0 if self.present.config.execution_lane_paused else self.present.config.lane_timer_cycles
        self.books = self.books._replace(budget_cycles=_bounded(self.books.budget_cycles + lane))

    def close(self, used_cycles: int) -> None:
        """Write the books that the next block starts from."""
        self.contents.own(BOOKS).put(None, self.books._replace(used_cycles=_bounded(used_cycles)))

    def _open_books(self) -> None:
        epoch = self.present.now // self.epoch_length
        before = self.contents.own(BOOKS).get(None)
        self.books = before or Books(0, epoch, 0, 0)
        if epoch > self.books.epoch:
            self._score()
            self.books = Books(self.books.used_cycles, epoch, 0, 0)

    def _score(self) -> None:
        """Write the weight of each actor with a tally, and remove the tallies."""
        actors, tallies, weights = (self.contents.own(table) for table in (ACTORS, TALLIES, WEIGHTS))
        ended = self.books.epoch
        moved = {}
        for actor, score in scores_of(tallies.rows, self.books.budget_cycles, self.epoch_length).items():
            weight = Fraction(weight_in(ended, weights.get(actor), self.config), MILLION)
            is_starved = tallies.rows[actor].deferrals >= self.config.starvation_deferrals
            after = stepped(weight, score, self.config, is_starved=is_starved)
            moved[actor] = Weight(ended + 1, floor(after * MILLION))
        for actor, weight_record in moved.items():
            weights.put(actor, weight_record)
        for table in (actors, tallies):
            for key in list(table.rows):
                table.put(key, None)

    def _prepare(self, waiting: list[Timer]) -> None:
        """Ask the agents of the timers behind the cursor, then of the timers from the first on."""
        if self.present.config.execution_lane_paused:
            return
        cursor = self.contents.own(CURSOR)
        last = cursor.get(None) or (-1, -1)
        live = [timer for timer in waiting if not self._is_dead(timer) and not self._is_over_cap(timer)]
        behind = [timer for timer in live if (timer.due, timer.sequence) > last]
        others = [timer for timer in live if (timer.due, timer.sequence) <= last]
        for timer in [*behind, *others]:
            if len(self.asked) >= self.config.max_gba_calls_per_block:
                return
            if self._is_unpayable(timer):
                self.unpayable[timer.timer_id] = None
                continue
            answer = self._ask(timer)
            self.asked[timer.timer_id] = answer
            cursor.put(None, (timer.due, timer.sequence))
            if answer.bid is None:
                self.events.append([GBA_FAILED, timer.timer_id, answer.reason, 1])
            else:
                self.tips_bid[timer.timer_id] = self._effective_tip(timer, answer.bid)

    def _is_unpayable(self, timer: Timer) -> bool:
        """Return whether the payer could not cover a fire at any bid; its agent is not worth a call."""
        prices = Prices(self.basefees.cycle, self.basefees.cell, 0, 0)
        least = max_cost_of(timer.gas_limit, self.present.config.max_cells_per_fire, prices)
        return self.contents.balance(timer.fee_payer) < least

    def _ask(self, timer: Timer) -> Answer:
        context = (
            *(timer.due, self.present.now, self.basefees.cycle, self.basefees.cell),
            *(self.books.used_cycles, self.contents.balance(timer.actor)),
        )
        agent = (timer.quote and timer.quote.gba) or DEFAULT_AGENT
        cycles = self.config.gba_call_cycles
        return ask(
            self.contents, self.present, agent, cycles, actor=timer.actor, context=context, run_handler=self.run_handler
        )

    def _effective_tip(self, timer: Timer, bid: Bid) -> int:
        """Return the tip that a timer pays per cycle; below zero if its fee does not cover the price."""
        fee, tip = bid[:2]
        if timer.quote is not None:
            stated_fee, stated_tip, _ = timer.quote
            fee = fee if stated_fee is None else stated_fee
            tip = tip if stated_tip is None else stated_tip
        room = fee - self.basefees.cycle
        if self.config.effective_tip == "intro":
            return min(tip, room)
        return tip if tip <= room else -1

    def _is_dead(self, timer: Timer) -> bool:
        return self._is_expired(timer)

    def _is_over_cap(self, timer: Timer) -> bool:
        return timer.gas_limit > self.present.config.lane_timer_cycles

    def _prices(self, timer: Timer) -> Prices:
        return Prices(self.basefees.cycle, self.basefees.cell, 0, self.tips_bid[timer.timer_id])

    def _reason_to_hold(self, timer: Timer) -> str:
        if self._is_over_cap(timer):
            return "over_cap"
        if self.present.config.execution_lane_paused:
            return "lane_full"
        if timer.timer_id in self.unpayable:
            return "funds"
        answer = self.asked.get(timer.timer_id)
        return "not_asked" if answer is None else self._reason_by_bid(timer, answer)

    def _reason_by_bid(self, timer: Timer, answer: Answer) -> str:
        if answer.bid is None:
            return "agent_failed"
        if self.tips_bid[timer.timer_id] < 0:
            return "below_basefee"
        return "funds" if self._is_insolvent(timer) else ""

    def _clean_up_and_fire(self, waiting: list[Timer]) -> tuple[list[Timer], dict[bytes, str]]:
        """Remove the expired, fire in two passes; return the live timers, and the reason of each that is held back."""
        live = [timer for timer in waiting if not self._is_dead(timer)]
        # Before a timer is removed or fires: a payer's funds at the start of the phase decide.
        reasons = {timer.timer_id: self._reason_to_hold(timer) for timer in live}
        self._remove_in_budget([timer for timer in waiting if self._is_dead(timer)])
        contenders = [timer for timer in live if not reasons[timer.timer_id]]
        reasons.update(self._hold_auction(contenders))
        return live, reasons

    def _hold_auction(self, timers: list[Timer]) -> dict[bytes, str]:
        """Give each contender its turn within slices and budget; return the reasons of the waiting timers."""
        weights = {timer.actor: self._weight_of(timer.actor) for timer in timers}
        contenders = sorted(
            (Contender(timer, self.tips_bid[timer.timer_id], weights[timer.actor]) for timer in timers),
            key=lambda contender: contender.rank(self.config.tie_break),
        )
        reasons = {timer.timer_id: "lane_full" for timer in timers}
        slices = slices_of(self.present.config.lane_timer_cycles, weights)
        left = []
        for timer, _, _ in contenders:
            if timer.gas_limit > slices[timer.actor]:
                left.append(timer)
            elif self._take_turn(timer, reasons):
                # The gas limits of fired timers are reserved, not the gas that they used.
                slices[timer.actor] -= timer.gas_limit
        for timer in left:
            if self._has_room(timer):
                self._take_turn(timer, reasons)
        return reasons

    def _has_room(self, timer: Timer) -> bool:
        lane = self.present.config.lane_timer_cycles
        if self.config.budget == "literal":
            return self.lane_cycles <= lane
        return self.lane_cycles + timer.gas_limit <= lane

    def _take_turn(self, timer: Timer, reasons: dict[bytes, str]) -> bool:
        """Fire a timer whose payer has the funds; return whether it did."""
        if self._is_insolvent(timer):
            reasons[timer.timer_id] = "funds"
            return False
        self._fire(timer)
        reasons[timer.timer_id] = ""
        return True

    def _weight_of(self, actor: bytes) -> int:
        return weight_in(self.books.epoch, self.contents.own(WEIGHTS).get(actor), self.config)

    def _keep_tallies(self) -> None:
        """Add the actors' events of this block to the tallies of the epoch."""
        for event in self.events:
            if event[0] == FIRED:
                self._add_fire(event)
            elif event[0] == DEFERRED:
                timer_id = event[1]
                assert isinstance(timer_id, bytes), "a deferral begins with its timer"
                self._add(self.present.collected[timer_id].actor, Tally(deferrals=1))

    def _add_fire(self, event: list[object]) -> None:
        _, timer_id, actor, due, is_ok, cycles, *_ = event
        assert isinstance(timer_id, bytes), "by the form of the event"
        assert isinstance(actor, bytes), "by the form of the event"
        assert isinstance(due, int), "by the form of the event"
        assert isinstance(cycles, int), "by the form of the event"
        tip, late = self.tips_bid[timer_id], self.present.now - due
        self._add(actor, Tally(1, int(bool(is_ok)), tip, late, cycles))

    def _add(self, actor: bytes, more: Tally) -> None:
        actors, tallies = self.contents.own(ACTORS), self.contents.own(TALLIES)
        before = tallies.get(actor)
        if before is None:
            actors.put(self.books.actors, actor)
            self.books = self.books._replace(actors=self.books.actors + 1)
        summed = (_bounded(one + other) for one, other in zip(before or Tally(), more, strict=True))
        tallies.put(actor, Tally(*summed))


def _bounded(number: int) -> int:
    return min(number, MAX_INTEGER)
