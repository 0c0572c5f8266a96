"""Keys and genesis of a scenario's chain: functions of the scenario alone."""

from dataclasses import dataclass

from cluster.scenario.model import Scenario
from cluster.workloads.planned import genesis_shares
from scheduler import POLICIES
from validators.execution import Genesis, GenesisActor
from validators.execution.blocks import address_of
from validators.identity import public_key_of, secret_seed


@dataclass(frozen=True, slots=True)
class ClusterKeys:
    """Ed25519 seeds of the replicas, and public keys of the validators, by index; an observer has no public key.

    A twin has the seed of its validator.
    """

    seeds: tuple[bytes, ...]
    validator_keys: tuple[bytes, ...]


def keys_of(scenario: Scenario) -> ClusterKeys:
    """Return the replicas' keys."""
    validators = scenario.cluster.validators
    seeds = tuple(
        secret_seed(scenario.chain_id, "validator" if index < validators else "observer", index)
        for index in map(scenario.identity_of, range(scenario.replicas))
    )
    return ClusterKeys(seeds, tuple(public_key_of(seed) for seed in seeds[:validators]))


def genesis_of(scenario: Scenario, keys: ClusterKeys) -> Genesis:
    """Return the genesis of the scenario's chain."""
    chain = scenario.chain
    shares = list(genesis_shares(scenario))
    agents = [POLICIES[entry.policy].default_agent for entry in chain.policies()]
    return Genesis(
        chain_id=scenario.chain_id,
        timebase=chain.timebase,
        slot_ms=chain.slot_ms,
        block_cycles=chain.block_cycles,
        block_cells=chain.block_cells,
        mailbox_cycles=chain.mailbox_cycles,
        min_basefee=chain.min_basefee,
        cycle_basefee=chain.cycle_basefee,
        cell_basefee=chain.cell_basefee,
        timer_config=chain.timers.config(),
        calendar=chain.calendar.record(),
        policies=chain.policies(),
        validators=tuple(address_of(key) for key in keys.validator_keys),
        accounts=tuple(account for share in shares for account in share.accounts),
        actors=(
            *(actor for share in shares for actor in share.actors),
            *(GenesisActor(agent, "default-agent", bytes(20)) for agent in agents if agent is not None),
        ),
        system_deployers=tuple(deployer for share in shares for deployer in share.system_deployers),
    )
