"""Budgets: the amounts that a block used, summed over its receipts, stay within its limits."""

from collections.abc import Iterator
from typing import NamedTuple

from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.checks.mirror import SettledBlock
from checker.results import CheckResult
from scheduler.events import (
    FailureCode,
    TimerCancelled,
    TimerCancelledByGovernance,
    TimerCancelledForDelay,
    TimerCancelledInsufficientFunds,
    TimerExpired,
    TimerFired,
    TimerScheduled,
    TransactionCancelled,
    TransactionFailed,
)
from validators.execution.receipts import ChainEvent, TimerReceipt, TransactionReceipt


class Spent(NamedTuple):
    """The sums over a block's receipts: cycles and cells of transactions, lane cycles of fires, removals."""

    cycles: int
    cells: int
    lane_cycles: int
    fired: int
    expired: int
    insolvent: int
    overdue: int
    last_fire: int = 0
    """Lane cycles of the block's last fire."""

    @property
    def removed(self) -> int:
        """The number of timers that the GC lane removed."""
        return self.expired + self.insolvent + self.overdue


class Budgets(Check):
    """No block uses more than its limits and the budgets of the two timer lanes, and its summary adds up.

    Cycles of fires stay within the execution lane, removals within the GC lane, and cycles and cells of
    transactions within the block. The configuration is that of the state before the block. A paused lane fires or
    removes nothing.
    """

    name = "budgets"
    needs = "tables"

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self._fullest_lane = 0

    def not_asked(self) -> str:
        """Return a reason where all blocks were empty."""
        return "" if self.tally.compared else "all blocks were empty"

    def settle(self, block: SettledBlock) -> None:
        """Check one block."""
        spent = add_up(block)
        config, rules = block.config, self.run.rules
        lane = 0 if config.execution_lane_paused else block.lane_cycles_max
        removals = 0 if config.gc_lane_paused else config.gc_cycles_per_block // config.gc_cost_per_timer
        shared = spent.lane_cycles if block.guarantees.shares_block else 0
        self._fullest_lane = max(self._fullest_lane, spent.lane_cycles)
        # By the literal reading of B-5 the last fire may go over the budget.
        limited = spent.lane_cycles - (spent.last_fire if block.guarantees.overshoots else 0)
        self._limit(block, "cycles in the execution lane", limited, lane)
        self.tally.compared += not lane
        if spent.fired and not lane:
            self.tally.fail(
                f"height {block.height}: timers fired in a paused lane: {spent.fired:,}", height=block.height
            )
        if block.guarantees.has_gc_lane:
            self._limit(block, "removals in the GC lane", spent.removed, removals)
        self._limit(block, "cycles of transactions", spent.cycles + shared, rules.block_cycles)
        self._limit(block, "cells of transactions", spent.cells, rules.block_cells)
        self._match(block, spent)

    def finish(self) -> CheckResult:
        """Return the result."""
        return self.tally.result(
            f"{self.tally.compared:,} limits and sums held; the fullest lane used {self._fullest_lane:,} cycles",
            fullest_lane_cycles=self._fullest_lane,
        )

    def _limit(self, block: SettledBlock, what: str, used: int, limit: int) -> None:
        # An unused budget is no comparison.
        self.tally.compared += used > 0
        if used > limit:
            self.tally.fail(
                f"height {block.height}: {used:,} {what}; expected at most {limit:,}",
                height=block.height,
                used=used,
                limit=limit,
            )

    def _match(self, block: SettledBlock, spent: Spent) -> None:
        summary = block.summary
        gc_cycles = spent.removed * block.config.gc_cost_per_timer if block.guarantees.has_gc_lane else 0
        pairs = (
            ("cycles_used", summary.cycles_used, spent.cycles),
            ("cells_used", summary.cells_used, spent.cells),
            ("lane_cycles", summary.lane_cycles, spent.lane_cycles),
            ("gc_cycles", summary.gc_cycles, gc_cycles),
            ("fired", summary.fired, spent.fired),
            ("expired", summary.expired, spent.expired),
            ("insolvent", summary.insolvent, spent.insolvent),
            *_counted(block),
        )
        for name, claimed, found in pairs:
            # Two zeros are no comparison.
            self.tally.compared += bool(claimed or found)
            if claimed != found:
                self.tally.fail(
                    f"height {block.height}: the summary's {name} is {claimed:,}; expected {found:,} by the receipts",
                    height=block.height,
                    claimed=claimed,
                    found=found,
                )


def _counted(block: SettledBlock) -> Iterator[tuple[str, int, int]]:
    """Yield numbers of a block's summary, each with the sum over the receipts; `message-delivery` sums messages."""
    summary, events = block.summary, list(block.events())
    calls = [receipt for receipt in block.receipts if isinstance(receipt, TransactionReceipt)]
    fires = [event for event in events if isinstance(event, TimerFired)]
    cancelled = sum(
        isinstance(event, TimerCancelled | TimerCancelledForDelay | TransactionCancelled)
        or (isinstance(event, TransactionFailed) and event.code is FailureCode.SHUTDOWN)
        or (isinstance(event, TimerCancelledByGovernance) and event.was_live)
        for event in events
    )
    yield "transactions", summary.transactions, len(calls)
    yield "transactions_reverted", summary.transactions_reverted, sum(call.status != 0 for call in calls)
    yield "scheduled", summary.scheduled, sum(isinstance(event, TimerScheduled) for event in events)
    yield "cancelled", summary.cancelled, cancelled
    yield "reverted", summary.reverted, sum(not fire.ok for fire in fires)
    yield "lane_cells", summary.lane_cells, sum(fire.used_cells for fire in fires)
    yield "deferred", summary.deferred, summary.waiting_live
    yield "tips", summary.tips, sum(call.tip for call in calls) + sum(fire.tip for fire in fires)


def is_drop(event: ChainEvent) -> bool:
    """Say whether an entry of the queue was dropped, for its expiry or its authorization's."""
    return isinstance(event, TransactionFailed) and event.code in {FailureCode.EXPIRED, FailureCode.AUTH_EXPIRED}


def add_up(block: SettledBlock) -> Spent:
    """Return the sums over a block's receipts."""
    calls = [receipt for receipt in block.receipts if isinstance(receipt, TransactionReceipt)]
    events = [receipt.event for receipt in block.receipts if isinstance(receipt, TimerReceipt)]
    fires = [event for event in events if isinstance(event, TimerFired)]
    return Spent(
        cycles=sum(call.cycles for call in calls),
        cells=sum(call.cells for call in calls),
        lane_cycles=sum(fire.used_cycles for fire in fires),
        fired=len(fires),
        expired=sum(isinstance(event, TimerExpired) or is_drop(event) for event in events),
        insolvent=sum(isinstance(event, TimerCancelledInsufficientFunds) for event in events),
        overdue=sum(isinstance(event, TimerCancelledForDelay) for event in events),
        last_fire=fires[-1].used_cycles if fires else 0,
    )
