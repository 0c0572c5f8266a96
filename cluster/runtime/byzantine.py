"""The adversaries of a cluster, each with the true key of its Byzantine validator."""

from cluster.runtime.genesis import ClusterKeys
from cluster.runtime.replicas import settings_of
from cluster.scenario.model import Scenario
from faults import Adversary, byzantine_validators
from faults.byzantine.registry import ADVERSARIES
from network.chance import Chance
from validators.settings import make_scheme


def adversaries_of(scenario: Scenario, keys: ClusterKeys, chance: Chance) -> dict[int, Adversary]:
    """Return the adversary of each validator that is Byzantine at any time of the run."""
    byzantine = byzantine_validators(scenario.faults)
    return {
        node: ADVERSARIES[scenario.consensus.engine].make(
            node,
            validators=scenario.cluster.validators,
            replicas=scenario.replicas,
            byzantine=byzantine,
            scheme=make_scheme(keys.seeds[node], keys.validator_keys),
            config=settings_of(scenario, node).consensus_config,
            chance=chance,
            max_skew_ms=scenario.chain.max_skew_ms,
        )
        for node in byzantine
    }
