"""The effect of each workload of a run: fires of its actors that succeeded, or transactions that did."""

from collections.abc import Iterable

from cluster.scenario.model import Scenario
from cluster.workloads.planned import sites_of, transactions_of
from scheduler import TimerFired
from validators.actors import Status
from validators.execution import Executed
from validators.execution.receipts import TransactionReceipt, decode_receipt, is_of_transaction


def effects_of(scenario: Scenario, chain: Iterable[Executed]) -> dict[str, int]:
    """Return by the name of each workload that is on what it did; 0 where it was drawn for nothing."""
    owners = {
        actor.address: site.name
        for site, workload in sites_of(scenario)
        if workload.enabled and workload.is_recurring
        for actor in workload.genesis(site).actors
    }
    senders = {timed.digest: timed.workload for timed in transactions_of(scenario)}
    effects = {site.name: 0 for site, workload in sites_of(scenario) if workload.enabled}
    recurring = dict.fromkeys(owners.values())
    for executed in chain:
        for event in executed.events:
            if isinstance(event, TimerFired) and event.ok and event.actor in owners:
                effects[owners[event.actor]] += 1
        for receipt in map(decode_receipt, filter(is_of_transaction, executed.receipts)):
            if isinstance(receipt, TransactionReceipt) and receipt.status == Status.OK:
                name = senders.get(receipt.transaction, "")
                if name in effects and name not in recurring:
                    effects[name] += 1
    return effects
