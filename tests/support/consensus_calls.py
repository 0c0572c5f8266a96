"""The calls of the replicas' engines in one run, and their comparison with a specification.

`lives = recorded_lives(draw_once(7, 'consensus.engine="simplex"'), 7)`, then `differences(Simplex, lives)`.
"""

from checker.oracle.consensus.compare import compare_life
from cluster.runtime.cluster import Cluster
from faults import byzantine_validators


def recorded_lives(scenario, seed=0):
    """Run a scenario, with the mutants that it states, and return by replica the lives of its engine.

    Byzantine replicas are left out: what their adversary makes of their engine's effects is its own.
    """
    cluster = Cluster(scenario, seed, recording=False)
    byzantine = byzantine_validators(scenario.faults)
    cluster.engine_calls = {node: [] for node in range(scenario.replicas) if node not in byzantine}
    cluster.run()
    return cluster.engine_calls


def differences(make, lives_of):
    """Return (differences, calls, effects) of all lives, by the specification that `make` makes."""
    found, calls, effects, known = [], 0, 0, {}
    for lives in lives_of.values():
        for number, life in enumerate(lives, 1):
            compared = compare_life(make, life.life, life.calls(), number=number, known=known)
            calls, effects = calls + compared.calls, effects + compared.effects
            if compared.difference is not None:
                found.append(compared.difference)
    return found, calls, effects
