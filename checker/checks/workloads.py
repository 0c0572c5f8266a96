"""The effect of a scenario's workloads: their transactions are in the chain and succeeded.

Checked from the blocks of the canonical chain. A required workload that was switched off, or of which a transaction is
missing or failed, misses the scenario's expectation; any other that is on needs one transaction at least
that did something. Actors that schedule themselves have no effect before one of their fires succeeds. Otherwise the run
is inconclusive.
"""

from collections.abc import Mapping
from typing import ClassVar, Final

from checker.checks.check import Check
from checker.checks.context import ExpectedWorkload, RunContext
from checker.checks.mirror import SettledBlock
from checker.results import CheckResult, ExitClass
from scheduler import TimerFired
from validators.execution.receipts import TransactionReceipt

OK_STATUS: Final = 0
"""The status of a receipt whose transaction succeeded."""


class WorkloadsEffective(Check):
    """Each workload that may not be idle did something, and of a required one every transaction succeeded."""

    name = "workloads-effective"
    exit_class: ClassVar[ExitClass] = "inconclusive"

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self._statuses: dict[bytes, int] = {}
        self._owners = {actor: each.name for each in run.expect.workloads for actor in each.recurring}
        self._fires = dict.fromkeys(self._owners.values(), 0)

    def not_asked(self) -> str:
        """Return a reason where every workload may be idle."""
        return "" if self.run.expect.workloads else "no workload has to take effect"

    def settle(self, block: SettledBlock) -> None:
        """Remember the status of each transaction by its hash, and count fires of actors that schedule themselves."""
        for receipt in block.receipts:
            if isinstance(receipt, TransactionReceipt):
                self._statuses[receipt.transaction] = receipt.status
            elif isinstance(receipt.event, TimerFired) and receipt.event.ok and receipt.event.actor in self._owners:
                self._fires[self._owners[receipt.event.actor]] += 1

    def finish(self) -> CheckResult:
        """Return the result."""
        tally, statuses = self.tally, self._statuses
        lacking: list[str] = []
        counts: dict[str, int] = {}
        for workload in self.run.expect.workloads:
            tally.compared += len(workload.digests) if workload.is_required else 1
            if reason := _find_lack(workload, statuses):
                lacking.append(reason)
            elif workload.recurring and not self._fires[workload.name]:
                # Its first transactions start it, and show no more than that.
                lacking.append(f"{'required: ' * workload.is_required}{workload.name}: no fire of its actors succeeded")
            counts[workload.name] = sum(statuses.get(digest) == OK_STATUS for digest in workload.digests)
        if lacking:
            return tally.inconclusive("; ".join(lacking))
        shown = ", ".join(f"{name} {count:,}" for name, count in counts.items())
        return tally.result(f"transactions succeeded, all of a required workload: {shown}", **counts)


def _find_lack(workload: ExpectedWorkload, statuses: Mapping[bytes, int]) -> str:
    """Return the missing effect of a workload, or an empty string."""
    found = [statuses[digest] for digest in workload.digests if digest in statuses]
    succeeded = found.count(OK_STATUS)
    is_tried = not workload.digests and any(digest in statuses for digest in workload.uncertain)
    if not workload.is_enabled:
        return f"required: {workload.name} is switched off"
    if workload.is_required and succeeded == len(workload.digests) and (succeeded or is_tried):
        return ""
    if not workload.is_required and (succeeded or is_tried):
        return ""
    missing = len(workload.digests) - len(found)
    counts = (
        f"{workload.name}: {succeeded} transactions succeeded, {len(found) - succeeded} failed, {missing} not there"
    )
    return f"required: {counts}" if workload.is_required else counts
