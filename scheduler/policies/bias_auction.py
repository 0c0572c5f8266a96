"""The policy `bias-auction`: bids in escrow and a bias that grows with the wait compete per cycle (CIP-5, section 9).

Its rules by file: bias_records.py parameters and tables, bias.py the bias, bias_waits.py waits. bias_selection.py has
the walk and payments, bias_loop.py lambda, escrow.py bids. docs/spec.md says every reading.

Invariants: every winner is charged before the first winner runs, so that no handler decides who can pay. A bid is in
escrow from the call to the exit, and a fire pays at most its bid. A timer that was left out waits, whatever the reason.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, ClassVar, Final

import msgspec

from scheduler.bias_loop import close_books, open_books, step
from scheduler.bias_pool import BiasPool, BiasPoolRules
from scheduler.bias_records import BIAS_CONFIG, BIAS_TABLES, BiasBooks, BiasConfig
from scheduler.bias_selection import Competitor, Walk, cells_of_payments, payment, walk_all
from scheduler.bias_waits import WaitClock
from scheduler.bidding import FeeParams, GbaFailure
from scheduler.errors import AgentFailed, BidBelowReserve, BidNotCovered
from scheduler.escrow import BID, ESCROW_ADDRESS
from scheduler.events import BiasWindowClosed, BidLocked, DeferralReason, TimerTriggered
from scheduler.lane_calls import AGENT_HANDLER, ask_for_bid
from scheduler.lifecycle import Admission, ScheduleRequest, admit
from scheduler.policies.policy import BlockContext, Carry, Guarantees, Policy, PolicyInBlock, Refusal
from scheduler.rules import BiasRule, CoveragePoint, WatchRule
from scheduler.settlement import max_cost
from scheduler.tables import AgentCall, StateTable, StateTables
from scheduler.tally import Tally
from scheduler.types import MAX_U63, BlockPhase, Exit, Parameters, PhaseResult, Timer
from scheduler.watch_records import WATCH_TABLES, WatchLimits

CARRIED: Final[Mapping[str, Carry | Refusal]] = {
    "fifo": Carry("they keep their expiry and their payer, and compete without a bid"),
    "fifo-free": Carry("they keep their expiry, which never comes, pay for a fire and compete without a bid"),
    "eip1559": Refusal("pending timers bid the most that they pay, and the auction would charge them without asking"),
    "gba-auction": Refusal("agents bid for pending timers, and the auction would charge their owners without asking"),
}
"""The policies before this one, and what becomes of the timers that each left pending."""


class BiasAuction(Policy):
    """Sorted by bid and bias per cycle; winners pay out of escrow what the first one left out sets."""

    name: ClassVar[str] = "bias-auction"
    has_ttl: ClassVar[bool] = True
    has_budget: ClassVar[bool] = True
    escrow: ClassVar[bytes | None] = ESCROW_ADDRESS
    config_type: ClassVar[type[Parameters] | None] = BiasConfig
    config_table: ClassVar[StateTable[Any] | None] = BIAS_CONFIG
    tables: ClassVar[tuple[StateTable[Any], ...]] = (*BIAS_TABLES, BID, *WATCH_TABLES)

    def carry(self, previous: Policy) -> Carry | Refusal:
        """Take on timers that pay for a fire by its cycles alone."""
        return CARRIED.get(previous.name) or super().carry(previous)

    def watch_limits(self, own: Parameters | None, state: StateTables) -> WatchLimits | None:
        """Return the limits of state triggers, which are parameters of the auction."""
        del state
        assert isinstance(own, BiasConfig), "genesis writes the bias configuration"
        return WatchLimits(own.max_watches_per_actor, own.max_keys_per_watch, own.max_triggers_per_block)

    def guarantees(self, own: Parameters | None) -> Guarantees:
        """Return what the auction promises: the dead that were found leave, and only a limit above the lane waits."""
        del own
        return Guarantees(clears_dead=True, caps_by_limit=True)

    def open(self, block: BlockContext) -> PolicyInBlock:
        """Return the policy in a block."""
        return BiasAuctionInBlock(block)


class ReserveContext(msgspec.Struct, frozen=True, array_like=True):
    """The context that an agent is given in the call that schedules (D-12): six fields, as in the GBA auction."""

    trigger_block_height: int
    current_block_height: int
    basefee_cycle: int
    basefee_cell: int
    reserve: int
    owner_actor_balance: int


@dataclass(slots=True)
class _Phase:
    """The waiting set of one block, and what becomes of it."""

    pool: BiasPool
    clock: WaitClock
    walk: Walk
    gone: list[Timer] = field(default_factory=list)
    """Timers that left; the pool has them until the phase ends, because it is read meanwhile."""
    dead: dict[bytes, Timer] = field(default_factory=dict)
    """Insolvent timers beyond the GC budget."""
    expired_left: int = 0

    @property
    def left(self) -> dict[bytes, None]:
        """The timers that are not held: gone, or dead."""
        return dict.fromkeys((*(timer.timer_id for timer in self.gone), *self.dead))


class BiasAuctionInBlock(PolicyInBlock):
    """One block of the policy."""

    def __init__(self, block: BlockContext) -> None:
        super().__init__(block)
        assert isinstance(block.own, BiasConfig), "genesis writes the bias configuration"
        assert block.state is not None, "a chain hands its tables in"
        assert block.escrow is not None, "a chain that names the policy has an escrow"
        self.own = block.own
        self.state = block.state
        self.escrow = block.escrow
        self._held_bids: dict[bytes, int] = {}
        self._phase: _Phase | None = None

    def cycles_to_admit(self, request: ScheduleRequest) -> int:
        """Return what asking the agent costs the call, whatever the agent uses."""
        return self.own.gba_call_cycles if _wants_agent(request) else 0

    def admit(self, request: ScheduleRequest) -> Admission:
        """Check a timer that is to come in; nothing is written.

        Raises:
            Rejected: One of the named errors: AgentFailed, BidBelowReserve, those of every policy, BidNotCovered.
        """
        is_asked = _wants_agent(request)
        if is_asked:
            request = self._bid_of_agent(request)
        bid = request.bid or 0
        if 0 < bid < self.own.reserve:
            raise BidBelowReserve(bid, self.own.reserve)
        admission = admit(self.context, request)
        payer = admission.timer.fee_payer
        available = self.block.ledger.balance(payer)
        if available < bid:
            raise BidNotCovered(bid, available)
        reached = admission.reached + ((BiasRule.BID_BY_AGENT,) if is_asked else ())
        if not bid:
            return msgspec.structs.replace(admission, reached=reached)
        events = admission.events[0], BidLocked(admission.timer.timer_id, payer, bid)
        return msgspec.structs.replace(admission, bid=bid, events=events, reached=(*reached, BiasRule.BID_LOCKED))

    def enter(self, admission: Admission) -> None:
        """Write a timer that was admitted, and lock its bid."""
        super().enter(admission)
        self.escrow.lock(admission.timer, admission.bid)

    def leave(self, timer: Timer, exit_: Exit) -> None:
        """Return the whole bid; that of a fire waits for the payments."""
        if exit_ is not Exit.FIRED:
            self.escrow.give_back(timer)

    def release(self, timer: Timer) -> None:
        """Take the bid of a timer that is about to fire out of its entry, to pay out of it."""
        self._held_bids[timer.timer_id] = self.escrow.withdraw(timer)

    def run(self, phase: BlockPhase) -> PhaseResult:
        """Run the timer phase (docs/bias-auction.md, the phase of the bias auction)."""
        assert phase is BlockPhase.TIMERS, phase
        tally, books = Tally.of(self), open_books(self.state, self.own, self.block.activated_at)
        state = self._phase = self._open_phase()
        self._remove_expired(tally, state)
        if not self.block.config.execution_lane_paused:
            order = state.pool.order(self.block.moment.height, books.lambda_, state.walk)
            walk_all(order, state.walk, lambda one: self._charge(tally, state, one))
        self._fire(tally, state)
        self._report(tally, state)
        live = len(state.pool.competing) + len(state.pool.over_cap) - self._count_out(state)
        for timer in state.gone:
            state.pool.discard(timer)
        self._close_window(tally, state, books)
        dead = state.expired_left + len(state.dead)
        return tally.result(waiting_live=live, waiting_dead=dead, insolvent_left=state.dead.values())

    def trigger(self) -> PhaseResult:
        """Trigger timers, from whose hit their wait counts (K-45), and drop the slot rows that none needs any more."""
        triggered, state = super().trigger(), self._phase
        assert state is not None, "the timer phase comes before the end of the block"
        first = next((event for event in triggered.events if isinstance(event, TimerTriggered)), None)
        if first is not None and state.clock.note_triggers(first.sequence):
            self.reached.append(WatchRule.WAITED_FROM_HIT)
        # Now and not when the next block asks: an audit compares the pool as this one leaves it.
        state.pool.enlist(self.escrow.bid, state.clock.first_height)
        state.clock.close(state.pool.first_due)
        return triggered

    def _open_phase(self) -> _Phase:
        """Collect, and classify: expired, over the cap, or competing."""
        block = self.block
        clock = WaitClock(self.state, block.moment, block.activated_at)
        clock.open()
        pool = block.timers.collect_pool(block.moment.now, BiasPoolRules(block.config.lane_timer_cycles))
        pool.advance(block.moment.now)
        pool.enlist(self.escrow.bid, clock.first_height)
        walk = Walk(block.config.lane_timer_cycles, self.own.max_fires_per_block, self.own.max_fires_per_actor)
        return _Phase(pool, clock, walk)

    def _remove_expired(self, tally: Tally, state: _Phase) -> None:
        """Remove the expired in waiting order, as far as the GC lane reaches."""
        expired, budget = state.pool.expired, self.block.config.gc_budget
        removed = sorted(expired.values(), key=_place)
        if len(expired) > budget:
            removed = list(islice((timer for timer in state.pool.walk() if timer.timer_id in expired), budget))
        for timer in removed:
            tally.destroy(timer, 0, 0)
        state.gone += removed
        state.expired_left = len(expired) - len(removed)

    def _count_out(self, state: _Phase) -> int:
        """Return how many of those that competed do not wait as live ones."""
        return len(state.dead) + sum(timer.timer_id in state.pool.competing for timer in state.gone)

    def _charge(self, tally: Tally, state: _Phase, one: Competitor) -> bool:
        """Charge a timer that may win, or find it insolvent and remove it (Q-46)."""
        timer, required, ledger = one.timer, self._required(one.timer), self.block.ledger
        available = ledger.balance(timer.fee_payer)
        if available >= required:
            ledger.charge(timer.fee_payer, required)
            state.gone.append(timer)
            return True
        if tally.can_remove:
            tally.reached += (BiasRule.BID_OF_INSOLVENT,) if one.bid else ()
            tally.destroy(timer, required, available)
            state.gone.append(timer)
        else:
            tally.reached.append(BiasRule.INSOLVENT_STAYED)
            state.dead[timer.timer_id] = timer
        return False

    def _bid_of_agent(self, request: ScheduleRequest) -> ScheduleRequest:
        """Return a call with what its agent answers where it leaves bid or gas limit open; raises AgentFailed."""
        agent, ask = request.fees.gba, self.block.ask
        assert agent is not None, "only a call that names an agent has one asked"
        assert ask is not None, "a chain lets agents be asked"
        context = ReserveContext(
            trigger_block_height=request.due,
            current_block_height=self.block.moment.now,
            basefee_cycle=self.block.basefees.cycle,
            basefee_cell=self.block.basefees.cell,
            reserve=self.own.reserve,
            owner_actor_balance=self.block.ledger.balance(request.actor),
        )
        told = msgspec.msgpack.encode([min(value, MAX_U63) for value in msgspec.structs.astuple(context)])
        answer = ask_for_bid(ask, AgentCall(agent, request.actor, AGENT_HANDLER, told, self.own.gba_call_cycles))
        if isinstance(answer, FeeParams) and answer.is_absurd:
            answer = GbaFailure.ABSURD
        if isinstance(answer, GbaFailure):
            raise AgentFailed(agent, answer.value)
        limit = request.gas_limit
        if limit is None:
            limit = answer.max_priority_fee_per_cell or None
        cycles = self.context.gas_limit_ceiling if limit is None else limit
        bid = min(answer.max_priority_fee_per_cycle * cycles, MAX_U63) if request.bid is None else request.bid
        return msgspec.structs.replace(request, gas_limit=limit, bid=bid)

    def _required(self, timer: Timer) -> int:
        return max_cost(timer, self.block.config, self.block.basefees)

    def _fire(self, tally: Tally, state: _Phase) -> None:
        """Run the winners, then pay for them: the price does not depend on what they do."""
        walk, reserve = state.walk, self.own.reserve
        payments = [payment(winner, walk.runner_up, rule=self.own.payment, reserve=reserve) for winner in walk.winners]
        tally.reached += (*walk.reached, *cells_of_payments(walk, payments, reserve))
        if any(state.clock.is_behind_slots(winner.timer) for winner in walk.winners):
            tally.reached.append(BiasRule.WAITED_BY_BLOCKS)
        for winner, paid in zip(walk.winners, payments, strict=True):
            tally.fire(winner.timer, self._required(winner.timer), payment=paid)
        for winner, paid in zip(walk.winners, payments, strict=True):
            self.escrow.pay(self.block.proposer, paid)
            self.escrow.pay(winner.timer.fee_payer, self._held_bids.pop(winner.timer.timer_id) - paid)

    def _report(self, tally: Tally, state: _Phase) -> None:
        """Tell of each timer whose first attempt failed, and how many wait for each reason."""
        left = state.left
        new = [
            (timer, DeferralReason.OVER_CAP if timer.timer_id in state.pool.over_cap else self._reason(timer, state))
            for timer in state.pool.walk((self.block.moment.parent_now, MAX_U63))
            if timer.timer_id not in left and timer.timer_id not in state.pool.expired
        ]
        tally.report_deferred(new, self._count_reasons(state).items())

    def _count_reasons(self, state: _Phase) -> dict[DeferralReason, int]:
        """Return how many live timers wait for each reason, without a look at each."""
        pool, walk, left = state.pool, state.walk, state.left
        counts = dict.fromkeys(DeferralReason, 0)
        counts[DeferralReason.OVER_CAP] = len(pool.over_cap)
        held = len(pool.competing) - self._count_out(state)
        if self.block.config.execution_lane_paused:
            counts[DeferralReason.LANE_FULL] = held
            return counts
        capped = [
            timer
            for actor in walk.wins
            if walk.is_capped(actor)
            for timer in pool.by_actor[actor].values()
            if timer.timer_id not in left
        ]
        gone = [timer for timer in (*state.gone, *state.dead.values()) if timer.timer_id in pool.competing]
        short = pool.count_above(walk.room) - sum(timer.gas_limit > walk.room for timer in (*capped, *gone))
        counts[DeferralReason.LANE_FULL] = short
        counts[DeferralReason.ACTOR_CAP] = len(capped)
        counts[DeferralReason.BLOCK_CAP] = held - short - len(capped)
        return counts

    def _reason(self, timer: Timer, state: _Phase) -> DeferralReason:
        """Return why a timer that competed waits, as the walk ended."""
        if state.walk.is_capped(timer.actor):
            return DeferralReason.ACTOR_CAP
        is_held = self.block.config.execution_lane_paused or timer.gas_limit > state.walk.room
        return DeferralReason.LANE_FULL if is_held else DeferralReason.BLOCK_CAP

    def next_lambda(self, books: BiasBooks, worst: int) -> int:
        """Return the lambda that follows a window with these books and this worst wait."""
        return step(books, worst, self.own)

    def _close_window(self, tally: Tally, state: _Phase, books: BiasBooks) -> None:
        """Add up the waits of the block, and step lambda where its window closes."""
        height, oldest = self.block.moment.height, state.pool.oldest_height
        waits, longest = [winner.waited for winner in state.walk.winners], 0 if oldest is None else height - oldest
        closed = close_books(
            self.state,
            books,
            self.own,
            height=height,
            waits=waits,
            longest=longest,
            next_lambda_of=self.next_lambda,
        )
        if closed is not None:
            tally.events.append(closed)
            tally.reached.append(_cell_of_step(closed))


def _place(timer: Timer) -> tuple[int, int]:
    return timer.due, timer.sequence


def _cell_of_step(closed: BiasWindowClosed) -> CoveragePoint:
    """Return the coverage point of a window that closed."""
    if closed.next_lambda == closed.lambda_:
        return BiasRule.LAMBDA_STAYED
    return BiasRule.LAMBDA_ROSE if closed.next_lambda > closed.lambda_ else BiasRule.LAMBDA_FELL


def _wants_agent(request: ScheduleRequest) -> bool:
    """Say whether a call has its agent asked: it names one, and leaves bid or gas limit open."""
    return request.fees.gba is not None and (request.bid is None or request.gas_limit is None)
