"""Twins: one identity on two machines. f of them are survived, one more splits the chain, and the checks name them."""

import re

import pytest

from cluster.runtime.cluster import Cluster
from cluster.runtime.hooks import RunHooks
from cluster.scenario.load import load_scenario
from faults import PlanError, check_plan
from faults.kinds import twin
from network.events import Delivered, Dropped, Sent
from tests.support.audited import audited
from tests.support.cluster_runs import check_named, result_of
from tests.support.fault_plans import plan_of
from tests.support.keystones import first_of, third_of
from tests.support.twin_cases import ROUNDS_OF, run_case, twin_case
from validators.consensus.registry import ENGINES
from validators.events import Voted

SPAN = {"start_ms": 1_000, "stop_ms": 4_000}
SHORT = ("run.until_height=5", "run.time_limit_ms=60_000")
IN_TIME = 'kind="twin", validator=1, start_ms=1_000, stop_ms=4_000'

SPLITS = [
    ("twins-f-plus-one", "certificates"),
    ("twins-f-plus-one-hotstuff", "quorum-certificates"),
    ("twins-f-plus-one-longest", ""),
]
"""Scenarios with more than f twins, and the check that names them; in the longest chain the evidence does."""


def trace_of(fault, *settings):
    """Return the events of a short run with one fault, and its scenario."""
    events = []
    scenario = load_scenario("calm", (f"faults.it={{{fault}}}", *settings, *SHORT))
    Cluster(scenario, 0, hooks=RunHooks(on_event=events.append)).run()
    return events, scenario


@pytest.mark.parametrize(
    ("fault", "place"),
    [
        ({"validator": 4}, "faults.it.validator: an observer has no vote"),
        ({"validator": 1, "first": [[0]]}, "faults.it.second: needs as many rounds as first"),
        ({"validator": 1, "first": [[1]], "second": [[0]]}, "faults.it.first: may name the replicas 0 to 4 without 1"),
        ({"validator": 1, "first": [[0]], "second": [[5]]}, "faults.it.second: may name the replicas 0 to 4"),
        ({"validator": 1, "first": [[0, 0]], "second": [[]]}, "faults.it.first: "),
    ],
)
def test_a_twin_that_cannot_be_meant_is_refused(fault, place):
    with pytest.raises(PlanError, match=re.escape(place)):
        check_plan(plan_of(it={"kind": "twin", **SPAN, **fault}), 4, 1, engine="simplex")


def test_a_validator_has_one_twin_and_f_validators_have_twins_at_most():
    """With `above_f` more than f may have twins; a twin and a lie of one validator are one Byzantine validator."""
    one, other = ({"kind": "twin", "validator": node, **SPAN} for node in (1, 2))
    lie = {"kind": "byzantine", "validator": 1, "behaviour": "flood", **SPAN}

    with pytest.raises(PlanError, match="has another twin already"):
        check_plan(plan_of(it=one, again=one), 4, engine="simplex")
    with pytest.raises(PlanError, match="at most 1 may lose synced data or be Byzantine"):
        check_plan(plan_of(it=one, other=other), 4, engine="simplex")
    check_plan(plan_of(it=one, other={**other, "above_f": True}), 4, engine="simplex")
    check_plan(plan_of(it=one, lie=lie), 4, engine="simplex")


def test_a_script_says_which_machine_each_replica_reaches():
    """In the first round 0 reaches the own machine and 2 and 3 the twin; later 2 reaches the own machine, in turn."""
    events, scenario = trace_of(f"{IN_TIME}, round_ms=500, first=[[0], [2]], second=[[2, 3], []]")
    lost = {}
    for event in events:
        if isinstance(body := event.body, Dropped) and body.reason == "cut":
            lost.setdefault(body.condition, set()).add(tuple(sorted((event.node, body.destination))))
    links = {(event.node, event.body.destination) for event in events if isinstance(event.body, Sent)}

    assert (scenario.twins, scenario.byzantine) == ({4: 1}, (1, 4))
    assert lost["it@0"] | lost["it@2"] == {(1, 2), (1, 3), (0, 4)}
    assert lost["it@1"] | lost["it@3"] <= {(0, 1), (1, 3), (0, 4), (2, 4), (3, 4)}
    assert {(0, 1), (2, 4)} <= lost["it@1"] | lost["it@3"]
    assert not {(1, 4), (4, 1)} & links


def test_both_machines_vote_and_the_twin_is_off_outside_of_its_time():
    events, _ = trace_of('kind="twin", validator=1, start_ms=1_000, stop_ms=4_000, first=[[0]], second=[[0, 2, 3]]')

    voted = [
        [event.at_us for event in events if event.node == node and isinstance(event.body, Voted)] for node in (1, 4)
    ]
    assert all(voted)
    assert 1_000_000 <= min(voted[1]) <= max(voted[1]) < 4_000_000
    assert max(voted[0]) > 4_000_000
    heard = [event.at_us for event in events if event.node == 4 and isinstance(event.body, Delivered)]
    assert 1_000_000 <= min(heard) <= max(heard) < 4_000_000


@pytest.mark.parametrize("engine", ENGINES)
def test_a_twin_of_one_of_four_is_survived(engine):
    """Two machines of one identity are no two validators: three others have one chain, and nobody judges the two."""
    result = result_of("twins", f"consensus.engine={engine}", seed=1)

    assert result.verdict == "passed", result.headline
    assert "3 validators beside 1 Byzantine" in result.headline
    assert [row.status for row in result.validators] == ["voter", "byzantine", "voter", "voter", "twin"]
    assert result.validators[4].note.endswith("twin of validator 1")
    assert {each.signer for each in result.evidence} <= {1}


def test_drawn_cases_are_of_all_sizes_and_of_both_kinds_of_rules():
    cases = [twin_case("simplex", seed) for seed in range(60)]
    twins = [fault for case in cases for fault in case.faults.values()]

    assert {(case.cluster.validators, len(case.faults)) for case in cases} == {(4, 1), (7, 1), (7, 2)}
    assert {bool(fault.first) for fault in twins} == {True, False}
    assert {len(fault.first) for fault in twins} == set(range(6))
    assert len({fault.round_ms for fault in twins}) == 6


@pytest.mark.parametrize("engine", first_of(ENGINES))
def test_drawn_twins_of_f_validators_are_survived(engine):
    """The first of the cases of `make soak`, which are of four and of seven validators, by a script and by chance."""
    results = [run_case((engine, seed, 0)) for seed in range(4)]

    assert [(each.seed, each.headline) for each in results if each.verdict != "passed"] == []
    assert len(results) == 4


def test_cases_of_a_size_have_scripts_of_as_many_rounds_and_up_to_f_twins():
    for size, rounds in ROUNDS_OF.items():
        cases = [twin_case("simplex", seed, size) for seed in range(12)]

        assert {case.cluster.validators for case in cases} == {size}
        assert {len(case.faults) for case in cases} == {*range(1, (size - 1) // 3 + 1)}
        assert {len(twin.first) for case in cases for twin in case.faults.values()} == {rounds}


@pytest.mark.soak
@pytest.mark.parametrize("size", ROUNDS_OF)
def test_twins_of_every_size_are_survived(size):
    result = run_case(("simplex", 0, size))

    assert result.verdict == "passed", result.headline


@pytest.mark.parametrize(("name", "check"), SPLITS)
def test_twins_of_two_of_four_split_the_chain_and_are_named(name, check):
    """One more than f: the certificates of both sides name them, and in the longest chain the evidence does."""
    result = result_of(name)

    assert result.verdict == "failed as expected", result.headline
    assert all(f"validator {node} finalized" in result.headline for node in (0, 1))
    if check:
        assert "validators 2, 3 signed both" in check_named(result, check).summary
    else:
        assert {each.signer for each in result.evidence} == {2, 3}


@pytest.mark.parametrize(("name", "check"), third_of(SPLITS))
def test_twins_of_three_of_seven_split_the_chain_and_are_named(name, check):
    """Two honest validators on each side, and the three with twins on both."""
    # HotStuff's side without the first leader waits for its third timeout.
    span = f"start_ms=2_000, stop_ms={60_000 if 'hotstuff' in name else 22_000}"
    links = [[one, other] for one in range(4) for other in range(4) if one // 2 != other // 2]
    rule = "first=[[0, 1]], second=[[2, 3]], round_ms=60_000, above_f=true"
    twins = [f'twin-{node}={{kind="twin", validator={node}, {rule}, {span}}}' for node in (4, 5, 6)]
    faults = ", ".join([f'apart={{kind="cut", links={links}, {span}}}', *twins])
    result = result_of(
        name,
        *("cluster.validators=7", f"faults={{{faults}}}", "requires=[]", 'expect.fails=["agreement"]'),
        "run.time_limit_ms=90_000",
    )

    assert check_named(result, "agreement").status == "failed"
    if check:
        assert "validators 4, 5, 6 signed both" in check_named(result, check).summary
    else:
        assert {each.signer for each in result.evidence} == {4, 5, 6}


@pytest.mark.parametrize("name", third_of(name for name, _ in reversed(SPLITS)))
def test_the_cut_alone_of_the_split_splits_nothing(name):
    """So the twins do it."""
    alone = [f"faults.twin-of-{node}.enabled=false" for node in (2, 3)]
    depth = ["consensus.longest_chain.finality_depth=0"] if name.endswith("longest") else []
    result = result_of(name, *alone, *depth, 'requires=["apart"]', "expect.fails=[]")

    assert result.verdict == "passed", result.headline


def test_the_audit_compares_the_rule_of_a_twin_with_the_plan(monkeypatch):
    """Another rule than the plan's shows in messages that are lost, or are not."""
    drawn = ("faults.it={kind='twin', validator=1, start_ms=300, stop_ms=2_500, round_ms=400}", *SHORT)

    assert audited("calm", *drawn).status == "passed"
    monkeypatch.setattr(twin, "DRAWN", tuple(reversed(twin.DRAWN)))
    assert "cut" in audited("calm", *drawn).summary
