"""The policy `gba-auction`: agents bid for timers as they fall due, and weights share out the budget (the older CIP-1).

Its rules by file: gba_records.py parameters and tables, gba_asking.py who is asked, gba_weights.py epochs and weights,
gba_selection.py tips, order, slices and room. docs/gba-auction.md says every reading.

Invariants: agents are asked and balances read before anything changes. A timer that cannot pay, or whose agent fails,
waits and is never destroyed for it. Only timers asked for in this block can fire in it. So a block's work follows from
its limits and not from the number of waiting timers. The search for expired timers is the only plain loop over all
of them. The search for timers to ask for skips timers whose payers cannot pay at any bid.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, ClassVar, Final

import msgspec

from scheduler.bidding import Bid, FeeParams, GbaFailure
from scheduler.errors import AgentRequired, InvalidInput
from scheduler.events import DeferralReason, GbaFailed
from scheduler.gba_asking import AuctionContext, next_to_ask, place_of
from scheduler.gba_records import (
    AUCTION_BOOKS,
    AUCTION_CONFIG,
    AUCTION_CURSOR,
    AUCTION_TABLES,
    DEFAULT_AGENT,
    ActorTally,
    AuctionConfig,
    AuctionCursor,
)
from scheduler.gba_selection import Contender, effective_tip, has_room, rank_of, share_out
from scheduler.gba_weights import AuctionWeights
from scheduler.lane_calls import AGENT_HANDLER, ask_for_bid
from scheduler.lifecycle import Admission, ScheduleRequest, SchedulingContext, admit
from scheduler.policies.policy import ONCE, BlockContext, Carry, Guarantees, Policy, PolicyInBlock, Refusal
from scheduler.rules import AuctionRule, CoveragePoint, PhaseRule
from scheduler.settlement import max_cost
from scheduler.tables import AgentCall, StateTable
from scheduler.tally import Tally
from scheduler.types import MAX_U63, BlockPhase, Exit, Parameters, PhaseResult, Quote, Timer

BEFORE: Final = (BlockPhase.TIMERS, BlockPhase.TRANSACTIONS, BlockPhase.END_OF_BLOCK)
"""The phases of a block whose timers come before its transactions (K-1)."""

CARRIED: Final = {
    "fifo": "they keep their expiry and their payer, and are bid for by the default agent",
    "fifo-free": "they keep their expiry, which never comes, and are bid for by the default agent",
    "eip1559": "the fees that they state hold, and the default agent bids where they name none",
}
"""The policies before this one, and how the timers are read that each left pending."""

_WAITS: Final = {
    GbaFailure.FAILED: AuctionRule.FAILING_AGENT_WAITS,
    GbaFailure.OVERRUN: AuctionRule.OVERRUNNING_AGENT_WAITS,
    GbaFailure.ABSURD: AuctionRule.ABSURD_AGENT_WAITS,
}
"""The coverage point of each way in which an agent fails."""


class GbaAuction(Policy):
    """Sorted by the tips that agents bid, within slices of the budget by weights that decay."""

    name: ClassVar[str] = "gba-auction"
    has_ttl: ClassVar[bool] = True
    has_budget: ClassVar[bool] = True
    default_agent: ClassVar[bytes | None] = DEFAULT_AGENT
    config_type: ClassVar[type[Parameters] | None] = AuctionConfig
    config_table: ClassVar[StateTable[Any] | None] = AUCTION_CONFIG
    tables: ClassVar[tuple[StateTable[Any], ...]] = AUCTION_TABLES

    def carry(self, previous: Policy) -> Carry | Refusal:
        """Take on the timers of every other policy of this package."""
        how = CARRIED.get(previous.name)
        return super().carry(previous) if how is None else Carry(how)

    def guarantees(self, own: Parameters | None) -> Guarantees:
        """Return what the auction promises: the dead leave, and who waits for room would not fit what is left."""
        if not isinstance(own, AuctionConfig):
            return Guarantees()
        return Guarantees(
            clears_dead=True,
            fills_lane=True,
            caps_by_limit=True,
            overshoots=own.budget == "literal",
            timers_first=own.timer_phase == "before",
        )

    def phases(self, own: Parameters | None) -> tuple[BlockPhase, ...]:
        """Return the steps of a block: timers after its transactions, or before them."""
        return BEFORE if isinstance(own, AuctionConfig) and own.timer_phase == "before" else ONCE

    def open(self, block: BlockContext) -> PolicyInBlock:
        """Return the policy in a block."""

        def quote(fees: Bid) -> tuple[Quote, int | None]:
            # Whatever fees a call states: the agent's answer is the bid.
            return Quote(None, None, fees.gba), None

        return GbaAuctionInBlock(block, SchedulingContext(block.timers, block.moment, block.config, quote=quote))


@dataclass(slots=True)
class _Waiting:
    """The waiting set of one block by class, each part in waiting order, and why each live timer waits."""

    expired: list[Timer]
    over_cap: list[Timer]
    live: Sequence[Timer]
    reasons: dict[bytes, DeferralReason] = field(default_factory=dict)
    """Of timers whose agents were asked; `lane_full` is the reason of those that compete, until they fire."""
    fired: dict[bytes, tuple[bytes, ActorTally]] = field(default_factory=dict)
    """The timers that fired, each with its actor and its part of that one's sums."""
    unpaid: int = 0
    """The timers passed over for their funds that an earlier block has told of: they are only counted."""
    unasked: DeferralReason = DeferralReason.NOT_ASKED
    """The reason of the others."""

    def reason(self, timer: Timer) -> DeferralReason:
        """Return why a live timer waits, whatever its class."""
        return self.reasons.get(timer.timer_id, self.unasked)


class GbaAuctionInBlock(PolicyInBlock):
    """One block of the policy."""

    default_agent = DEFAULT_AGENT

    def __init__(self, block: BlockContext, context: SchedulingContext) -> None:
        super().__init__(block, context)
        assert isinstance(block.own, AuctionConfig), "genesis writes the auction configuration"
        assert block.state is not None, "a chain hands its tables in"
        assert block.ask is not None, "a chain lets agents be asked"
        self.own = block.own
        self.state = block.state
        self._ask = block.ask
        self._has_fired = False

    def admit(self, request: ScheduleRequest) -> Admission:
        """Check a timer that is to come in; nothing is written.

        Raises:
            Rejected: One of the named errors; first AgentRequired, then InvalidInput for a payer (B-2, Q-50).
        """
        if request.fees.gba is None:
            raise AgentRequired
        if request.fee_payer is not None:
            raise InvalidInput("fee_payer", "the owner pays")
        return admit(self.context, request)

    def leave(self, timer: Timer, exit_: Exit) -> None:
        """Note a timer that a transaction cancels behind the timer phase."""
        super().leave(timer, exit_)
        is_due = timer.due <= self.block.moment.now
        if self._has_fired and is_due and exit_ in (Exit.BY_OWNER, Exit.BY_GOVERNANCE):
            self.reached.append(AuctionRule.CANCELLED_BEHIND_PHASE)

    def run(self, phase: BlockPhase) -> PhaseResult:
        """Run the timer phase (docs/gba-auction.md, the phase of the auction)."""
        assert phase is BlockPhase.TIMERS, phase
        block, tally = self.block, Tally.of(self)
        weights = AuctionWeights.open(self.state, self.own, now=block.moment.now, epoch_length=block.epoch_length)
        waiting = self._classify()
        contenders = self._ask_agents(tally, waiting, weights)
        removed = waiting.expired[: block.config.gc_budget]
        for timer in removed:
            tally.destroy(timer, 0, 0)
        self._fire(tally, waiting, contenders)
        weights.add(self._report(tally, waiting), block.config.lane_budget)
        self.state.set(AUCTION_BOOKS.key(), weights.books)
        tally.reached += weights.reached
        if self.own.timer_phase == "before":
            # The list of this phase is done with: what it left waiting may be cancelled by the transactions.
            self.context, self._has_fired = replace(self.context, collected=False), True
            tally.reached += (AuctionRule.TIMERS_FIRST,) if tally.fired else ()
        live = len(waiting.live) + len(waiting.over_cap) - tally.fired
        return tally.result(waiting_live=live, waiting_dead=len(waiting.expired) - len(removed))

    def close(self, used_cycles: int) -> PhaseResult | None:
        """Complete the books by all cycles of the block: what agents are told in the next one."""
        books = self.state.get(AUCTION_BOOKS, AUCTION_BOOKS.key())
        assert books is not None, "the timer phase leaves books"
        self.state.set(AUCTION_BOOKS.key(), msgspec.structs.replace(books, used_cycles=min(used_cycles, MAX_U63)))
        if not self._has_fired:
            return None
        # Counted anew: transactions came after the phase, and may have cancelled what it left.
        now = self.block.moment.now
        left = self.block.timers.collect(now)
        dead = sum(timer.expires_at < now for timer in left)
        return PhaseResult(waiting_live=len(left) - dead, waiting_dead=dead)

    def _classify(self) -> _Waiting:
        now, lane = self.block.moment.now, self.block.config.lane_timer_cycles
        found = self.block.timers.collect(now)
        # Plain loops over all that waits; the list itself where nobody is left out.
        expired = [timer for timer in found if timer.expires_at < now]
        over_cap = [timer for timer in found if timer.gas_limit > lane and timer.expires_at >= now]
        live = found
        if expired or over_cap:
            live = [timer for timer in found if timer.expires_at >= now and timer.gas_limit <= lane]
        return _Waiting(expired, over_cap, live)

    def _ask_agents(self, tally: Tally, waiting: _Waiting, weights: AuctionWeights) -> list[Contender]:
        """Ask for as many timers as a block may, from behind the cursor on, and return those that compete, in order."""
        if self.block.config.execution_lane_paused:
            waiting.unasked = DeferralReason.LANE_FULL
            return []
        found: list[Contender] = []
        cursor, block = self.state.get(AUCTION_CURSOR, AUCTION_CURSOR.key()), self.block
        listed = next_to_ask(
            waiting.live,
            cursor,
            self.own.max_gba_calls_per_block,
            config=block.config,
            basefees=block.basefees,
            ledger=block.ledger,
        )
        tally.reached += listed.reached
        # Each of these may wait for as long as it lives: only those that a block tells of are worth a place.
        told = [timer for timer in listed.unpayable if timer.due > block.moment.parent_now]
        waiting.reasons.update((timer.timer_id, DeferralReason.FUNDS) for timer in told)
        waiting.unpaid = len(listed.unpayable) - len(told)
        for timer in listed.asked:
            bid = self._bid(tally, timer, weights.books.used_cycles)
            if isinstance(bid, GbaFailure):
                waiting.reasons[timer.timer_id] = DeferralReason.AGENT_FAILED
                tally.reached.append(_WAITS[bid])
                tally.events.append(GbaFailed(timer.timer_id, bid.value, 1))
                continue
            tip = effective_tip(
                bid.max_fee_per_cycle,
                bid.max_priority_fee_per_cycle,
                basefee=self.block.basefees.cycle,
                reading=self.own.effective_tip,
            )
            waiting.reasons[timer.timer_id] = self._judge(tally, timer, bid, tip)
            if waiting.reasons[timer.timer_id] is DeferralReason.LANE_FULL:
                found.append(Contender(timer, tip, weights.weight(timer.actor)))
        if listed.asked:
            self.state.set(AUCTION_CURSOR.key(), AuctionCursor(*place_of(listed.asked[-1])))
        found.sort(key=lambda each: rank_of(each, self.own.tie_break))
        return found

    def _bid(self, tally: Tally, timer: Timer, used_cycles: int) -> FeeParams | GbaFailure:
        """Return the bid for a timer in this block: its agent's, but for fees that the timer itself states."""
        quote = timer.quote or Quote(None, None)
        if quote.gba is None:
            tally.reached.append(AuctionRule.DEFAULT_AGENT_ASKED)
        context = AuctionContext(
            trigger_block_height=timer.due,
            current_block_height=self.block.moment.now,
            basefee_cycle=self.block.basefees.cycle,
            basefee_cell=self.block.basefees.cell,
            last_block_cycle_usage=used_cycles,
            owner_actor_balance=self.block.ledger.balance(timer.actor),
        )
        reported = msgspec.msgpack.encode([min(value, MAX_U63) for value in msgspec.structs.astuple(context)])
        agent = DEFAULT_AGENT if quote.gba is None else quote.gba
        call = AgentCall(agent, timer.actor, AGENT_HANDLER, reported, self.own.gba_call_cycles)
        answer = ask_for_bid(self._ask, call)
        if isinstance(answer, FeeParams) and answer.is_absurd:
            return GbaFailure.ABSURD
        if isinstance(answer, GbaFailure):
            return answer
        stated = {
            name: value
            for name in ("max_fee_per_cycle", "max_priority_fee_per_cycle")
            if (value := getattr(quote, name)) is not None
        }
        if stated:
            tally.reached.append(AuctionRule.STATED_FEE_HOLDS)
        return msgspec.structs.replace(answer, **stated) if stated else answer

    def _judge(self, tally: Tally, timer: Timer, bid: FeeParams, tip: int) -> DeferralReason:
        """Return why a timer waits that is not a candidate; `lane_full` for one that is, until it fires."""
        if tip < 0:
            if bid.max_fee_per_cycle >= self.block.basefees.cycle:
                tally.reached.append(AuctionRule.TIP_ABOVE_ROOM)
            return DeferralReason.BELOW_BASEFEE
        if self.block.ledger.balance(timer.fee_payer) < self._required(timer, tip):
            tally.reached.append(AuctionRule.FUNDS_MISSING)
            return DeferralReason.FUNDS
        if tip < bid.max_priority_fee_per_cycle:
            tally.reached.append(AuctionRule.TIP_CUT_TO_ROOM)
        return DeferralReason.LANE_FULL

    def _required(self, timer: Timer, tip: int) -> int:
        return max_cost(timer, self.block.config, self.block.basefees, tip)

    def _fire(self, tally: Tally, waiting: _Waiting, contenders: Sequence[Contender]) -> None:
        """Fire within the slices, in order, then out of what is left over (Q-50)."""
        budget, weights = self.block.config.lane_timer_cycles, {each.timer.actor: each.weight for each in contenders}
        slices, reserved = share_out(budget, weights), dict.fromkeys(weights, 0)
        is_appended = self.own.tie_break == "append"
        tally.reached += _cells_of_order(contenders, budget, weights, is_appended=is_appended)
        rest: list[Contender] = []
        for each in contenders:
            actor, gas_limit = each.timer.actor, each.timer.gas_limit
            # By limits and not by use: what an actor's fires leave unused is for the second pass.
            if reserved[actor] + gas_limit > slices[actor]:
                rest.append(each)
            elif self._settle(tally, waiting, each):
                reserved[actor] += gas_limit
                tally.reached.append(AuctionRule.FIRED_IN_SLICE)
                # A greater tip stands behind: its slice decided, and not the order.
                tally.reached += (AuctionRule.SLICE_EXCEEDED,) if rest else ()
        for each in rest:
            gas_limit = each.timer.gas_limit
            is_whole = tally.lane_cycles + gas_limit == budget
            if not has_room(gas_limit, tally.lane_cycles, budget, reading=self.own.budget):
                continue
            if self._settle(tally, waiting, each):
                tally.reached.append(AuctionRule.FIRED_FROM_REST)
                tally.reached += (PhaseRule.LIMIT_FITS_EXACTLY,) if is_whole else ()
        if tally.lane_cycles > budget:
            tally.reached.append(AuctionRule.BUDGET_OVERSHOT)

    def _settle(self, tally: Tally, waiting: _Waiting, contender: Contender) -> bool:
        """Fire a timer whose payer can still cover it, and say whether it fired."""
        timer, tip = contender.timer, contender.tip
        required = self._required(timer, tip)
        # Asked anew: an earlier fire of this block may have spent it.
        available = self.block.ledger.balance(timer.fee_payer)
        if available < required:
            waiting.reasons[timer.timer_id] = DeferralReason.FUNDS
            tally.reached.append(AuctionRule.FUNDS_SPENT)
            return False
        reverted = tally.reverted
        used = tally.fire(timer, required, tip, available=available)
        lateness = self.block.moment.now - timer.due
        waiting.fired[timer.timer_id] = timer.actor, ActorTally(1, int(tally.reverted == reverted), tip, lateness, used)
        return True

    def _report(self, tally: Tally, waiting: _Waiting) -> dict[bytes, ActorTally]:
        """Tell of each timer whose first attempt failed and how many wait for each reason; return the actors' sums."""
        first: list[tuple[Timer, DeferralReason]] = []
        for held, is_over in ((waiting.live, False), (waiting.over_cap, True)):
            for timer in reversed(held):
                if timer.due <= self.block.moment.parent_now:
                    break
                reason = DeferralReason.OVER_CAP if is_over else waiting.reason(timer)
                if timer.timer_id not in waiting.fired:
                    first.append((timer, reason))
        first.sort(key=lambda each: place_of(each[0]))
        sums: dict[bytes, ActorTally] = {}
        for actor, fire in waiting.fired.values():
            sums[actor] = sums.get(actor, ActorTally()).plus(fire)
        for timer, _ in first:
            sums[timer.actor] = sums.get(timer.actor, ActorTally()).plus(ActorTally(deferrals=1))
        counts = dict.fromkeys(DeferralReason, 0)
        for timer_id, reason in waiting.reasons.items():
            counts[reason] += timer_id not in waiting.fired
        counts[DeferralReason.OVER_CAP] += len(waiting.over_cap)
        counts[DeferralReason.FUNDS] += waiting.unpaid
        counts[waiting.unasked] += len(waiting.live) - len(waiting.reasons) - waiting.unpaid
        tally.report_deferred(first, counts.items())
        return sums


def _cells_of_order(
    contenders: Sequence[Contender], budget: int, weights: Mapping[bytes, int], *, is_appended: bool
) -> Iterator[CoveragePoint]:
    """Yield the cells of what decided between timers that compete."""
    total = sum(weights.values())
    if total and any(budget * weight % total for weight in weights.values()):
        yield AuctionRule.SLICE_REMAINDER
    for first, second in pairwise(contenders):
        if first.tip == second.tip:
            if first.weight != second.weight:
                yield AuctionRule.TIE_BY_WEIGHT
            elif is_appended and first.timer.due > second.timer.due:
                yield AuctionRule.CARRIED_BEHIND_NEW
            else:
                yield AuctionRule.EQUAL_WEIGHTS
