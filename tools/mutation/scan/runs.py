"""The runs that every mutant is tried in: swarm seeds, then the shipped scenarios at a small size."""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from cluster.authoring.small_sizes import small_settings
from cluster.scenario.load import decode_scenario, encode_scenario, load_scenario
from cluster.swarm.generator import draw_scenario
from tools.mutation.campaign import TO_THE_END
from tools.mutation.scan.mutant_runs import Trial, TrialOutcome

SEEDS: Final = range(40)

TRIES: Final = 12
"""Runs with one mutant at most, unless a scan says otherwise: those that survive would take most of its time."""

STEPS_FACTOR: Final = 10
STEPS_MORE: Final = 20_000
CPU_FACTOR: Final = 6
CPU_MORE_S: Final = 5
"""A mutant has so many times the steps and the processor time of the clean run, and so many more."""


def clean_trials(seeds: Sequence[int], scenarios: Sequence[str]) -> Iterator[Trial]:
    """Yield the runs in the order in which they are tried: seeds of the swarm, then shipped scenarios."""
    for seed in seeds:
        yield Trial(name=f"swarm-{seed}", seed=seed, scenario=encode_scenario(draw_scenario(seed, (TO_THE_END,))))
    for name in scenarios:
        scenario = load_scenario(name, (*small_settings(name), TO_THE_END))
        yield Trial(name=name, seed=0, scenario=encode_scenario(scenario))


def limited(trial: Trial, clean: TrialOutcome) -> Trial:
    """Return a trial with the limits, the verdict and the digest that follow from its clean run."""
    scenario = decode_scenario(trial.scenario, trial.name)
    run = scenario.run
    steps = min(run.step_limit, STEPS_FACTOR * clean.events + STEPS_MORE)
    changed = msgspec.structs.replace(scenario, run=msgspec.structs.replace(run, step_limit=steps))
    return Trial(
        name=trial.name,
        seed=trial.seed,
        scenario=encode_scenario(changed),
        cpu_s=CPU_FACTOR * clean.cpu_ms // 1_000 + CPU_MORE_S,
        exit_code=clean.exit_code,
        failed=clean.failed,
        digest=clean.digest,
    )
