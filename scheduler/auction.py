"""The auction of the timer lane: one timer phase, from asking agents to the market of the next block (CIP-1).

Agents are asked and balances read before anything changes. The pool does not change while the auction reads from it:
what left is taken out at the end.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from heapq import nsmallest
from itertools import chain, islice
from typing import Final

import msgspec

from scheduler.bidding import FeeParams, GbaFailure, Prices, context_of
from scheduler.events import DeferralReason, GbaFailed
from scheduler.fairness import Weights, count_fires, subject_of
from scheduler.fee_market import median_tip, next_lane_basefee
from scheduler.lane import Lane
from scheduler.lane_points import Fire, cells_of_agents, cells_of_fires, cells_of_price, cells_of_walk, cells_of_weights
from scheduler.pool import WaitingPool
from scheduler.ranking import Offer, Ranking, Scale
from scheduler.rules import LaneRule, PhaseRule
from scheduler.settlement import max_cost
from scheduler.solvency import find_insolvent
from scheduler.tally import Tally
from scheduler.types import MAX_U63, PhaseResult, Timer

NO_LIMIT: Final = MAX_U63
"""More than any gas limit."""


@dataclass(slots=True, kw_only=True)
class Auction:
    """One timer phase under way."""

    lane: Lane
    prices: Prices
    pool: WaitingPool
    tally: Tally
    weights: Weights
    answers: dict[bytes, tuple[Timer, Offer]] = field(default_factory=dict)
    balances: dict[bytes, int] = field(default_factory=dict)
    dead: dict[bytes, Timer] = field(default_factory=dict)
    """Live in the pool, and found to be insolvent: at the start of the phase or at their turn."""
    bankrupt: dict[bytes, int] = field(default_factory=dict)
    removed_dead: int = 0
    """The number of `dead` that were removed."""
    gone: list[Timer] = field(default_factory=list)
    handled: dict[bytes, Timer] = field(default_factory=dict)
    """Cancelled or put first by the hook for excessive delays: they take no part in the auction."""
    priorities: list[int] = field(default_factory=list)
    fired: list[Timer] = field(default_factory=list)
    """As they fired; `priorities` stand beside them."""

    def ask_agents(self) -> None:
        """Ask the agents of the oldest timers that name one; the rest and those that fail get default values (Q-13)."""
        limit = self.lane.config.max_gba_calls_per_block
        agents = self.pool.agents()
        for timer in islice(agents, limit):
            context = context_of(
                timer,
                moment=self.tally.moment,
                prices=self.prices,
                market=self.lane.market,
                balance=self.tally.ledger.balance(timer.actor),
            )
            answer = self.lane.ask(timer, context)
            if isinstance(answer, FeeParams) and answer.is_absurd:
                answer = GbaFailure.ABSURD
            if isinstance(answer, GbaFailure):
                self.tally.events.append(GbaFailed(timer.timer_id, answer.value, 1))
            else:
                self.answers[timer.timer_id] = timer, self._offer(timer, answer)
        left_out = next(agents, None)
        if left_out is not None:
            count = self.pool.agent_count() - limit
            self.tally.events.append(GbaFailed(left_out.timer_id, GbaFailure.CALL_LIMIT.value, count))

    def open_balances(self) -> None:
        """Note what every payer has before anything is paid or removed."""
        balance = self.tally.ledger.balance
        self.balances = {payer: balance(payer) for payer in self.pool.payers}

    def remove_dead(self) -> None:
        """Classify everything, and remove the dead in waiting order as far as the GC budget reaches."""
        self._find_insolvent()
        budget = self.tally.config.gc_budget
        for timer in nsmallest(budget, chain(self.pool.expired.values(), self.dead.values()), key=_place):
            self._destroy(timer)

    def walk_for_dead(self) -> None:
        """Look at a bounded number of timers behind the cursor, round once, and remove those that are dead (Q-20)."""
        limit = min(self.lane.config.gc_scan_per_block, len(self.pool))
        cursor = self.lane.tables.gc_cursor() or (-1, -1)
        last = None
        for timer in islice(chain(self.pool.walk(cursor), self.pool.walk()), limit):
            if not self.tally.can_remove:
                break
            last = timer
            if timer.timer_id in self.pool.expired or self._is_insolvent(timer):
                self._destroy(timer)
        if last is not None:
            self.lane.tables.set_gc_cursor(_place(last))
            is_spent, is_whole = not self.tally.can_remove, limit == len(self.pool)
            self.tally.reached += cells_of_walk(cursor, _place(last), is_spent=is_spent, is_whole=is_whole)

    def cancel_overdue(self) -> None:
        """Cancel live timers that were passed over too often, in waiting order, as far as the GC budget reaches."""
        moment, config = self.tally.moment, self.lane.config
        if config.excessive_delay != "cancel":
            return
        for timer in self.pool.walk():
            delays = moment.now - timer.due
            # In slots a timer may be late before any block has passed it over.
            if not self.tally.can_remove or not config.is_excessive(delays) or timer.due > moment.parent_now:
                break
            if timer.timer_id not in self.pool.expired and not self._is_insolvent(timer):
                self.tally.cancel_for_delay(timer, delays, self.prices.cycle)
                self.handled[timer.timer_id] = timer
                self.gone.append(timer)

    def fire(self) -> None:
        """Fill the lane: what is forced first, then by effective priority."""
        config, lane = self.tally.config, self.lane.config
        stops, reserves = lane.packing_misfit == "stop", lane.packing_account == "limit"
        if config.execution_lane_paused:
            return
        room = config.lane_timer_cycles - self.lane.already_used
        # Under the cursor the walk has found some dead; under eager all of them are known.
        skipped = self.dead or {timer.timer_id: timer for timer in self.gone}
        forced = iter(self._force_overdue(skipped))
        if self.handled:
            skipped = {**skipped, **self.handled}
        ranking = Ranking(self.pool, self._scale(), answers=self.answers, skipped=skipped, bankrupt=self.bankrupt)
        is_behind_misfit = False
        while (found := next(forced, None) or ranking.take(NO_LIMIT if stops else room)) is not None:
            timer, priority = found
            is_behind_misfit |= ranking.has_misfit
            gas_limit = self.pool.rules.gas_limit(timer)
            if gas_limit > room and not stops:
                # One of those put first: the ranking passes over what does not fit by itself.
                self.tally.reached.append(LaneRule.DELAY_FORCED_MISFIT)
                continue
            # Under the cursor an insolvent timer is found at its turn; under eager it would not have been there.
            if gas_limit > room and not self._is_insolvent(timer):
                self.tally.reached.append(LaneRule.MISFIT_STOPPED)
                break
            used = self._settle(timer, gas_limit, priority)
            if used is not None:
                if gas_limit == room:
                    self.tally.reached.append(PhaseRule.LIMIT_FITS_EXACTLY)
                if reserves and used < gas_limit:
                    self.tally.reached.append(LaneRule.LIMIT_ACCOUNTED)
                room -= gas_limit if reserves else used
        self.tally.reached += (LaneRule.MISFIT_PASSED_OVER,) if is_behind_misfit else ()
        self.tally.reached += cells_of_weights(self.weights, ranking.numerators)

    def close(self, charged: int) -> PhaseResult:
        """Take what left out of the pool, report what is held, and leave the market to the next block."""
        # Only now: the ranking reads the pool, which must not change before it is done.
        for timer in self.gone:
            self.pool.discard(timer)
        held = self._held()
        self.tally.report_deferred(self._newly_due(), held)
        lane_burned = self.tally.lane_cycles * charged
        self._note_cells()
        self._leave_market(lane_burned)
        live = sum(count for _, count in held)
        gone = dict.fromkeys(timer.timer_id for timer in self.gone)
        left = [timer for timer_id, timer in self.dead.items() if timer_id not in gone]
        dead = len(self.pool) - live
        return self.tally.result(waiting_live=live, waiting_dead=dead, lane_burned=lane_burned, insolvent_left=left)

    def _note_cells(self) -> None:
        rules, lane, tally = self.pool.rules, self.lane, self.tally
        paid = zip(self.fired, self.priorities, strict=True)
        fires = [Fire(timer, priority, self._offer_of(timer)) for timer, priority in paid]
        tally.reached += cells_of_agents(tally.events, lane.price, [offer for _, offer in self.answers.values()])
        tally.reached += cells_of_fires(lane, rules, fires, answered=self.answers, forced=self.handled)
        tally.reached += cells_of_price(lane, tally.lane_cycles, tally.config.lane_timer_cycles)

    def _force_overdue(self, skipped: Mapping[bytes, Timer]) -> list[tuple[Timer, int]]:
        """Return the candidates whose delays became excessive with this block, in waiting order (Q-34: once)."""
        moment, config = self.tally.moment, self.lane.config
        if config.excessive_delay != "force":
            return []
        found = []
        for timer in self.pool.walk((moment.parent_now - config.max_allowed_delays - 1, NO_LIMIT)):
            if not config.is_excessive(moment.now - timer.due):
                break
            is_out = timer.timer_id in skipped or timer.timer_id in self.pool.expired
            if is_out or timer.timer_id in self.pool.over_cap or self._priority(timer) < 0:
                continue
            self.handled[timer.timer_id] = timer
            found.append((timer, self._priority(timer)))
        return found

    def _offer(self, timer: Timer, params: FeeParams | None = None) -> Offer:
        """Return a timer's fees in this block, open ones filled in."""
        fee, tip = self.pool.rules.fees(timer)
        filling = params or self.prices.default_params()
        return Offer(
            filling.max_fee_per_cycle if fee is None else fee,
            filling.max_priority_fee_per_cycle if tip is None else tip,
        )

    def _priority(self, timer: Timer) -> int:
        """Return a timer's priority per cycle in this block; negative below the basefee."""
        offer = self._offer_of(timer)
        return min(offer.tip, offer.max_fee - self.prices.lane)

    def _offer_of(self, timer: Timer) -> Offer:
        """Return a timer's fees in this block, as its agent answered where it did."""
        answer = self.answers.get(timer.timer_id)
        return self._offer(timer) if answer is None else answer[1]

    def _required(self, timer: Timer, priority: int) -> int:
        return max_cost(self._as_read(timer), self.tally.config, self.tally.basefees, max(priority, 0))

    def _as_read(self, timer: Timer) -> Timer:
        """Return the timer with the gas limit that it has in this block."""
        gas_limit = self.pool.rules.gas_limit(timer)
        return timer if gas_limit == timer.gas_limit else msgspec.structs.replace(timer, gas_limit=gas_limit)

    def _is_insolvent(self, timer: Timer) -> bool:
        """Say whether a live timer's payer had too little at the start of the phase; held ones have no cost."""
        if timer.timer_id in self.pool.over_cap:
            return False
        priority = self._priority(timer)
        return priority >= 0 and self.balances[timer.fee_payer] < self._required(timer, priority)

    def _find_insolvent(self) -> None:
        """Find every insolvent timer; a payer that can cover more than its dearest one is cleared at once."""
        config, costs = self.tally.config, self.tally.basefees
        cells = config.max_cells_per_fire * costs.cell
        spendable = {address: self.balances[address] - cells for address in self.pool.payers}
        found = find_insolvent(self.pool.payers, spendable, cycle=costs.cycle, prices=self.prices)
        self.dead, self.bankrupt = found.dead, found.bankrupt
        self.tally.reached += found.reached
        for timer, _ in self.answers.values():
            # The bound above knows nothing of what agents answer.
            if self._is_insolvent(timer):
                self.dead[timer.timer_id] = timer
            else:
                self.dead.pop(timer.timer_id, None)

    def _scale(self) -> Scale:
        default = self.prices.default_params()
        return Scale(
            price=self.prices.lane,
            default_fee=default.max_fee_per_cycle,
            default_tip=default.max_priority_fee_per_cycle,
            denominator=self.weights.denominator,
            is_additive=self.lane.config.weight == "additive",
            numerator_of=lambda actor: self.weights.numerator(subject_of(self.lane, actor)),
        )

    def _settle(self, timer: Timer, gas_limit: int, priority: int) -> int | None:
        """Fire a timer and return the cycles that it used; None if its payer cannot, or could not, cover it."""
        required = self._required(timer, priority)
        available = self.tally.ledger.balance(timer.fee_payer)
        if min(self.balances[timer.fee_payer], available) >= required:
            used = self.tally.fire(self._as_read(timer), required, priority, available=available)
            assert used <= gas_limit, "the gate is the gas limit"
            self.gone.append(timer)
            self.priorities.append(priority)
            self.fired.append(timer)
            return used
        if self.balances[timer.fee_payer] >= required:
            self.tally.reached.append(PhaseRule.INSOLVENT_AT_TURN)
        elif available >= required:
            self.tally.reached.append(LaneRule.FUNDS_TOO_LATE)
        if self.tally.can_remove:
            self._destroy(timer)
        else:
            self.dead[timer.timer_id] = timer
        return None

    def _destroy(self, timer: Timer) -> None:
        required, now = self._required(timer, self._priority(timer)), self.tally.ledger.balance(timer.fee_payer)
        if timer.timer_id in self.answers:
            self.tally.reached.append(LaneRule.AGENT_INSOLVENT)
        # What counted at the start may have been made up for since: the event states the figure that decided.
        start = self.balances.get(timer.fee_payer, now)
        self.tally.destroy(timer, required, start if start < required else now)
        self.removed_dead += timer.timer_id in self.dead
        self.gone.append(timer)

    def _reason(self, timer: Timer) -> DeferralReason:
        if timer.timer_id in self.pool.over_cap:
            return DeferralReason.OVER_CAP
        return DeferralReason.BELOW_BASEFEE if self._priority(timer) < 0 else DeferralReason.LANE_FULL

    def _held(self) -> tuple[tuple[DeferralReason, int], ...]:
        """Count the live timers that wait after this block by what holds them."""
        price = self.prices.lane
        dead = len(self.pool.expired) + len(self.dead) - self.removed_dead
        over_cap = len(self.pool.over_cap)
        below = self.pool.fixed_fees.below(price)
        for timer, offer in self.answers.values():
            is_open = self.pool.rules.fees(timer)[0] is None
            below += is_open and offer.max_fee < price and self.pool.at(timer.due, timer.sequence) is not None
        lane_full = len(self.pool) - dead - over_cap - below
        return (
            (DeferralReason.LANE_FULL, lane_full),
            (DeferralReason.OVER_CAP, over_cap),
            (DeferralReason.BELOW_BASEFEE, below),
        )

    def _newly_due(self) -> Iterator[tuple[Timer, DeferralReason]]:
        """Yield the live timers that no earlier block attempted."""
        for timer in self.pool.walk((self.tally.moment.parent_now, NO_LIMIT)):
            if timer.timer_id not in self.pool.expired and timer.timer_id not in self.dead:
                yield timer, self._reason(timer)

    def _leave_market(self, lane_burned: int) -> None:
        lane, config = self.lane, self.tally.config
        count_fires(lane, self.tally.moment.height, [timer.actor for timer in self.fired])
        lane.tables.set_market(
            msgspec.structs.replace(
                lane.market,
                basefee=next_lane_basefee(
                    lane.market.basefee, self.tally.lane_cycles, config.lane_timer_cycles, lane.config
                ),
                p50_tip=median_tip(self.priorities, lane.config.median),
                burned=lane.market.burned + lane_burned,
            )
        )


def _place(timer: Timer) -> tuple[int, int]:
    return timer.due, timer.sequence
