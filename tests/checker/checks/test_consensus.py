"""The check `consensus`: it judges runs of engines with a specification, and mutants of an engine fail it."""

import pytest

from checker.families import title_of
from checker.oracle.consensus.registry import SPECIFICATIONS
from cluster.runtime.replicas import JUDGED_FEW, judged_replicas
from cluster.scenario.load import load_scenario
from tests.support.cluster_runs import check_named, result_of
from tests.support.mutation import WITH_CATALOGUE
from validators.consensus.registry import ENGINES

SHORT = ("run.until_height=6",)


def test_a_calm_run_passes():
    check = check_named(result_of("calm", *SHORT), "consensus")

    assert check.status == "passed"
    assert "calls of 4 replicas" in check.summary
    assert check.compared > 100


def test_every_engine_of_the_test_bed_has_a_specification():
    assert [name for name in ENGINES if name not in SPECIFICATIONS] == []


def test_an_engine_without_a_specification_is_not_asked(monkeypatch):
    monkeypatch.delitem(SPECIFICATIONS, "simplex")
    result = result_of("calm", *SHORT)

    assert judged_replicas(load_scenario("calm"), 0) == []
    assert result.not_asked["consensus"] == "the engine simplex has no specification"


@pytest.mark.parametrize(
    ("mutant", "exit_class"),
    [("certificate-below-quorum", "safety"), ("waits-for-ever", "liveness")],
)
def test_a_mutant_fails(mutant, exit_class):
    check = check_named(result_of("calm", *SHORT, WITH_CATALOGUE, f"mutants.{mutant}=[2]"), "consensus")

    assert (check.status, check.exit_class) == ("failed", exit_class)
    assert check.summary.startswith("replica 2 at")
    assert title_of(check).startswith("consensus/")
    assert dict(check.evidence)["rules"].startswith("SX-")


def test_a_mutant_of_the_longest_chain_fails():
    settings = ('consensus.engine="longest-chain"', WITH_CATALOGUE, "mutants.sealed-before-written=[2]")
    check = check_named(result_of("calm", *SHORT, *settings), "consensus")

    assert (check.status, check.exit_class) == ("failed", "safety")
    assert check.summary.startswith("replica 2 at")
    assert title_of(check) == "consensus/record"
    assert dict(check.evidence)["rules"] == "LC-17"


def test_few_replicas_are_judged_and_every_holder_of_a_mutant():
    settings = ("cluster.validators=9", WITH_CATALOGUE, "mutants.waits-for-ever=[0, 1, 2, 3, 4]")
    scenario = load_scenario("calm", settings[:1])
    with_mutants = load_scenario("calm", settings)
    judged = [judged_replicas(scenario, seed) for seed in range(20)]

    assert {len(each) for each in judged} == {JUDGED_FEW}
    assert len({tuple(each) for each in judged}) > 10
    assert all(set(range(5)) <= set(judged_replicas(with_mutants, seed)) for seed in range(20))


def test_all_honest_replicas_are_judged_where_a_scenario_says_so():
    settings = ("cluster.validators=9", 'run.consensus_judged="all"')
    scenario = load_scenario("calm", settings)
    byzantine = load_scenario("equivocating-leader", ('run.consensus_judged="all"',))

    assert judged_replicas(scenario, 0) == list(range(9))
    assert len(judged_replicas(byzantine, 0)) == byzantine.replicas - 1
