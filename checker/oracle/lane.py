"""The timer phase of a block in the lane, policy `eip1559` (docs/spec.md, "The timer phase")."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from checker.oracle.bidding import Answer, ask
from checker.oracle.contents import Market, Timer
from checker.oracle.fairness import fires_since, weight_of_others, weights_of, window_start_of
from checker.oracle.lane_config import is_excessive
from checker.oracle.market import Bid, Lane, median, next_lane_basefee, priority_of
from checker.oracle.selection import Prices, fill, ranked
from checker.oracle.timer_tables import remove_timer
from checker.oracle.timers import TimerPhase

GBA_FAILED = 12
"""Tag of the event of an agent without a valid bid."""

CANCELLED_FOR_DELAY = 14
"""Tag of the event of a timer that was passed over too often."""

CALL_LIMIT = "call_limit"


@dataclass(kw_only=True)
class LanePhase(TimerPhase):
    """One block's timer phase in the lane; `priorities` holds only timers that pay the lane's price."""

    lane: Lane
    window_start: int = 0
    priorities: dict[bytes, int] = field(default_factory=dict)
    fired_timers: list[Timer] = field(default_factory=list)
    recent: dict[bytes, int] = field(default_factory=dict)

    def run(self) -> None:
        """Move the fairness window, run the phase, record the fires by subject."""
        height, config, self.price = self.present.height, self.lane.config, self.lane.price
        self.window_start = window_start_of(self.lane.market.window_start, height, config.fairness_window_blocks)
        for block in [block for block in self.contents.fires.rows if block < self.window_start]:
            self.contents.fires.put(block, None)
        self.recent = fires_since(self.contents.fires.rows, self.window_start)
        super().run()
        self._write_fires()

    def close(self, used_cycles: int) -> None:
        """Write the market that the next block starts from."""
        before = self.lane.market
        market = Market(
            basefee=self.next_basefee,
            p50_tip=self.p50_tip,
            used_cycles=used_cycles,
            window_start=self.window_start,
            activation_basefee=before.activation_basefee,
            burned=before.burned + self.lane_burned,
        )
        self.contents.market.put(None, market)

    @property
    def p50_tip(self) -> int:
        """The median priority fee that the fires of this block paid, rounded down."""
        return int(median([self.priorities[timer.timer_id] for timer in self.fired_timers], self.lane.config.median))

    @property
    def next_basefee(self) -> int:
        """The lane's basefee of the next block."""
        lane_cycles = self.present.config.lane_timer_cycles
        return next_lane_basefee(self.lane.market.basefee, self.lane_cycles, lane_cycles, self.lane.config)

    def _waiting(self) -> list[Timer]:
        """Return the waiting timers; a timer with the default gas limit gets the present limit of the protocol."""
        ceiling = self.present.gas_limit_ceiling
        return [
            timer._replace(gas_limit=min(timer.gas_limit, ceiling)) if timer.gas_limit_is_default else timer
            for timer in super()._waiting()
        ]

    def _prepare(self, waiting: list[Timer]) -> None:
        """Find each timer's bid, and the priority of each timer that pays the price."""
        bids = self._ask_agents(waiting)
        default = self.lane.default_bid()
        for timer in waiting:
            bid = self._bid_of(timer, bids.get(timer.timer_id, default))
            if bid.max_fee_per_cycle >= self.price:
                self.priorities[timer.timer_id] = priority_of(self.price, bid)

    def _ask_agents(self, waiting: list[Timer]) -> dict[bytes, Bid]:
        """Ask the agents of the oldest timers for their bids; failures become events."""
        asking = [
            timer
            for timer in waiting
            if timer.quote and timer.quote.gba and not self._is_expired(timer) and not self._is_over_cap(timer)
        ]
        most = self.lane.config.max_gba_calls_per_block
        bids = {}
        for timer in asking[:most]:
            answer = self._ask(timer)
            if answer.bid is not None:
                bids[timer.timer_id] = answer.bid
            else:
                self.events.append([GBA_FAILED, timer.timer_id, answer.reason, 1])
        if asking[most:]:
            self.events.append([GBA_FAILED, asking[most].timer_id, CALL_LIMIT, len(asking) - most])
        return bids

    def _ask(self, timer: Timer) -> Answer:
        assert timer.quote is not None, "only a timer that names an agent needs a bid"
        assert timer.quote.gba is not None, "only a timer that names an agent needs a bid"
        market, basefees = self.lane.market, self.basefees
        context = (
            *(timer.due, self.present.now, basefees.cycle, basefees.cell, self.price),
            *(market.used_cycles, market.p50_tip, self.contents.balance(timer.actor)),
        )
        cycles = self.lane.config.gba_call_cycles
        return ask(
            self.contents,
            self.present,
            timer.quote.gba,
            cycles,
            actor=timer.actor,
            context=context,
            run_handler=self.run_handler,
        )

    def _bid_of(self, timer: Timer, asked: Bid) -> Bid:
        """Return a timer's bid in this block: the fees that its maker fixed, and `asked` for the rest."""
        if timer.quote is None:
            return Bid(2 * self.lane.market.activation_basefee, 0)
        fixed, tip = timer.quote.max_fee_per_cycle, timer.quote.max_priority_fee_per_cycle
        return Bid(
            asked.max_fee_per_cycle if fixed is None else fixed,
            asked.max_priority_fee_per_cycle if tip is None else tip,
        )

    def _prices(self, timer: Timer) -> Prices:
        lane_price = self.price if self.lane.config.settlement == "additive" else 0
        return Prices(self.basefees.cycle, self.basefees.cell, lane_price, self.priorities[timer.timer_id])

    def _is_dead(self, timer: Timer) -> bool:
        return self._is_expired(timer) or (not self._reason_to_hold(timer) and self._is_insolvent(timer))

    def _is_over_cap(self, timer: Timer) -> bool:
        cap = min(self.lane.config.max_cycles_per_fire_auction_phase, self.present.config.lane_timer_cycles)
        return timer.gas_limit > cap

    def _reason_to_hold(self, timer: Timer) -> str:
        if self._is_over_cap(timer):
            return "over_cap"
        return "" if timer.timer_id in self.priorities else "below_basefee"

    def _in_order(self, timers: list[Timer]) -> list[Timer]:
        by_subject, others = weights_of(self.recent, self.lane.config), weight_of_others(self.lane.config)
        weights = {timer.actor: by_subject.get(self._subject_of(timer.actor), others) for timer in timers}
        by_age = sorted(filter(self._is_forced, timers), key=lambda timer: (timer.due, timer.sequence))
        rest = [timer for timer in timers if not self._is_forced(timer)]
        return [*by_age, *ranked(rest, self.priorities, weights, self.lane)]

    def _is_forced(self, timer: Timer) -> bool:
        """Return whether a timer goes first: only in the first block in which its delay is excessive."""
        config = self.lane.config
        is_late = is_excessive(self.present.now - timer.due, config)
        was_late = is_excessive(self.parent_now - timer.due, config)
        return config.excessive_delay == "force" and is_late and not was_late

    def _cancel_overdue(self, live: list[Timer]) -> list[Timer]:
        config, present = self.lane.config, self.present
        if config.excessive_delay != "cancel":
            return live
        # The solvency of all timers is decided before any penalty is paid.
        overdue = [
            timer
            for timer in live
            if is_excessive(present.now - timer.due, config)
            and timer.due <= self.parent_now
            and not self._is_dead(timer)
        ][: max(self._gc_budget - self.removed, 0)]
        for timer in overdue:
            price = present.config.gc_cost_per_timer * self.basefees.cycle
            remove_timer(self.contents, timer)
            penalty = min(price, self.contents.balance(timer.fee_payer))
            self.contents.credit(timer.fee_payer, -penalty)
            self.burned += penalty
            self.overdue += 1
            late = present.now - timer.due
            self.events.append([CANCELLED_FOR_DELAY, timer.timer_id, timer.fee_payer, late, penalty])
        return [timer for timer in live if timer.timer_id in self.contents.timers.rows]

    def _subject_of(self, actor: bytes) -> bytes:
        is_by_owner = self.lane.config.fairness_subject == "deployer"
        return self.contents.actors.rows[actor].owner if is_by_owner else actor

    def _fill_lane(self, candidates: list[Timer]) -> list[Timer]:
        return self._fill(self._in_order(candidates), self._attempt)

    def _fill(
        self, competing: list[Timer], attempt: Callable[[Timer], int | None], dead: Collection[bytes] = ()
    ) -> list[Timer]:
        config = self.lane.config
        account, misfit = config.packing_account, config.packing_misfit
        return fill(competing, self._lane_cycles, attempt, account=account, misfit=misfit, dead=dead)

    def _fire(self, timer: Timer) -> int:
        cycles = super()._fire(timer)
        self.fired_timers.append(timer)
        self.lane_burned += cycles * self._prices(timer).lane
        return cycles

    def _write_fires(self) -> None:
        fires: dict[bytes, int] = {}
        for timer in self.fired_timers:
            subject = self._subject_of(timer.actor)
            fires[subject] = fires.get(subject, 0) + 1
        if fires:
            self.contents.fires.put(self.present.height, fires)
        recent = fires_since(self.contents.fires.rows, self.window_start)
        for subject in [*self.contents.recent_fires.rows, *recent]:
            self.contents.recent_fires.put(subject, recent.get(subject))


@dataclass(kw_only=True)
class CursorPhase(LanePhase):
    """The same phase with dead timers found singly: by a cursor over the waiting set, or at their turn."""

    def _clean_up_and_fire(self, waiting: list[Timer]) -> tuple[list[Timer], dict[bytes, str]]:
        dead = {timer.timer_id: True for timer in waiting if self._is_dead(timer)}
        self._walk(waiting, dead)
        there = [timer for timer in waiting if timer.timer_id in self.contents.timers.rows]
        # Expired timers do not compete: they wait for the cursor.
        left = [timer for timer in there if not self._is_expired(timer)]
        self.dead_left += [timer.timer_id for timer in there if self._is_expired(timer)]
        left = self._cancel_overdue(left)
        reasons = {timer.timer_id: self._reason_to_hold(timer) for timer in left}

        def attempt(timer: Timer) -> int | None:
            if timer.timer_id not in dead:
                return self._attempt(timer)
            self._remove_if_budget(timer)
            return None

        competing = self._in_order([timer for timer in left if not reasons[timer.timer_id]])
        # In a paused lane no timer gets a turn.
        is_open = not self.present.config.execution_lane_paused
        known = [timer_id for timer_id, is_dead in dead.items() if is_dead and is_open]
        held = self._fill(competing, attempt, known)
        reasons.update({timer.timer_id: "lane_full" for timer in held})
        return left, reasons

    def _walk(self, waiting: list[Timer], dead: dict[bytes, bool]) -> None:
        """Remove the dead among the next timers after the cursor, at most one round."""
        last = self.contents.gc_cursor.get(None) or (-1, -1)
        after = [timer for timer in waiting if (timer.due, timer.sequence) > last]
        before = [timer for timer in waiting if (timer.due, timer.sequence) <= last]
        for timer in [*after, *before][: self.lane.config.gc_scan_per_block]:
            if self._gc_budget <= self.removed:
                return
            self.contents.gc_cursor.put(None, (timer.due, timer.sequence))
            if timer.timer_id in dead:
                self._remove_if_budget(timer)
