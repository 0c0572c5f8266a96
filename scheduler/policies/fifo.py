"""The policy `fifo`: timers fire in insertion order, within a lane, while a second lane removes the dead ones.

Invariants: the two budgets are independent, and neither is exceeded; within a block timers fire in the order (due,
sequence); each timer that leaves does so with exactly one event. The waiting set is collected once, before anything
fires, so that no handler of this phase can change who is on the list.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, final

import msgspec

from scheduler.events import DeferralReason, DeferredSummary, TimerDeferred, TimerExpired
from scheduler.settlement import WaitingSet, classify, destroy, max_cost, settle
from scheduler.tables import Ledger, Runner, TimerTables
from scheduler.types import Basefees, BlockPhase, Moment, PhaseResult, Timer, TimerConfig


@final
class Fifo:
    """First in, first out, with an execution lane and a GC lane (CIP-5 as revised)."""

    name: ClassVar[str] = "fifo"
    has_ttl: ClassVar[bool] = True
    default_config: ClassVar[TimerConfig] = TimerConfig()

    def phases(self) -> tuple[BlockPhase, ...]:
        """Return the steps of a block in order: timers come after transactions (K-1)."""
        return (BlockPhase.TRANSACTIONS, BlockPhase.TIMERS, BlockPhase.END_OF_BLOCK)

    def run_timers(
        self,
        *,
        moment: Moment,
        config: TimerConfig,
        basefees: Basefees,
        tables: TimerTables,
        ledger: Ledger,
        run: Runner,
    ) -> PhaseResult:
        """Run the timer phase of a block: collect, classify, remove the dead, fire the live, report who waits."""
        phase = _Phase(moment, config, basefees, tables, ledger, run)
        waiting = tables.collect(moment.now)
        classes = classify(waiting, now=moment.now, config=config, basefees=basefees, ledger=ledger)
        phase.remove_dead(classes.dead)
        phase.fire(classes.candidates)
        phase.report_deferred(classes)
        return phase.result(classes)


@final
@dataclass(slots=True)
class _Phase:
    """The running counts of one timer phase."""

    moment: Moment
    config: TimerConfig
    basefees: Basefees
    tables: TimerTables
    ledger: Ledger
    run: Runner
    events: list[msgspec.Struct] = field(default_factory=list)
    removed: int = 0
    attempted: int = 0
    fired: int = 0
    reverted: int = 0
    expired: int = 0
    insolvent: int = 0
    unpaid: int = 0
    lane_cycles: int = 0
    lane_cells: int = 0
    burned: int = 0

    def remove_dead(self, dead: Sequence[Timer]) -> None:
        """Remove dead timers in order, as many as the block's GC budget reaches."""
        for timer in dead[: self.config.gc_budget]:
            self._destroy(timer)

    def fire(self, candidates: Sequence[Timer]) -> None:
        """Take candidates into the lane strictly in order; the first that does not fit blocks the rest (Q-30)."""
        budget = self.config.lane_budget
        for timer in candidates:
            if self.lane_cycles + timer.gas_limit > budget or self.config.execution_lane_paused:
                return
            self.attempted += 1
            required = max_cost(timer, self.config, self.basefees)
            if self.ledger.balance(timer.fee_payer) >= required:
                self._settle(timer, required)
            elif self.removed < self.config.gc_budget:
                self._destroy(timer)
            else:
                self.unpaid += 1

    def report_deferred(self, classes: WaitingSet) -> None:
        """Tell of each live timer that failed its first attempt, in waiting order, and count all that wait."""
        held = classes.candidates[self.attempted :]
        first = self._newly_due(held, DeferralReason.LANE_FULL)
        first += self._newly_due(classes.over_cap, DeferralReason.OVER_CAP)
        first.sort(key=_place)
        self.events.extend(TimerDeferred(timer.timer_id, reason) for timer, reason in first)
        counts = ((DeferralReason.LANE_FULL, len(held)), (DeferralReason.OVER_CAP, len(classes.over_cap)))
        nonzero = tuple((reason, count) for reason, count in counts if count)
        if nonzero:
            self.events.append(DeferredSummary(nonzero))

    def result(self, classes: WaitingSet) -> PhaseResult:
        """Freeze the counts."""
        held = len(classes.candidates) - self.attempted + len(classes.over_cap)
        dead_removed = min(len(classes.dead), self.config.gc_budget)
        return PhaseResult(
            fired=self.fired,
            reverted=self.reverted,
            expired=self.expired,
            insolvent=self.insolvent,
            deferred=held,
            waiting_live=held,
            waiting_dead=len(classes.dead) - dead_removed + self.unpaid,
            lane_cycles=self.lane_cycles,
            lane_cells=self.lane_cells,
            gc_cycles=self.removed * self.config.gc_cost_per_timer,
            burned=self.burned,
            events=tuple(self.events),
        )

    def _destroy(self, timer: Timer) -> None:
        required = max_cost(timer, self.config, self.basefees)
        event = destroy(timer, now=self.moment.now, required=required, tables=self.tables, ledger=self.ledger)
        self.removed += 1
        if isinstance(event, TimerExpired):
            self.expired += 1
        else:
            self.insolvent += 1
        self.events.append(event)

    def _settle(self, timer: Timer, required: int) -> None:
        paid = settle(
            timer, required=required, basefees=self.basefees, tables=self.tables, ledger=self.ledger, run=self.run
        )
        assert paid.outcome.cycles <= timer.gas_limit, "a handler used more cycles than its gas limit"
        self.fired += 1
        self.reverted += not paid.outcome.ok
        self.lane_cycles += paid.outcome.cycles
        self.lane_cells += paid.outcome.cells
        self.burned += paid.burned
        self.events.extend(paid.outcome.events)
        self.events.append(paid.event)

    def _newly_due(self, timers: Sequence[Timer], reason: DeferralReason) -> list[tuple[Timer, DeferralReason]]:
        """Return the timers that no earlier block attempted: a suffix, because the order is by due height."""
        parent_now = self.moment.parent_now
        found: list[tuple[Timer, DeferralReason]] = []
        for timer in reversed(timers):
            if timer.due <= parent_now:
                break
            found.append((timer, reason))
        found.reverse()
        return found


def _place(deferred: tuple[Timer, DeferralReason]) -> tuple[int, int]:
    return deferred[0].due, deferred[0].sequence
