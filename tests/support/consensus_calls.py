"""The calls of the replicas' engines in one run, and their comparison with a specification.

`lives = recorded_lives(draw_once(7, 'consensus.engine="simplex"'), 7)`, then `differences(Simplex, lives)`.
"""

from dataclasses import dataclass, field, replace

from checker.oracle.consensus.compare import compare_life
from checker.record.engine_calls import RecordedLife, recorded_kind
from cluster.runtime.cluster import Cluster
from cluster.runtime.replicas import settings_of
from validators.node import Validator


@dataclass(slots=True, kw_only=True)
class RecordedCluster(Cluster):
    """A cluster that keeps the calls of every replica's engine."""

    lives: dict[int, list[RecordedLife]] = field(default_factory=dict)

    def _build(self, slot, port, handle):
        settings = settings_of(self.scenario, slot.node)
        lives = self.lives.setdefault(slot.node, [])
        kind = recorded_kind(settings.consensus, lives, self._keys.validator_keys, lambda: self._kernel.now_us)
        return Validator(
            port=port,
            disk=handle,
            genesis=self._genesis,
            seed=self._keys.seeds[slot.node],
            public_keys=self._keys.validator_keys,
            settings=replace(settings, consensus=kind),
            factory=self.factories[slot.node],
            counts=slot.counts,
            incarnation=slot.incarnation,
            on_applied=self._applied[slot.node].append,
        )


def recorded_lives(scenario, seed=0):
    """Run a scenario, with the mutants that it states, and return by replica the lives of its engine.

    Byzantine replicas are left out: what their adversary makes of their engine's effects is its own.
    """
    cluster = RecordedCluster(scenario, seed, recording=False)
    cluster.run()
    return {node: lives for node, lives in cluster.lives.items() if node not in cluster._adversaries}


def differences(make, lives_of):
    """Return (differences, calls, effects) of all lives, by the specification that `make` makes."""
    found, calls, effects, known = [], 0, 0, {}
    for lives in lives_of.values():
        for number, life in enumerate(lives, 1):
            compared = compare_life(make, life.life, life.calls(), number, known)
            calls, effects = calls + compared.calls, effects + compared.effects
            if compared.difference is not None:
                found.append(compared.difference)
    return found, calls, effects
