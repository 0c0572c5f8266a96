"""The effect of each workload of a run: successful fires of its actors, successful transactions, or included ones."""

from collections.abc import Iterable, Sequence

from cluster.scenario.model import Scenario
from cluster.workloads.planned import recurring_actors, sites_of
from cluster.workloads.submission import TimedTransaction
from scheduler import TimerFired
from validators.actors import Status
from validators.execution import Executed
from validators.execution.receipts import TransactionReceipt, decode_receipt, is_of_transaction


class WorkloadEffects:
    """Counts the effects of each workload that is on, block by block; a workload without effect has 0.

    Args:
        scenario: The run's scenario.
        submissions: All transactions that its clients submit.
    """

    def __init__(self, scenario: Scenario, submissions: Sequence[TimedTransaction]) -> None:
        self._owners = {
            actor: site.name
            for site, workload in sites_of(scenario)
            if workload.enabled
            for actor in recurring_actors(site, workload)
        }
        recurring = dict.fromkeys(self._owners.values())
        self._senders = {timed.digest: timed.workload for timed in submissions if timed.workload not in recurring}
        self.counts = {site.name: 0 for site, workload in sites_of(scenario) if workload.enabled}
        """By the name of each workload, in the scenario's order."""

    def include(self, digests: Iterable[bytes]) -> None:
        """Count the transactions of the next final block of an application, which alone knows their outcome."""
        for digest in digests:
            name = self._senders.get(digest, "")
            if name in self.counts:
                self.counts[name] += 1

    def add(self, executed: Executed) -> None:
        """Count the next final block."""
        for event in executed.events:
            if isinstance(event, TimerFired) and event.ok and event.actor in self._owners:
                self.counts[self._owners[event.actor]] += 1
        for receipt in map(decode_receipt, filter(is_of_transaction, executed.receipts)):
            if isinstance(receipt, TransactionReceipt) and receipt.status == Status.OK:
                name = self._senders.get(receipt.transaction, "")
                if name in self.counts:
                    self.counts[name] += 1
