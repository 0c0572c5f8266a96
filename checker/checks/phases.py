"""The ledger of a block's phases: in each, items found = items done + items left, and the receipts agree.

Chains have halted because an earlier phase had used up the block's budget and a required phase was skipped. The state
need not show this in that block. So each phase counts, outside the state, the entries that it found and left. This
check adds up the counts, and compares them with the receipts and with the lists of other checks.
The oracle restates the list of phases that a block must have (`checker/oracle/policies/`).
"""

from collections.abc import Mapping, Sequence

from checker.checks.budgets import add_up
from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.checks.mirror import SettledBlock
from checker.checks.timer_delivery import TimerDelivery
from checker.results import CheckResult
from network.words import counted
from scheduler.events import EpochPromoted
from validators.actors import MessageSent
from validators.execution.receipts import MessageDelivered, TimerReceipt, TransactionReceipt

Counts = Mapping[str, int]


class PhaseLedger(Check):
    """Each phase of a block accounts for all items that it found: done, or left with a reason.

    Due = fired + removed + left, promoted = left the overflow tree, found = delivered + left. The policy oracle
    names the phases that a block must have.
    """

    name = "phases"
    needs = "tables"

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        # `TimerDelivery` stands before this check in the list, so it has already settled the same block.
        self._delivery = run.check(TimerDelivery)
        self._entries = 0
        self._messages = 0

    def settle(self, block: SettledBlock) -> None:
        """Check one block."""
        entries: dict[str, Counts] = {entry.phase: entry.counts for entry in block.phases}
        self._entries += len(block.phases)
        self.require(len(entries) == len(block.phases), block, "a phase ran twice: {}", _names(block))
        self._judge_transactions(block, entries.get("transactions"))
        self._judge_timers(block, entries.get("timers"))
        self._judge_mailbox(block, entries.get("mailbox"))
        self._judge_totals(block, entries.get("prices"), entries.get("burns"), entries.get("tiers"))
        self._judge_promotion(block, entries.get("promotion"))

    def finish(self) -> CheckResult:
        """Return the result."""
        return self.tally.result(
            f"{counted(self._entries, 'phases')} account for all items that they found, in "
            f"{counted(self.tally.compared, 'sums')}"
        )

    def _judge_transactions(self, block: SettledBlock, counts: Counts | None) -> None:
        calls = [receipt for receipt in block.receipts if isinstance(receipt, TransactionReceipt)]
        found = {"included": len(calls), "reverted": sum(call.status != 0 for call in calls)}
        self._match(block, "transactions", counts, found)

    def _judge_timers(self, block: SettledBlock, counts: Counts | None) -> None:
        """Require that every due timer left by an exit or waits; `accounting` checks the reasons for waiting."""
        spent, waiting = add_up(block), self._delivery.figures().waiting
        done = spent.fired + spent.removed
        self._match(block, "timers", counts, {"fired": spent.fired, "removed": spent.removed})
        if counts is None or waiting != block.summary.waiting_live + block.summary.waiting_dead:
            # The list of waiting timers is in doubt, and the delivery check has reported that.
            return
        # The phase left the timers that transactions behind it cancelled.
        waiting += len(self._delivery.cancelled_due) if block.guarantees.timers_first else 0
        self._match(block, "timers", counts, {"due": waiting + done, "left": waiting})
        due, left = counts["due"], counts["left"]
        self.require(due == done + left, block, "due timers: {}; expected {} done + {} left", due, done, left)

    def _judge_mailbox(self, block: SettledBlock, counts: Counts | None) -> None:
        """Require that each waiting message was delivered or still waits; the phase finds no message of this block."""
        events = [event for receipt in block.receipts for event in _events_of(receipt)]
        sent = sum(isinstance(event, MessageSent) for event in events)
        delivered = sum(isinstance(event, MessageDelivered) for event in events)
        self._match(block, "mailbox", counts, {"delivered": delivered})
        if counts is not None:
            found, left, meanwhile = counts["found"], counts["left"], counts["sent_meanwhile"]
            self.require(found == delivered + left, block, "messages {}; delivered {}, left {}", found, delivered, left)
            expected = self._messages + sent - meanwhile
            self.require(found == expected, block, "messages found: {}; expected {}", found, expected)
        self._messages += sent - delivered

    def _judge_totals(
        self, block: SettledBlock, prices: Counts | None, burns: Counts | None, tiers: Counts | None
    ) -> None:
        spent = add_up(block)
        self._match(block, "prices", prices, {"cycles": spent.cycles + spent.lane_cycles})
        self._match(block, "burns", burns, {})
        self._match(block, "tiers", tiers, {})

    def _judge_promotion(self, block: SettledBlock, counts: Counts | None) -> None:
        """Require that the promoted heights, the overflow tree's loss and the epoch's event agree."""
        if counts is None:
            self._match(block, "promotion", counts, {})
            return
        promoted, lost = counts["promoted"], counts["left_overflow"]
        self.require(promoted == lost, block, "promoted heights: {}; {} left the overflow tree", promoted, lost)
        for receipt in block.receipts:
            if isinstance(receipt, TimerReceipt) and isinstance(receipt.event, EpochPromoted):
                reported = receipt.event.heights
                self.require(
                    reported == promoted, block, "heights reported as promoted: {}; expected {}", reported, promoted
                )

    def _match(self, block: SettledBlock, phase: str, counts: Counts | None, expected: Counts) -> None:
        self.require(counts is not None, block, "the phase {} has no entry in the ledger of {}", phase, _names(block))
        if counts is None:
            return
        for name, count in expected.items():
            found = counts.get(name)
            self.require(found == count, block, "the phase {} counts {} {}; expected {}", phase, found, name, count)


def _names(block: SettledBlock) -> str:
    return ", ".join(entry.phase for entry in block.phases) or "none"


def _events_of(receipt: TransactionReceipt | TimerReceipt) -> Sequence[object]:
    return receipt.events if isinstance(receipt, TransactionReceipt) else (receipt.event,)
