"""The policy `eip1559`: timers bid for a lane whose price follows its use (CIP-1; docs/spec.md says every reading).

Invariants: the two budgets are independent, and neither is exceeded; agents are asked and balances read before
anything changes; each timer that leaves does so with exactly one event. The pool does not change while the auction
reads from it: what left is taken out at the end.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from heapq import nsmallest
from itertools import chain, islice
from typing import Any, ClassVar, Final

import msgspec

from scheduler.bidding import FeeParams, GbaFailure, Prices, context_of
from scheduler.events import DeferralReason, GbaFailed
from scheduler.fairness import count_fires, open_window, read_weights, subject_of
from scheduler.fee_market import median_tip, next_lane_basefee
from scheduler.lane import Lane, LaneConfig, note_used_cycles
from scheduler.lane_calls import admit_in_lane, context_in_lane
from scheduler.lane_state import FIRES, GC_CURSOR, LANE_CONFIG, LANE_MARKET, RECENT_FIRES, LaneState, open_lane
from scheduler.lifecycle import Admission, ScheduleRequest
from scheduler.policies.fifo import Fifo
from scheduler.policies.policy import BlockContext, PolicyInBlock
from scheduler.pool import OPEN, Payer, PoolRules, WaitingPool
from scheduler.ranking import Offer, Ranking, Scale
from scheduler.settlement import max_cost
from scheduler.tables import StateTable
from scheduler.tally import Tally
from scheduler.types import MAX_U63, Basefees, BlockPhase, Parameters, PhaseResult, Timer, TimerConfig

NO_LIMIT: Final = MAX_U63
"""More than any gas limit."""


class Eip1559:
    """Sorted by effective priority, at a lane basefee, with a fairness weight per actor."""

    name: ClassVar[str] = "eip1559"
    has_ttl: ClassVar[bool] = True
    has_budget: ClassVar[bool] = True
    default_config: ClassVar[TimerConfig] = TimerConfig()
    config_type: ClassVar[type[Parameters] | None] = LaneConfig
    follows: ClassVar[tuple[str, ...]] = (Fifo.name,)

    config_table: ClassVar[StateTable[Any] | None] = LANE_CONFIG
    tables: ClassVar[tuple[StateTable[Any], ...]] = (LANE_MARKET, FIRES, RECENT_FIRES, GC_CURSOR)

    def open(self, block: BlockContext) -> PolicyInBlock:
        """Return the policy in a block, with the lane as the block's parent left it."""
        return Eip1559InBlock(block, open_lane(block))


class Eip1559InBlock(PolicyInBlock):
    """One block of the policy; `lane` is what it goes by."""

    def __init__(self, block: BlockContext, lane: Lane) -> None:
        super().__init__(block, context_in_lane(lane, block.timers, block.moment, block.config))
        self.lane = lane
        self.price = lane.price

    def admit(self, request: ScheduleRequest) -> Admission:
        """Check a timer that is to come in; nothing is written.

        Raises:
            Rejected: One of the named errors; TimerArgDeprecated for a `bid` once it is withdrawn (A-14).
        """
        return admit_in_lane(self.lane, self.context, request)

    def run(self, phase: BlockPhase) -> PhaseResult:
        """Run the timer phase (docs/spec.md, the timer phase)."""
        assert phase is BlockPhase.TIMERS, phase
        block = self.block
        lane = replace(self.lane, market=open_window(self.lane, block.moment.height))
        charged = lane.price if lane.config.settlement == "additive" else 0
        costs = Basefees(block.basefees.cycle + charged, block.basefees.cell)
        pool = tables_pool(lane, block.config, block.moment.now)
        auction = _Auction(lane=lane, prices=lane.prices, pool=pool, tally=Tally.of(self, costs))
        auction.ask_agents()
        auction.open_balances()
        if lane.config.classification == "eager":
            auction.remove_dead()
        else:
            auction.walk_for_dead()
        auction.cancel_overdue()
        auction.fire()
        return auction.close(charged)

    def close(self, used_cycles: int) -> None:
        """Complete the market by all cycles of the block: what agents are told in the next one."""
        note_used_cycles(self.lane.tables, used_cycles)

    def carried(self) -> object | None:
        """Return the sums of the fairness window."""
        return self.lane.tables.sums if isinstance(self.lane.tables, LaneState) else None


def tables_pool(lane: Lane, config: TimerConfig, now: int) -> WaitingPool:
    """Return the waiting set as this block reads it."""
    rules = PoolRules(
        gas_limit_cap=lane.gas_limit_cap(config),
        default_gas_limit=lane.gas_limit_ceiling(config),
        legacy_max_fee=min(2 * lane.market.activation_basefee, MAX_U63),
        is_by_age=lane.config.tie_break == "age",
    )
    pool = lane.tables.pool(now, rules)
    pool.advance(now)
    return pool


@dataclass(slots=True, kw_only=True)
class _Auction:
    """One timer phase under way."""

    lane: Lane
    prices: Prices
    pool: WaitingPool
    tally: Tally
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
    actors: list[bytes] = field(default_factory=list)

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
        while (found := next(forced, None) or ranking.take(NO_LIMIT if stops else room)) is not None:
            timer, priority = found
            gas_limit = self.pool.rules.gas_limit(timer)
            if gas_limit > room and not stops:
                # One of those put first: the ranking passes over what does not fit by itself.
                continue
            # Under the cursor an insolvent timer is found at its turn; under eager it would not have been there.
            if gas_limit > room and not self._is_insolvent(timer):
                break
            used = self._settle(timer, gas_limit, priority)
            if used is not None:
                room -= gas_limit if reserves else used

    def close(self, charged: int) -> PhaseResult:
        """Take what left out of the pool, report what is held, and leave the market to the next block."""
        # Only now: the ranking reads the pool, which must not change before it is done.
        for timer in self.gone:
            self.pool.discard(timer)
        held = self._held()
        self.tally.report_deferred(self._newly_due(), held)
        lane_burned = self.tally.lane_cycles * charged
        self._leave_market(lane_burned)
        live = sum(count for _, count in held)
        return self.tally.result(waiting_live=live, waiting_dead=len(self.pool) - live, lane_burned=lane_burned)

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
        answer = self.answers.get(timer.timer_id)
        offer = self._offer(timer) if answer is None else answer[1]
        return min(offer.tip, offer.max_fee - self.prices.lane)

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
        config, costs, price = self.tally.config, self.tally.basefees, self.prices.lane
        cells = config.max_cells_per_fire * costs.cell
        default_fee = self.prices.default_params().max_fee_per_cycle
        for address, payer in self.pool.payers.items():
            spendable = self.balances[address] - cells
            dearest = costs.cycle + max(payer.max_fee, default_fee) - price
            if payer.gas_max * dearest <= spendable:
                continue
            if payer.gas_min * costs.cycle > spendable:
                self.bankrupt[address] = spendable
            self._note_insolvent(payer, spendable)
        for timer, _ in self.answers.values():
            # The bound above knows nothing of what agents answer.
            if self._is_insolvent(timer):
                self.dead[timer.timer_id] = timer
            else:
                self.dead.pop(timer.timer_id, None)

    def _note_insolvent(self, payer: Payer, spendable: int) -> None:
        """Find those of a payer's timers that cost more per cycle than it can spend: one plain loop."""
        price, cycle, default = self.prices.lane, self.tally.basefees.cycle, self.prices.default_params()
        default_fee, default_tip = default.max_fee_per_cycle, default.max_priority_fee_per_cycle
        rows = zip(payer.gas_limits, payer.fees, payer.tips, strict=True)
        for place, (gas_limit, fee, tip) in enumerate(rows):
            room = (fee if fee != OPEN else default_fee) - price
            priority = tip if tip != OPEN else default_tip
            # min(), written out: the call would cost as much as the rest of the loop.
            if room >= 0 and gas_limit * (cycle + (priority if priority < room else room)) > spendable:  # noqa: FURB136
                timer = payer.timers[place]
                self.dead[timer.timer_id] = timer

    def _scale(self) -> Scale:
        weights = read_weights(self.lane)
        default = self.prices.default_params()
        return Scale(
            price=self.prices.lane,
            default_fee=default.max_fee_per_cycle,
            default_tip=default.max_priority_fee_per_cycle,
            denominator=weights.denominator,
            is_additive=self.lane.config.weight == "additive",
            numerator_of=lambda actor: weights.numerator(subject_of(self.lane, actor)),
        )

    def _settle(self, timer: Timer, gas_limit: int, priority: int) -> int | None:
        """Fire a timer and return the cycles that it used; None if its payer cannot, or could not, cover it."""
        required = self._required(timer, priority)
        if min(self.balances[timer.fee_payer], self.tally.ledger.balance(timer.fee_payer)) >= required:
            used = self.tally.fire(self._as_read(timer), required, priority)
            assert used <= gas_limit, "the gate is the gas limit"
            self.gone.append(timer)
            self.priorities.append(priority)
            self.actors.append(timer.actor)
            return used
        if self.tally.can_remove:
            self._destroy(timer)
        else:
            self.dead[timer.timer_id] = timer
        return None

    def _destroy(self, timer: Timer) -> None:
        required, now = self._required(timer, self._priority(timer)), self.tally.ledger.balance(timer.fee_payer)
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
        count_fires(lane, self.tally.moment.height, self.actors)
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
