"""The acts and counts of one timer phase, whatever its policy: removals, fires, first deferrals, the result."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import msgspec

from scheduler.events import DeferralReason, DeferredSummary, TimerCancelledForDelay, TimerDeferred, TimerExpired
from scheduler.rules import AptosRule, AuctionRule, CoveragePoint, LaneRule, PhaseRule
from scheduler.settlement import destroy, settle
from scheduler.tables import Ledger, Runner, TimerTables
from scheduler.types import Basefees, Exit, Moment, PhaseResult, Timer, TimerConfig

if TYPE_CHECKING:
    from scheduler.policies.policy import PolicyInBlock


_CELLS: Final = {
    DeferralReason.LANE_FULL: PhaseRule.LANE_FULL,
    DeferralReason.OVER_CAP: PhaseRule.OVER_CAP,
    DeferralReason.BELOW_BASEFEE: PhaseRule.BELOW_BASEFEE,
    DeferralReason.NOT_ASKED: AuctionRule.UNASKED_WAITS,
    DeferralReason.READY_LIMIT: AptosRule.READY_LIMIT_SPENT,
    DeferralReason.UNAVAILABLE: AptosRule.SERVICE_STANDS,
}
"""The coverage point of a reason to wait; the others have several, noted where they arise."""


@dataclass(slots=True)
class Tally:
    """The running counts of one timer phase; `basefees` are what a fire burns, `leave` hears of each exit."""

    moment: Moment
    config: TimerConfig
    basefees: Basefees
    tables: TimerTables
    ledger: Ledger
    run: Runner
    leave: Callable[[Timer, Exit], None]
    release: Callable[[Timer], None]
    proposer: bytes = b""
    events: list[msgspec.Struct] = field(default_factory=list)
    removed: int = 0
    fired: int = 0
    reverted: int = 0
    expired: int = 0
    insolvent: int = 0
    lane_cycles: int = 0
    lane_cells: int = 0
    burned: int = 0
    tips: int = 0
    reached: list[CoveragePoint] = field(default_factory=list)
    late: int = 0
    """Fires of timers that an earlier block deferred."""
    unattempted: int = 0
    """Timers that expired before a block could fire them."""
    dropped: int = 0
    """Timers removed without the GC lane."""

    @classmethod
    def of(cls, policy: "PolicyInBlock", basefees: Basefees | None = None) -> "Tally":
        """Return the counts of a block's phase, at nought; fires burn the block's basefees unless others are given."""
        block, costs = policy.block, policy.block.basefees if basefees is None else basefees
        about = block.moment, block.config, costs, block.timers, block.ledger, block.run
        return cls(*about, policy.depart, policy.release, block.proposer)

    @property
    def can_remove(self) -> bool:
        """Whether the GC lane has budget left."""
        return self.removed < self.config.gc_budget

    def destroy(self, timer: Timer, required: int, available: int) -> None:
        """Remove a dead timer; `required` is the most that it would cost, `available` what was found too little."""
        event = destroy(timer, now=self.moment.now, required=required, available=available, tables=self.tables)
        self.removed += 1
        if isinstance(event, TimerExpired):
            self.expired += 1
            self.unattempted += timer.due > self.moment.parent_now
            self.leave(timer, Exit.EXPIRED)
        else:
            self.insolvent += 1
            self.leave(timer, Exit.INSOLVENT)
        self.events.append(event)

    def cancel_for_delay(self, timer: Timer, delays: int, cycle_basefee: int) -> None:
        """Remove a live timer; its payer pays the removal's cycles at the basefee, as far as it can, and they burn."""
        payer = timer.fee_payer
        # Before anything is charged, as at a fire.
        self.release(timer)
        # As far as it can pay: a removal must not depend on a balance, or a broke payer's timer could never be removed.
        penalty = min(self.config.gc_cost_per_timer * cycle_basefee, self.ledger.balance(payer))
        if penalty < self.config.gc_cost_per_timer * cycle_basefee:
            self.reached.append(LaneRule.PENALTY_PARTIAL)
        self.reached.append(LaneRule.DELAY_CANCELLED)
        self.tables.remove(timer)
        self.ledger.charge(payer, penalty)
        self.ledger.burn(penalty)
        self.burned += penalty
        self.removed += 1
        self.leave(timer, Exit.OVERDUE)
        self.events.append(TimerCancelledForDelay(timer.timer_id, payer, delays, penalty))

    def fire(
        self,
        timer: Timer,
        required: int,
        priority: int = 0,
        *,
        payment: int | None = None,
        available: int | None = None,
    ) -> int:
        """Settle a timer whose payer has `required`; return the cycles that it used.

        With a `payment`, which stands in the place of the tip, `required` was charged before. `available` is the
        payer's balance, where the caller has asked for it.
        """
        if available == required:
            self.reached.append(PhaseRule.FIRED_ON_EXACT_BALANCE)
        # Before anything is charged, and after its solvency was decided without it.
        self.release(timer)
        paid = settle(
            timer,
            required=required,
            basefees=self.basefees,
            tables=self.tables,
            ledger=self.ledger,
            run=self.run,
            priority=priority,
            proposer=self.proposer,
            payment=payment,
        )
        self.leave(timer, Exit.FIRED)
        self.fired += 1
        self.late += timer.due <= self.moment.parent_now
        self.reverted += not paid.outcome.ok
        if paid.outcome.cycles == timer.gas_limit:
            self.reached.append(PhaseRule.FIRE_USED_UP)
            if paid.outcome.ok:
                self.reached.append(PhaseRule.FIRE_JUST_ENOUGH)
        self.lane_cycles += paid.outcome.cycles
        self.lane_cells += paid.outcome.cells
        self.burned += paid.burned
        self.tips += paid.event.tip
        # The handler's events before the fire's own, in which they end.
        self.events.extend(paid.outcome.events)
        self.events.append(paid.event)
        return paid.outcome.cycles

    def report_deferred(
        self, first: Iterable[tuple[Timer, DeferralReason]], counts: Iterable[tuple[DeferralReason, int]]
    ) -> None:
        """Tell of each timer whose first attempt failed, in waiting order, and of how many each reason held back."""
        self.events.extend(TimerDeferred(timer.timer_id, reason) for timer, reason in first)
        # No summary of zeros: a block in which nothing waits has no event for it.
        nonzero = tuple((reason, count) for reason, count in counts if count)
        if nonzero:
            self.events.append(DeferredSummary(nonzero))
            is_paused = self.config.execution_lane_paused
            for reason, _ in nonzero:
                is_held = is_paused and reason is DeferralReason.LANE_FULL
                if is_held or reason in _CELLS:
                    self.reached.append(PhaseRule.LANE_PAUSED if is_held else _CELLS[reason])

    def result(
        self,
        *,
        waiting_live: int | None = None,
        waiting_dead: int | None = None,
        lane_burned: int = 0,
        insolvent_left: Iterable[Timer] = (),
    ) -> PhaseResult:
        """Freeze the counts; a timer phase says what still waits, and which of the dead are insolvent."""
        self.reached += self._cells(waiting_dead)
        return PhaseResult(
            fired=self.fired,
            reverted=self.reverted,
            expired=self.expired,
            insolvent=self.insolvent,
            waiting_live=waiting_live,
            waiting_dead=waiting_dead,
            lane_cycles=self.lane_cycles,
            lane_cells=self.lane_cells,
            gc_cycles=self.removed * self.config.gc_cost_per_timer,
            removed=self.removed + self.dropped,
            burned=self.burned,
            events=tuple(self.events),
            tips=self.tips,
            lane_burned=lane_burned,
            cells_burned=self.lane_cells * self.basefees.cell,
            reached=tuple(dict.fromkeys(self.reached)),
            insolvent_left=tuple(timer.timer_id for timer in insolvent_left),
        )

    def _cells(self, waiting_dead: int | None) -> Iterator[CoveragePoint]:
        """Yield the coverage points that the counts tell of."""
        if self.late:
            yield PhaseRule.FIRED_DEFERRED
            if self.late < self.fired:
                yield PhaseRule.CARRIED_BEFORE_NEW
        if self.reverted:
            yield PhaseRule.FIRE_REVERTED
        if self.expired:
            yield PhaseRule.EXPIRED
        if self.unattempted:
            yield PhaseRule.EXPIRED_UNATTEMPTED
        if self.insolvent:
            yield PhaseRule.INSOLVENT
        if waiting_dead:
            yield PhaseRule.GC_LANE_PAUSED if self.config.gc_lane_paused else PhaseRule.GC_BUDGET_SPENT
        if self.removed and self.fired:
            yield PhaseRule.BOTH_LANES_BUSY
