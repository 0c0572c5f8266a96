"""Names of a chain's addresses by the scenario: workloads' clients and actors, validators, and reserved accounts."""

from cluster.runtime.genesis import keys_of
from cluster.scenario.model import Scenario
from cluster.workloads.planned import sites_of
from scheduler import POLICIES
from validators.execution.blocks import address_of


def address_names(scenario: Scenario) -> dict[bytes, str]:
    """Return the names: `payments/client-2`, `pulse/heartbeat-0`, `validator-3`, `default-agent`, `escrow`.

    A workload's actors are counted by program, so that a name says both.
    """
    names: dict[bytes, str] = {}
    for entry in scenario.chain.policies():
        policy = POLICIES[entry.policy]
        if policy.escrow is not None:
            names[policy.escrow] = "escrow"
        if policy.default_agent is not None:
            names[policy.default_agent] = "default-agent"
    for index, key in enumerate(keys_of(scenario).validator_keys):
        names[address_of(key)] = f"validator-{index}"
    for site, workload in sites_of(scenario):
        share = workload.genesis(site)
        for index, account in enumerate(share.accounts):
            names.setdefault(account.address, f"{site.name}/client-{index}")
        counts: dict[str, int] = {}
        for actor in share.actors:
            index = counts[actor.program] = counts.get(actor.program, -1) + 1
            names.setdefault(actor.address, f"{site.name}/{actor.program}-{index}")
    return names
