"""`--faults`: the faults of any scenario replaced by those of a level."""

import pytest

from cluster.authoring.fault_levels import with_faults
from cluster.cli.options import LEVELS
from cluster.scenario.load import load_scenario
from faults.kinds.partitions import Partitions


def counts(name, level):
    return [len(with_faults(load_scenario(name), level, seed).faults) for seed in range(12)]


@pytest.mark.parametrize(("level", "wanted"), [("none", {0}), ("light", {1}), ("heavy", {4})])
def test_a_level_has_as_many_faults_as_it_says(level, wanted):
    assert set(counts("partition-heal", level)) == wanted


def test_the_swarm_level_draws_how_many_as_well():
    assert len(set(counts("calm", "swarm"))) > 2


def test_a_kind_outside_the_swarms_list_is_drawn_where_a_plan_has_it():
    """All faults of the swarm stay as they are."""
    asked, other = load_scenario("random-partitions"), load_scenario("calm", ["cluster.validators=5"])
    for seed in range(8):
        with_it, without = (dict(with_faults(each, "swarm", seed).faults) for each in (asked, other))
        assert isinstance(with_it.pop("partitions"), Partitions)
        assert with_it == without


def test_seeds_draw_different_faults_and_the_same_again():
    drawn = [with_faults(load_scenario("calm"), "heavy", seed) for seed in (1, 2, 1)]

    assert drawn[0] == drawn[2]
    assert drawn[0].faults != drawn[1].faults


@pytest.mark.parametrize("name", ["hotstuff-partition", "longest-chain-eclipse"])
def test_an_engine_gets_only_faults_that_it_can_have(name):
    """A plan with an adversary or a form that the engine has not would be refused."""
    scenario = load_scenario(name)

    assert sum(len(with_faults(scenario, "swarm", seed).faults) for seed in range(40)) > 40


@pytest.mark.parametrize("level", LEVELS)
def test_what_is_required_and_expected_of_own_faults_goes_with_them(level):
    found = with_faults(load_scenario("broken-refund"), level, 5)

    assert (found.expect.fails, [name for name in found.requires if name not in found.workload]) == ((), [])


def test_without_a_level_a_scenario_stays_as_it_is():
    scenario = load_scenario("partition-heal")

    assert with_faults(scenario, None, 3) is scenario
