"""Timer delivery, checked from the receipts of final blocks alone: scheduled once, never early, gone once.

A timer is due later than the block that makes it, so it never fires in this block. The check keeps its own list of
pending timers, without buckets or tiers. It compares the number of entries in the state's timer table after each block,
and their identifiers at the end.
"""

import heapq
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, assert_never

from checker.checks.bid_figures import BidFigures
from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.checks.mirror import SettledBlock
from checker.results import CheckResult
from checker.tables import TIMER, read_fields
from network.types import MILLISECOND_US
from network.words import counted
from scheduler.events import (
    FailureCode,
    TimerCancelled,
    TimerCancelledByGovernance,
    TimerCancelledForDelay,
    TimerCancelledInsufficientFunds,
    TimerExpired,
    TimerExtended,
    TimerExtendedByGovernance,
    TimerFired,
    TimerScheduled,
    TimerTriggered,
    TransactionCancelled,
    TransactionFailed,
)
from validators.execution.receipts import ChainEvent


class Pending(NamedTuple):
    """A timer that has not left: its place in the waiting order, its gas limit and its expiry."""

    due: int
    sequence: int
    gas_limit: int
    expires_at: int


@dataclass(frozen=True, slots=True)
class TimerFigures:
    """All timers of the chain so far, in counts.

    Every timer whose due slot (or height) has come is in exactly one of `fired`, `expired`, `insolvent`,
    `cancelled_after_due` and `waiting`; `removed_early` were cancelled, or died, before they were due.
    """

    scheduled: int
    due: int
    fired: int
    expired: int
    insolvent: int
    cancelled_after_due: int
    removed_early: int
    waiting: int


class TimerDelivery(Check):
    """Each timer is scheduled once, fires in order and never early, and leaves by exactly one exit.

    The exits are fire, expiry, insolvency and cancellation. After each block the state holds
    the scheduled timers less the timers that left.
    """

    name = "timer-delivery"
    needs = "tables"

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self._pending: dict[bytes, Pending] = dict(_stored_timers(run.genesis_values))
        self._exits: dict[bytes, int] = {}
        self._not_yet_due = [(timer.due, timer_id) for timer_id, timer in self._pending.items()]
        heapq.heapify(self._not_yet_due)
        self._state_timers = len(self._pending)
        self._bids = BidFigures(run)
        self._now = 0
        self._last_place = (-1, -1)
        self._scheduled = len(self._pending)
        self._due = 0
        self._waiting: dict[bytes, None] = {}
        self.cancelled_due: list[Pending] = []
        """The timers that were due in the last block and cancelled in it."""
        self._counts = dict.fromkeys(("fired", "expired", "insolvent", "cancelled", "early"), 0)

    def figures(self) -> TimerFigures:
        """Return the sums so far."""
        counts = self._counts
        return TimerFigures(
            scheduled=self._scheduled,
            due=self._due,
            fired=counts["fired"],
            expired=counts["expired"],
            insolvent=counts["insolvent"],
            cancelled_after_due=counts["cancelled"],
            removed_early=counts["early"],
            waiting=len(self._waiting),
        )

    def waiting(self) -> list[Pending]:
        """Return the due timers that have not left, in the order in which they came due."""
        return [self._pending[timer_id] for timer_id in self._waiting]

    def is_ahead(self, timer_id: bytes) -> bool:
        """Return whether a timer is pending and not due when the run ends."""
        timer, rules = self._pending.get(timer_id), self.run.rules
        # The block in which timers come due may never become final because of them.
        end = self.run.end.now_us // (rules.slot_ms * MILLISECOND_US) if rules.timebase == "slot" else 0
        return timer is not None and timer.due > max(self._now, end)

    def not_asked(self) -> str:
        """Return a reason where there was no timer."""
        return "" if self._scheduled or self.tally.has_failed else "no timer was scheduled"

    def settle(self, block: SettledBlock) -> None:
        """Check one block's events in their order, then the sums."""
        self._now = block.now
        self._last_place = (-1, -1)
        self.cancelled_due = []
        self._count_due()
        self._bids.settle(block)
        for event in block.events():
            self._judge(block, event)
        self._judge_sums(block)

    def finish(self) -> CheckResult:
        """Compare the pending timers with the timer table of the last state, by identifier."""
        stored = dict.fromkeys(timer_id for timer_id, _ in _stored_timers(self.run.state))
        # Without a block both states are genesis, and cannot differ.
        self.tally.compared += self._now > 0
        missing = [timer_id for timer_id in self._pending if timer_id not in stored]
        extra = [timer_id for timer_id in stored if timer_id not in self._pending]
        for timer_id in missing[:1]:
            self._fail(timer_id, "is pending, but the last state does not hold it")
        for timer_id in extra[:1]:
            self._fail(timer_id, "is in the last state, but its events say that it has left")
        figures = self.figures()
        not_due = len(self._pending) - figures.waiting
        counts = {
            "fired": figures.fired,
            "expired": figures.expired,
            "insolvent": figures.insolvent,
            "cancelled": figures.cancelled_after_due + figures.removed_early,
            "due and waiting": figures.waiting,
            "not due yet": not_due,
        }
        found = ", ".join(f"{count:,} {what}" for what, count in counts.items() if count or what == "fired")
        return self.tally.result(
            f"{counted(figures.scheduled, 'timers')} scheduled: {found}",
            scheduled=figures.scheduled,
            due=figures.due,
            fired=figures.fired,
            expired=figures.expired,
            insolvent=figures.insolvent,
            waiting=figures.waiting,
            removed_early=figures.removed_early,
            not_due=not_due,
            **self._bids.figures(),
        )

    def _count_due(self) -> None:
        """Count the timers that come due with this block and have not left before."""
        heap = self._not_yet_due
        while heap and heap[0][0] <= self._now:
            due, timer_id = heapq.heappop(heap)
            timer = self._pending.get(timer_id)
            # A triggered timer comes due by the trigger, and not at the height that it was scheduled for.
            # A timer whose identifier returned is in the list once for each time that it was scheduled.
            if timer is not None and timer.due == due and timer_id not in self._waiting:
                self._due += 1
                self._waiting[timer_id] = None

    def _judge(self, block: SettledBlock, event: ChainEvent) -> None:
        if isinstance(event, TimerScheduled):
            self._schedule(block, event)
        elif isinstance(event, TimerFired):
            self._fire(block, event)
        elif isinstance(event, TimerExpired):
            self._expire(block, event)
        elif isinstance(event, TimerCancelledInsufficientFunds):
            if self._leave(block, event.timer_id, "insolvent") is not None:
                is_short = event.available < event.required
                reason = "was cancelled for funds with {} of {} at hand"
                self._require(is_short, block, event.timer_id, reason, event.available, event.required)
        elif isinstance(event, TimerCancelled | TimerCancelledForDelay | TransactionCancelled):
            self._leave(block, event.timer_id, "cancelled")
        elif isinstance(event, TransactionFailed):
            self._fail_entry(block, event)
        elif isinstance(event, TimerCancelledByGovernance):
            self._cancel_by_governance(block, event)
        elif isinstance(event, TimerExtended | TimerExtendedByGovernance | TimerTriggered):
            self._change(block, event)

    def _schedule(self, block: SettledBlock, event: TimerScheduled) -> None:
        timer_id = event.timer_id
        has_left = timer_id in self._exits and not block.guarantees.returns_ids
        is_new = timer_id not in self._pending and not has_left
        self._require(is_new, block, timer_id, "was scheduled a second time")
        self._require(event.due > block.now, block, timer_id, "was scheduled at {} for {}", block.now, event.due)
        self._pending[timer_id] = Pending(event.due, event.sequence, event.gas_limit, event.expires_at)
        self._scheduled += 1
        heapq.heappush(self._not_yet_due, (event.due, timer_id))

    def _fire(self, block: SettledBlock, event: TimerFired) -> None:
        timer_id, now = event.timer_id, block.now
        timer = self._leave(block, timer_id, "fired")
        if timer is None:
            return
        self._require(timer.due <= now, block, timer_id, "due at {} fired early at {}", timer.due, now)
        self._require(now <= timer.expires_at, block, timer_id, "fired at {}, expired at {}", now, timer.expires_at)
        self._require(timer.due == event.due, block, timer_id, "due at {} fired as due at {}", timer.due, event.due)
        place = (timer.due, timer.sequence)
        if block.guarantees.in_order:
            self._require(place > self._last_place, block, timer_id, "at {} fired after {}", place, self._last_place)
        self._last_place = place

    def _expire(self, block: SettledBlock, event: TimerExpired) -> None:
        timer = self._leave(block, event.timer_id, "expired")
        if timer is not None:
            expiry = timer.expires_at
            is_past = event.current_height == block.now > expiry == event.expires_at
            self._require(is_past, block, event.timer_id, "was removed as expired at {}, expiry {}", block.now, expiry)

    def _cancel_by_governance(self, block: SettledBlock, event: TimerCancelledByGovernance) -> None:
        is_pending = event.timer_id in self._pending and not self._is_handed_out(block, event)
        self._require(is_pending == event.was_live, block, event.timer_id, "cancelled as live: {}", event.was_live)
        if is_pending:
            self._leave(block, event.timer_id, "cancelled")

    def _is_handed_out(self, block: SettledBlock, event: TimerCancelledByGovernance) -> bool:
        """Return whether the block has taken the entry as one of its transactions, and runs it behind this event."""
        if event.was_live or not block.guarantees.shares_block:
            return False
        left = (other for other in block.events() if isinstance(other, TimerFired | TransactionFailed))
        return any(other.timer_id == event.timer_id for other in left)

    def _fail_entry(self, block: SettledBlock, event: TransactionFailed) -> None:
        """Let an entry of the queue leave; an entry that ran and failed has left by its fire."""
        if event.code is FailureCode.SHUTDOWN:
            self._leave(block, event.timer_id, "cancelled")
        elif event.code is FailureCode.FAILED:
            has_left = event.timer_id in self._exits
            self._require(has_left, block, event.timer_id, "failed before it ran")
        elif event.code is FailureCode.EXPIRED or event.code is FailureCode.AUTH_EXPIRED:
            self._leave(block, event.timer_id, "expired")
        else:
            assert_never(event.code)

    def _change(self, block: SettledBlock, event: TimerExtended | TimerExtendedByGovernance | TimerTriggered) -> None:
        """Give a timer that stays another expiry or another place."""
        if isinstance(event, TimerTriggered):
            self._trigger(block, event)
        else:
            self._extend(block, event)

    def _extend(self, block: SettledBlock, event: TimerExtended | TimerExtendedByGovernance) -> None:
        timer = self._pending.get(event.timer_id)
        self._require(timer is not None, block, event.timer_id, "was extended but is not pending")
        if timer is not None:
            self._pending[event.timer_id] = timer._replace(expires_at=event.expires_at)

    def _trigger(self, block: SettledBlock, event: TimerTriggered) -> None:
        """Let a timer that waited for a change come due, with a new place (Q-52)."""
        timer_id, timer = event.timer_id, self._pending.get(event.timer_id)
        self._require(timer is not None, block, timer_id, "was triggered but is not pending")
        if timer is None:
            return
        self._require(timer.due > block.now, block, timer_id, "was triggered at {}, due at {}", block.now, timer.due)
        self._require(event.due == block.now, block, timer_id, "was triggered at {} for {}", block.now, event.due)
        self._pending[timer_id] = timer._replace(due=event.due, sequence=event.sequence)
        # The trigger is behind the timer phase: the timer comes into the next block's list.
        heapq.heappush(self._not_yet_due, (event.due, timer_id))

    def _leave(self, block: SettledBlock, timer_id: bytes, exit_name: str) -> Pending | None:
        timer = self._pending.pop(timer_id, None)
        self._waiting.pop(timer_id, None)
        self.tally.compared += 1
        if timer is None:
            gone = self._exits.get(timer_id)
            known = "was never scheduled" if gone is None else f"had left at height {gone}"
            self._fail(timer_id, f"{exit_name} at height {block.height}, but it {known}", block)
            return None
        self._exits[timer_id] = block.height
        if exit_name == "cancelled" and timer.due <= block.now:
            self.cancelled_due.append(timer)
        self._counts[exit_name if timer.due <= block.now else "early"] += 1
        return timer

    def _judge_sums(self, block: SettledBlock) -> None:
        """Compare with the validator's own counts: due timers that wait, and timers in the state."""
        figures = self.figures()
        waiting = figures.waiting
        left = figures.fired + figures.expired + figures.insolvent + figures.cancelled_after_due
        self.tally.compared += 1
        if figures.due != left + waiting:
            self.tally.fail(
                f"height {block.height}: {figures.due:,} timers came due, {left:,} left and {waiting:,} wait",
                height=block.height,
                due=figures.due,
                left=left,
                waiting=waiting,
            )
        claimed = block.summary.waiting_live + block.summary.waiting_dead
        self.tally.compared += 2
        if waiting != claimed:
            self.tally.fail(
                f"height {block.height}: {waiting:,} due timers have not left, the block says that {claimed:,} wait",
                height=block.height,
                counted=waiting,
                claimed=claimed,
            )
        for key, value in block.changes.items():
            if key[0] == TIMER:
                self._state_timers += (value is not None) - (key in block.before)
        if self._state_timers != len(self._pending):
            self.tally.fail(
                f"height {block.height}: the state holds {self._state_timers:,} timers, scheduled less exits are "
                f"{len(self._pending):,}",
                height=block.height,
                in_state=self._state_timers,
                pending=len(self._pending),
            )

    def _require(self, holds: object, block: SettledBlock, timer_id: bytes, what: str, *values: object) -> None:
        """Compare once; the text is built only for a failure, since this runs five times an event."""
        self.tally.compared += 1
        if not holds:
            self._fail(timer_id, what.format(*values), block)

    def _fail(self, timer_id: bytes, what: str, block: SettledBlock | None = None) -> None:
        place = "" if block is None else f"height {block.height}: "
        height = -1 if block is None else block.height
        self.tally.fail(f"{place}timer {timer_id[:6].hex()} {what}", height=height, timer=timer_id.hex())


def _stored_timers(values: Mapping[bytes, bytes]) -> Iterator[tuple[bytes, Pending]]:
    """Yield identifier and record of each entry in the timer table; a damaged entry is named by its key."""
    for key, value in values.items():
        if key[0] == TIMER:
            match read_fields(value):
                case [
                    bytes() as timer_id,
                    _,
                    int() as due,
                    int() as sequence,
                    _,
                    _,
                    _,
                    int() as gas_limit,
                    _,
                    int() as expiry,
                    *_,
                ]:
                    yield timer_id, Pending(due, sequence, gas_limit, expiry)
                case _:
                    yield key, Pending(0, 0, 0, 0)
