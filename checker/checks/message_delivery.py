"""Messages, checked from the receipts of final blocks alone: sent in sequence, delivered once and in this order.

The check keeps its own list of the waiting messages. A block serves the mailbox last, after all transactions and the
timer phase. Messages sent while it is served wait for the next block.
"""

from collections.abc import Sequence
from typing import Final

from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.checks.mirror import SettledBlock
from checker.results import CheckResult
from checker.tables import MAILBOX_KEY, MESSAGE, read_fields
from network.words import counted
from scheduler.events import (
    DeferredSummary,
    TimerCancelledForDelay,
    TimerCancelledInsufficientFunds,
    TimerDeferred,
    TimerExpired,
    TimerFired,
)
from validators.actors import MessageSent
from validators.execution.receipts import ChainEvent, MessageDelivered, TimerReceipt, TransactionReceipt

OF_THE_TIMER_PHASE: Final = (
    TimerFired,
    TimerDeferred,
    TimerExpired,
    TimerCancelledInsufficientFunds,
    TimerCancelledForDelay,
    DeferredSummary,
)
"""Events of the timer phase alone."""


class MessageDelivery(Check):
    """Messages of actors are delivered in the order of sending, once, after the timers, and within their budget.

    After each block the state holds exactly the messages that wait.
    """

    name = "message-delivery"
    needs = "tables"

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self._budget = run.rules.mailbox_cycles
        self._waiting: dict[int, int] = {}
        self._next = 0
        self._sent = 0
        self._delivered = 0
        self._reverted = 0
        self._in_state = sum(key[0] == MESSAGE for key in run.genesis_values)

    def not_asked(self) -> str:
        """Return a reason where no message was sent."""
        return "" if self._sent or self.tally.has_failed else "no message was sent"

    def settle(self, block: SettledBlock) -> None:
        """Check one block."""
        sent, delivered, reverted = self._sent, self._delivered, self._reverted
        # The mailbox comes last, behind all transactions and fires.
        served_from = max((place + 1 for place, it in enumerate(block.receipts) if _is_before(it)), default=0)
        self._take(block, _events_of(block.receipts[:served_from]), None)
        list_end = self._next
        used = self._take(block, _events_of(block.receipts[served_from:]), list_end)
        self._judge_budget(block, used, list_end)
        summary = block.summary
        self._match(block, "messages_sent", summary.messages_sent, self._sent - sent)
        self._match(block, "messages_delivered", summary.messages_delivered, self._delivered - delivered)
        self._match(block, "messages_reverted", summary.messages_reverted, self._reverted - reverted)
        self._match(block, "messages_waiting", summary.messages_waiting, len(self._waiting))
        self._match(block, "mailbox_cycles", summary.mailbox_cycles, used)
        self._judge_state(block)

    def finish(self) -> CheckResult:
        """Return the result."""
        return self.tally.result(
            f"{counted(self._sent, 'messages')} sent, {self._delivered:,} delivered in order, "
            f"{len(self._waiting):,} wait",
            sent=self._sent,
            delivered=self._delivered,
            waiting=len(self._waiting),
        )

    def _take(self, block: SettledBlock, events: list[ChainEvent], list_end: int | None) -> int:
        """Follow events in their order; return the cycles of delivered messages. `list_end` None: not served yet."""
        used = 0
        for event in events:
            if isinstance(event, MessageSent):
                self.require(
                    event.sequence == self._next, block, "message {} was sent as message {}", self._next, event.sequence
                )
                self._next = event.sequence + 1
                self._waiting[event.sequence] = event.cycles
                self._sent += 1
            elif isinstance(event, MessageDelivered):
                used += event.used_cycles
                self._deliver(block, event, list_end)
        return used

    def _deliver(self, block: SettledBlock, event: MessageDelivered, list_end: int | None) -> None:
        sequence = event.sequence
        self._delivered += 1
        self._reverted += not event.ok
        self.require(list_end is not None, block, "message {} was delivered before the timers were done", sequence)
        is_listed = list_end is None or sequence < list_end
        self.require(is_listed, block, "message {} was delivered in the block whose mailbox sent it", sequence)
        oldest = next(iter(self._waiting), -1)
        self.require(sequence == oldest, block, "message {} was delivered; expected message {}", sequence, oldest)
        cycles = self._waiting.pop(sequence, event.used_cycles)
        used = event.used_cycles
        self.require(used <= cycles, block, "message {} used {} cycles; expected at most {}", sequence, used, cycles)

    def _judge_budget(self, block: SettledBlock, used: int, list_end: int) -> None:
        """Require that the budget holds, and that the next waiting message did not fit it."""
        budget = self._budget
        if used:
            self.require(used <= budget, block, "the mailbox used {} cycles; expected at most {}", used, budget)
        oldest = next(iter(self._waiting), list_end)
        if oldest < list_end and used <= budget:
            cycles, room = self._waiting[oldest], budget - used
            self.require(cycles > room, block, "message {} of {} cycles waits, but {} are free", oldest, cycles, room)

    def _judge_state(self, block: SettledBlock) -> None:
        """Require that the state holds the waiting messages, and that the mailbox's record names them."""
        for key, value in block.changes.items():
            if key[0] != MESSAGE:
                continue
            self._in_state += (value is not None) - (key in block.before)
            sequence = int.from_bytes(key[1:9], "big")
            fields = [] if value is None else read_fields(value) or []
            stored = fields[4] if len(fields) > 4 else None
            expected = self._waiting.get(sequence)
            text = "the state gives message {} {} cycles; expected {}"
            self.require(stored == expected, block, text, sequence, stored, expected)
        count = len(self._waiting)
        self.require(self._in_state == count, block, "messages in the state: {}; expected {}", self._in_state, count)
        encoded = block.changes.get(MAILBOX_KEY, block.before.get(MAILBOX_KEY))
        queue = [0, 0] if encoded is None else read_fields(encoded)
        expected_queue = [next(iter(self._waiting), self._next), self._next]
        self.require(queue == expected_queue, block, "the mailbox is {}; expected {}", queue, expected_queue)

    def _match(self, block: SettledBlock, name: str, claimed: int, found: int) -> None:
        text = "the summary's {} is {}; expected {} by the receipts"
        self.require(claimed == found, block, text, name, claimed, found)


def _is_before(receipt: TransactionReceipt | TimerReceipt) -> bool:
    """Return whether a receipt is a transaction's, or one of the timer phase."""
    return isinstance(receipt, TransactionReceipt) or isinstance(receipt.event, OF_THE_TIMER_PHASE)


def _events_of(receipts: Sequence[TransactionReceipt | TimerReceipt]) -> list[ChainEvent]:
    return [event for it in receipts for event in (it.events if isinstance(it, TransactionReceipt) else (it.event,))]
