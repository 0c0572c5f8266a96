"""Trials of runs of the swarm alone."""

import pytest

from checker.checks.parts.parts import ENGINES_ALONE, LONG_TRIALS
from cluster.scenario.load import load_scenario
from cluster.swarm.generator import draw_scenario
from cluster.verdict.swarm_trials import trials_of
from validators.consensus.registry import ENGINES

SEEDS = range(12)
"""Seeds in which the turn of each long trial comes."""


def names_of(seed, scenario=None):
    return [trial.__name__ for trial in trials_of(scenario or draw_scenario(seed), seed)]


def test_every_fourth_seed_has_a_second_chain():
    assert [seed for seed in SEEDS if "try_second_chain" in names_of(seed)] == [0, 4, 8]


@pytest.mark.parametrize("engine", ENGINES)
def test_every_seed_has_engines_of_its_kind_alone(engine):
    scenarios = [(seed, draw_scenario(seed)) for seed in range(60)]

    assert [
        seed
        for seed, scenario in scenarios
        if (ENGINES_ALONE[engine].trial in trials_of(scenario, seed)) != (scenario.consensus.engine == engine)
    ] == []


def test_the_turn_of_every_long_trial_comes():
    tried = {name for seed in SEEDS for name in names_of(seed)}

    assert [turn.trial.__name__ for turn in LONG_TRIALS if turn.trial.__name__ not in tried] == []


def test_a_scenario_with_a_name_has_none():
    assert names_of(0, load_scenario("calm", ())) == []
