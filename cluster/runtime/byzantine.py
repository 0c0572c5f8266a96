"""The liars of a cluster: what makes its dishonest validators lie, each with the true key of its validator."""

from cluster.runtime.genesis import ClusterKeys
from cluster.scenario.model import Scenario
from faults import Liar, byzantine_validators
from network.chance import Chance
from validators.settings import make_scheme


def liars_of(scenario: Scenario, keys: ClusterKeys, chance: Chance) -> dict[int, Liar]:
    """Return the liar of each validator that is dishonest at any time of the run."""
    dishonest = byzantine_validators(scenario.faults)
    return {
        node: Liar(
            node,
            validators=scenario.cluster.validators,
            replicas=scenario.replicas,
            dishonest=dishonest,
            scheme=make_scheme(keys.seeds[node], keys.validator_keys),
            chance=chance,
            max_skew_ms=scenario.chain.max_skew_ms,
        )
        for node in dishonest
    }
