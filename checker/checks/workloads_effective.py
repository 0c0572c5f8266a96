"""The effect of a scenario's workloads: their transactions are in the chain and succeeded.

The check reads the final blocks. A required workload misses the scenario's expectation if it is switched off, or if a
transaction is missing or failed. Any other enabled workload needs at least one transaction with an effect. Actors that
schedule themselves have an effect if one of their fires succeeds, other timers if one comes due or leaves, scripts if
each has ended. Otherwise the run is inconclusive.
"""

from collections.abc import Mapping
from typing import ClassVar, Final

from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.checks.mirror import SettledBlock, included_in
from checker.checks.timer_delivery import TimerDelivery
from checker.expected import ExpectedWorkload
from checker.results import CheckResult, ExitClass
from scheduler import TimerFired, TimerScheduled
from validators.actors import Emitted
from validators.execution.receipts import TransactionReceipt

OK_STATUS: Final = 0
"""The status of a receipt whose transaction succeeded."""


class WorkloadsEffective(Check):
    """Each workload that may not be idle had an effect, and all transactions of a required workload succeeded."""

    name = "workloads-effective"
    exit_class: ClassVar[ExitClass] = "inconclusive"

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self._statuses: dict[bytes, int] = {}
        self._owners = {actor: each.name for each in run.expect.workloads for actor in each.recurring}
        self._fires = dict.fromkeys(self._owners.values(), 0)
        self._makers = {actor: each.name for each in run.expect.workloads for actor in each.firing}
        self._timers: dict[str, list[bytes]] = {name: [] for name in self._makers.values()}
        self._delivery = run.check(TimerDelivery)
        self._untold = {event: each.name for each in run.expect.workloads for event in each.told}

    def not_asked(self) -> str:
        """Return a reason where every workload may be idle."""
        return "" if self.run.expect.workloads else "no workload has to take effect"

    def settle(self, block: SettledBlock) -> None:
        """Remember statuses of transactions by hash, fires of actors that schedule themselves, and expected events.

        An outside application says nothing of a transaction: a transaction in a final block has succeeded.
        """
        if "receipts" not in self.run.offers:
            self._statuses |= dict.fromkeys(included_in(block), OK_STATUS)
        for receipt in block.receipts:
            if isinstance(receipt, TransactionReceipt):
                self._statuses[receipt.transaction] = receipt.status
            elif isinstance(receipt.event, TimerFired) and receipt.event.ok and receipt.event.actor in self._owners:
                self._fires[self._owners[receipt.event.actor]] += 1
        if self._makers or self._untold:
            for event in block.events():
                if isinstance(event, TimerScheduled) and event.actor in self._makers:
                    self._timers[self._makers[event.actor]].append(event.timer_id)
                elif isinstance(event, Emitted):
                    self._untold.pop(event, None)

    def finish(self) -> CheckResult:
        """Return the result."""
        tally, statuses = self.tally, self._statuses
        lacking: list[str] = []
        counts: dict[str, int] = {}
        for workload in self.run.expect.workloads:
            tally.compared += (len(workload.digests) if workload.is_required else 1) + len(workload.told)
            if reason := _find_lack(workload, statuses):
                lacking.append(reason)
            if untold := [event.data.decode() for event, name in self._untold.items() if name == workload.name]:
                lacking.append(f"{workload.name}: scripts that did not come to their end: {', '.join(untold)}")
            elif not reason and (reason := self._find_idle_timers(workload)):
                lacking.append(f"{'required: ' * workload.is_required}{workload.name}: {reason}")
            counts[workload.name] = sum(statuses.get(digest) == OK_STATUS for digest in workload.digests)
        if lacking:
            return tally.inconclusive("; ".join(lacking))
        shown = ", ".join(f"{name} {count:,}" for name, count in counts.items())
        return tally.result(f"transactions succeeded, all of a required workload: {shown}", **counts)

    def _find_idle_timers(self, workload: ExpectedWorkload) -> str:
        """Return how the timers of a workload whose transactions succeeded had no effect, or an empty string."""
        # The transactions of actors that schedule themselves only start them.
        if workload.recurring and not self._fires[workload.name]:
            return "no fire of its actors succeeded"
        timers = self._timers.get(workload.name, [])
        if timers and all(map(self._delivery.is_ahead, timers)):
            return f"no timer came due, was cancelled or was removed, of {len(timers):,} scheduled"
        return ""


def _find_lack(workload: ExpectedWorkload, statuses: Mapping[bytes, int]) -> str:
    """Return the missing effect of a workload, or an empty string."""
    found = [statuses[digest] for digest in workload.digests if digest in statuses]
    succeeded = found.count(OK_STATUS)
    is_tried = not workload.digests and any(digest in statuses for digest in workload.uncertain)
    if not workload.is_enabled:
        return f"required: {workload.name} is switched off"
    is_whole = succeeded == len(workload.digests) or not workload.is_required
    if is_whole and (succeeded or is_tried):
        return ""
    failed, missing = len(found) - succeeded, len(workload.digests) - len(found)
    counts = f"{succeeded} transactions succeeded, {failed} failed, {missing} not there"
    return f"{'required: ' * workload.is_required}{workload.name}: {counts}"
