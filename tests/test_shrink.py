"""Shrinking: everything that a failure does not need goes, and what is left is a whole scenario."""

from cluster.results import SeedResult
from cluster.scenario import NetworkSection, decode_scenario, encode_scenario
from cluster.shrink import Shrinker
from cluster.swarm import draw_scenario


def judge_by(holds):
    """Return a judge for which the failure shows wherever `holds` of the scenario."""

    def judge(tasks):
        for task in tasks:
            signature = "it" if holds(decode_scenario(task.scenario, "candidate")) else ""
            yield task, SeedResult(task.seed, 1, "safety", signature, "", "", 1)

    return judge


def shrink(seed, holds):
    return Shrinker(draw_scenario(seed), seed, "it", judge=judge_by(holds), jobs=1).shrink().scenario


def test_what_fails_everywhere_shrinks_to_almost_nothing():
    for seed in range(12):
        shrunk = shrink(seed, lambda _scenario: True)

        assert (shrunk.faults, shrunk.workload, shrunk.validators, shrunk.cluster.validators) == ({}, {}, {}, 4)
        assert shrunk.observers == {}
        assert decode_scenario(encode_scenario(shrunk), "again") == shrunk


def test_what_a_failure_needs_stays():
    seed = next(seed for seed in range(50) if len(draw_scenario(seed).faults) >= 3)
    needed = list(draw_scenario(seed).faults)[1]

    assert list(shrink(seed, lambda scenario: needed in scenario.faults).faults) == [needed]


def test_what_names_an_observer_follows_its_number_when_there_are_fewer_validators():
    """Its number is the first after theirs."""
    fault = 'faults={it={kind="crash", validator=7, at_ms=3_000, restart_ms=5_000}}'
    settings = ("cluster.validators=7", 'observers={a={kind="restart"}}', fault, "validators={}", "planted={}")
    needs = draw_scenario(0, settings)

    def holds(scenario):
        return "it" in scenario.faults and scenario.faults["it"].validator == scenario.cluster.validators

    shrunk = Shrinker(needs, 0, "it", judge=judge_by(holds), jobs=1).shrink().scenario
    assert (shrunk.cluster.validators, shrunk.faults["it"].validator) == (4, 4)


def test_a_section_that_was_put_back_to_its_default_can_be_reduced_further():
    """The cluster gets smaller only once the network is as by default."""
    seed = next(seed for seed in range(50) if draw_scenario(seed).cluster.validators > 4)
    shrunk = shrink(seed, lambda scenario: scenario.cluster.validators > 4 or scenario.network == NetworkSection())

    assert (shrunk.cluster.validators, shrunk.network) == (4, NetworkSection())
