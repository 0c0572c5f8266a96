"""The storm's accounting: a block's budget predicts its clean-up, and live timers never wait for dead ones.

`checker.checks.timer_delivery` keeps the list of timers. For each block this check predicts the number of dead timers
left from the budget and the number found, and requires that only the execution lane holds live timers back. Receipts do
not show which timers are insolvent, so the check knows only bounds on their number.
"""

from checker.checks.budgets import add_up
from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.checks.mirror import SettledBlock
from checker.checks.timer_delivery import Pending, TimerDelivery
from checker.results import CheckResult
from network.words import counted
from scheduler.events import DeferralReason, DeferredSummary
from validators.execution.receipts import TimerReceipt


class StormAccounting(Check):
    """A block's clean-up is what its budget predicts, and a live timer waits only for the execution lane.

    Dead timers left = dead timers found less the removals that the GC budget allows. Each live timer that waits has
    a reason.
    """

    name = "storm-accounting"
    needs = "tables"

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        # `TimerDelivery` stands before this check in the list, so it has already settled the same block.
        self._delivery = run.check(TimerDelivery)
        self._blocks = 0
        self._backlog_blocks = 0
        self._removed = 0
        self._held = 0

    def not_asked(self) -> str:
        """Return a reason where no timer was removed or held back."""
        return "" if self.tally.compared else "no timer was removed or held back"

    def settle(self, block: SettledBlock) -> None:
        """Compare one block with the prediction."""
        self._blocks += 1
        self._predict_cleanup(block)
        claimed = block.summary.waiting_dead + block.summary.waiting_live
        if claimed != self._delivery.figures().waiting:
            # The list of waiting timers is in doubt, and the delivery check has reported that.
            return
        waiting = self._delivery.waiting() if claimed else []
        if waiting and block.guarantees.clears_dead:
            self._classify(block, waiting)
        self._explain_held(block, [timer for timer in waiting if timer.expires_at >= block.now])

    def finish(self) -> CheckResult:
        """Return the result."""
        return self.tally.result(
            f"{counted(self._removed, 'removals')} as the budgets predict; dead timers were left in "
            f"{self._backlog_blocks:,} of {counted(self._blocks, 'blocks')}, live timers held back in {self._held:,}",
            removed=self._removed,
            backlog_blocks=self._backlog_blocks,
            held_blocks=self._held,
        )

    def _predict_cleanup(self, block: SettledBlock) -> None:
        """Require that the GC lane removes dead timers as far as its budget goes, in every block."""
        spent, config = add_up(block), block.config
        if not block.guarantees.clears_dead:
            # The progress of a walk with a cursor depends on the timers that it visits.
            return
        removed, left = spent.removed, block.summary.waiting_dead
        budget = 0 if config.gc_lane_paused else config.gc_cycles_per_block // config.gc_cost_per_timer
        predicted = max(0, removed + left - budget)
        self._removed += removed
        self._backlog_blocks += left > 0
        if removed > budget:
            # The check `budgets` reports more removals than the budget.
            return
        if not removed and not left:
            return
        self.require(
            left == predicted, block, "dead timers left: {}; expected {} by the budget of {}", left, predicted, budget
        )

    def _classify(self, block: SettledBlock, waiting: list[Pending]) -> None:
        """Require that a timer counts as dead if it is past its expiry, and otherwise only if it is insolvent."""
        expired = sum(timer.expires_at < block.now for timer in waiting)
        dead, live = block.summary.waiting_dead, block.summary.waiting_live
        self.require(expired <= dead, block, "expired timers that wait: {}; the block counts {} dead", expired, dead)
        most = len(waiting) - expired
        self.require(live <= most, block, "live timers by the block's count: {}; not expired: {}", live, most)

    def _explain_held(self, block: SettledBlock, unexpired: list[Pending]) -> None:
        """Require that a live timer waits only for room in the lane, or because it exceeds the lane."""
        counts = _deferred(block)
        held = sum(counts.values())
        gone = self._delivery.cancelled_due if block.guarantees.timers_first else []
        unexpired = [*unexpired, *(timer for timer in gone if timer.expires_at >= block.now)]
        live = block.summary.waiting_live + sum(timer.expires_at >= block.now for timer in gone)
        self._held += held > 0
        if not held and not live:
            return
        self.require(held == live, block, "live timers that wait: {}; reasons are given for {}", live, held)
        cap = block.guarantees.attempt_cycles_max
        lane = block.lane_cycles_max if cap is None else min(block.lane_cycles_max, cap)
        over_cap = sum(timer.gas_limit > lane for timer in unexpired)
        stated = counts.get(DeferralReason.OVER_CAP, 0)
        if stated and block.guarantees.caps_by_limit:
            self.require(stated <= over_cap, block, "timers held as over the cap: {}; expected {}", stated, over_cap)
        is_filled = block.guarantees.fills_lane and not block.config.execution_lane_paused
        if counts.get(DeferralReason.LANE_FULL, 0) and is_filled:
            room = block.lane_cycles_max - add_up(block).lane_cycles
            # A default above the cap is read as the cap in the lane (K-5).
            limits = [timer.gas_limit if cap is None else min(timer.gas_limit, lane) for timer in unexpired]
            greatest = max((limit for limit in limits if limit <= lane), default=0)
            text = "live timers of at most {} cycles wait, but {} cycles are free in the lane"
            # By the literal reading no timer waits for room before the budget is exceeded.
            is_full = room < 0 if block.guarantees.overshoots else greatest > room
            self.require(is_full, block, text, greatest, room)


def _deferred(block: SettledBlock) -> dict[str, int]:
    """Return the number of live timers that each reason held back in a block, from the block's summary."""
    counts: dict[str, int] = {}
    for receipt in block.receipts:
        if isinstance(receipt, TimerReceipt) and isinstance(receipt.event, DeferredSummary):
            counts.update({str(reason): count for reason, count in receipt.event.counts})
    return counts
