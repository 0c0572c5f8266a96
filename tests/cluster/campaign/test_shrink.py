"""Shrinking: everything that a failure does not need goes, and what is left is a whole scenario."""

import json
import os
import re
import shlex
import subprocess
import sys
from types import SimpleNamespace

import pytest

from checker.record.root import PROJECT_ROOT
from checker.record.run_directory import RecordReader
from cluster.campaign.results_db import SeedResult
from cluster.campaign.shrink import Shrinker
from cluster.campaign.tasks import signature_of
from cluster.causality.asking import Point
from cluster.causality.known_rise import curve_path, whole_scenario
from cluster.causality.rise import Rise
from cluster.causality.told import write_csv
from cluster.cli.commands.campaigns.shrink import named_after, recorded_signature
from cluster.cli.main import main
from cluster.runtime.cluster import Cluster
from cluster.scenario.load import convert_scenario, decode_scenario, encode_scenario, load_scenario
from cluster.scenario.model import NetworkSection
from cluster.swarm.generator import draw_scenario
from cluster.verdict.replay import recorded_scenario
from tests.support.applications import bad_command, small_application_run
from tests.support.bad_validators import make_slow_hearted
from tests.support.cluster_runs import judge, result_of
from tests.support.keystones import rest_in_soak
from tests.support.mutation import WITH_CATALOGUE
from validators.settings import ValidatorFactory


def run_by(holds):
    """Return a runner of tasks in which the failure shows wherever `holds` of the scenario."""

    def run(tasks):
        for task in tasks:
            signature = "it" if holds(decode_scenario(task.scenario, "candidate")) else ""
            yield task, SeedResult(task.seed, 1, "safety", signature, "", "", 1)

    return run


def shrink(seed, holds):
    return Shrinker(draw_scenario(seed), seed, "it", run=run_by(holds), jobs=1).shrink().scenario


@pytest.mark.soak
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


@pytest.mark.parametrize("is_needed", [False, True])
def test_the_first_faults_go_together_before_all_else(is_needed):
    """If the failure needs one of them, the plan is the one without first faults."""
    seed = next(seed for seed in range(50) if len(draw_scenario(seed).faults) >= 4)
    scenario = draw_scenario(seed)
    first = list(scenario.faults)[1:3]
    needed = first[0] if is_needed else next(iter(scenario.faults))
    asked = []

    def holds(candidate):
        asked.append(list(candidate.faults))
        return needed in candidate.faults

    shrunk = Shrinker(scenario, seed, "it", run=run_by(holds), jobs=1, first=first).shrink()

    assert asked[0] == [name for name in scenario.faults if name not in first]
    assert shrunk.steps[0].startswith(f"without faults {', '.join(first)}") != is_needed
    assert shrunk.scenario == shrink(seed, lambda candidate: needed in candidate.faults)


def test_the_application_stays_as_it_is():
    """Without it, or with another command or parameter, it would be another subject that fails."""
    command = f"{sys.executable} -c pass"
    scenario = load_scenario("application/reorg", ("application.parameters.fee=1_000",), command)
    shrunk = Shrinker(scenario, 0, "it", run=run_by(lambda _scenario: True), jobs=1).shrink().scenario

    assert shrunk.application == scenario.application
    assert (shrunk.faults, shrunk.workload) == ({}, {})


HANG = "safety: application: `execute`: no answer came in # ms"


@pytest.mark.parametrize(("hangs_ms", "expected"), [(60_000, (10_000, 0)), (5_000, (10_000, 1))])
def test_a_hang_is_waited_for_shortly_while_its_plan_shrinks(hangs_ms, expected):
    """At the stated time it has to hang as well: a plan in which the application is only slow is another failure."""
    scenario = load_scenario("application/reorg", (), f"{sys.executable} -c pass")
    waits = []

    def run(tasks):
        for task in tasks:
            candidate = decode_scenario(task.scenario, "candidate")
            waits.append(candidate.application.call_timeout_ms)
            hangs = candidate.application.call_timeout_ms < (60_000 if candidate.faults else hangs_ms)
            yield task, SeedResult(task.seed, 1, "safety", HANG if hangs else "", "", "", 1)

    shrunk = Shrinker(scenario, 0, HANG, run=run, jobs=1).shrink().scenario

    assert (shrunk.application.call_timeout_ms, len(shrunk.faults)) == expected
    assert waits.index(10_000) > 5
    assert hangs_ms < 60_000 or waits.count(10_000) == 1


def test_a_fault_that_only_an_early_stop_needs_goes():
    """A pause may keep a run alive that would be over before the failure."""

    def holds(scenario):
        return scenario.run.until_height >= 3 or "nap" in scenario.faults

    shrunk = Shrinker(load_scenario("broken-refund"), 0, "it", run=run_by(holds), jobs=1).shrink().scenario

    assert (shrunk.faults, shrunk.run.until_height) == ({}, 3)


def test_a_reduction_may_need_the_first_stop():
    """Fewer validators show the failure later than all seven do."""
    wide = load_scenario("broken-refund", ("cluster.validators=7",))

    def holds(scenario):
        return scenario.run.until_height >= (1 if scenario.cluster.validators == 7 else 6)

    shrunk = Shrinker(wide, 0, "it", run=run_by(holds), jobs=1).shrink().scenario

    assert (shrunk.cluster.validators, shrunk.run.until_height) == (4, 6)


@pytest.mark.soak
def test_references_to_an_observer_follow_when_validators_go():
    """Its number is the first after theirs."""
    fault = 'faults={it={kind="crash", validator=7, at_ms=3_000, restart_ms=5_000}}'
    settings = ("cluster.validators=7", 'observers={a={kind="restart"}}', fault, "validators={}", "mutants={}")
    needs = draw_scenario(0, settings)

    def holds(scenario):
        return "it" in scenario.faults and scenario.faults["it"].validator == scenario.cluster.validators

    shrunk = Shrinker(needs, 0, "it", run=run_by(holds), jobs=1).shrink().scenario
    assert (shrunk.cluster.validators, shrunk.faults["it"].validator) == (4, 4)


@pytest.mark.soak
def test_references_to_an_observer_follow_when_one_before_it_goes():
    """Faults and mutants both."""
    settings = (
        'observers={a={kind="restart"}, b={kind="finalized-only"}}',
        'faults={it={kind="crash", validator=5, at_ms=3_000, restart_ms=5_000}}',
        "cluster.validators=4",
        "validators={}",
        WITH_CATALOGUE,
        "mutants={floor-one-step-short=[5]}",
        "expect.replica_modes={a=1, b=2}",
    )

    def holds(scenario):
        number = 4 + list(scenario.observers).index("b") if "b" in scenario.observers else -1
        variants = scenario.mutants.get("floor-one-step-short", ())
        return [fault.validator for fault in scenario.faults.values()] == [number] and number in variants

    shrunk = Shrinker(draw_scenario(0, settings), 0, "it", run=run_by(holds), jobs=1).shrink().scenario
    assert list(shrunk.observers) == ["b"]
    assert (shrunk.faults["it"].validator, shrunk.mutants["floor-one-step-short"]) == (4, (4,))


def test_scripted_cases_are_tried_one_by_one():
    def holds(scenario):
        cases = scenario.workload.get("edges")
        return cases is not None and cases.first <= 5 < cases.first + cases.count

    plan = {"name": "edges", "title": "x", "workload": {"edges": {"kind": "boundary-cases"}}}
    scenario = convert_scenario(plan, "plan")
    cases = Shrinker(scenario, 0, "it", run=run_by(holds), jobs=1).shrink().scenario.workload["edges"]

    assert (cases.first, cases.count) == (5, 1)


def test_entries_of_scripts_go_one_by_one():
    """An entry whose result another one reads goes once its reader is gone."""
    told = {"at_ms": 3_000, "actor": "desk", "steps": [{"do": "tell", "topic": "it", "data": "x"}]}
    timer = {"do": "schedule", "name": "t", "delay_slots": 2, "gas_limit": 5_000}
    entries = [
        {"at_ms": 1_000, "actor": "desk", "steps": [timer]},
        {"at_ms": 2_000, "actor": "desk", "steps": [{"do": "cancel", "name": "t"}]},
        told,
        {"at_ms": 4_000, "actor": "desk", "steps": [{"do": "compute", "cycles": 9}]},
    ]

    def holds(scenario):
        desk = scenario.workload.get("desk")
        return desk is not None and any(each.at_ms == told["at_ms"] for each in desk.at)

    desk = {"kind": "scripts", "actors": {"desk": 10**14}, "at": entries}
    scenario = convert_scenario({"name": "told", "title": "x", "workload": {"desk": desk}}, "plan")
    (left,) = Shrinker(scenario, 0, "it", run=run_by(holds), jobs=1).shrink().scenario.workload["desk"].at

    assert (left.at_ms, len(left.steps)) == (3_000, 1)


def test_a_section_back_at_its_default_can_be_reduced_further():
    """The cluster gets smaller only once the network is as by default."""
    seed = next(seed for seed in range(50) if draw_scenario(seed).cluster.validators > 4)
    shrunk = shrink(seed, lambda scenario: scenario.cluster.validators > 4 or scenario.network == NetworkSection())

    assert (shrunk.cluster.validators, shrunk.network) == (4, NetworkSection())


def test_values_become_smaller_together_and_one_by_one():
    """More than seven timers an actor are needed, and nothing else of a storm is."""
    seed = next(
        seed for seed in range(50) if getattr(draw_scenario(seed).workload.get("storm"), "timers_per_actor", 0) > 30
    )
    shrunk = shrink(seed, lambda scenario: getattr(scenario.workload.get("storm"), "timers_per_actor", 0) > 7)

    storm = shrunk.workload["storm"]
    assert (7 < storm.timers_per_actor < 16, storm.actors, storm.spread_slots) == (True, 1, 1)
    assert shrunk.run.until_height == 1


def test_the_height_of_the_failure_is_the_first_stop_that_is_tried():
    seed = next(seed for seed in range(50) if draw_scenario(seed).run.until_height > 8)
    tried = []

    def holds(scenario):
        tried.append(scenario.run.until_height)
        return scenario.run.until_height >= 2

    shrunk = Shrinker(draw_scenario(seed), seed, "it", run=run_by(holds), jobs=1, height=2).shrink()

    first_stop = draw_scenario(seed).run.until_height
    assert next(stop for stop in tried if stop != first_stop) == 2
    assert f"run.until_height {first_stop} -> 2" in shrunk.steps


def test_an_early_stop_is_not_put_back_to_its_default():
    """That would be made early again, and so on until no other value can be smaller."""
    seed = next(seed for seed in range(50) if len(draw_scenario(seed).faults) >= 3)
    needed = list(draw_scenario(seed).faults)[1]

    shrunk = Shrinker(
        draw_scenario(seed), seed, "it", run=run_by(lambda scenario: needed in scenario.faults), jobs=1
    ).shrink()

    assert shrunk.scenario.run.until_height == 1
    assert not any("again" in step for step in shrunk.steps)


def test_no_more_runs_are_made_than_are_allowed():
    seed = next(seed for seed in range(50) if len(draw_scenario(seed).faults) >= 3)
    scenario = draw_scenario(seed)
    shrunk = Shrinker(scenario, seed, "it", run=run_by(lambda each: len(each.faults) >= 2), jobs=1, runs_max=7).shrink()

    assert (shrunk.runs, shrunk.is_cut_off) == (7, True)


@pytest.mark.parametrize("bug", rest_in_soak(["dies", "no-rollback", "forgets", "lies"], []))
def test_a_failure_of_an_application_shrinks_to_a_plan_of_it(tmp_path, capsys, monkeypatch, bug):
    """From another folder too: the plan has the whole command."""
    scenario = small_application_run(bad_command(bug))
    directory = judge(scenario, runs=tmp_path / "runs").directory
    signature = recorded_signature(RecordReader(directory))
    out = tmp_path / "small.toml"
    assert main(["shrink", str(directory), "--out", str(out), "--jobs", "1", "--limit", "3"]) == 0
    said = capsys.readouterr()

    assert f"it runs {shlex.join(bad_command(bug))}; --application runs another in its place" in said.out
    assert re.search(r"run [123]: without (faults|workload) ", said.err)
    monkeypatch.chdir("/")
    shrunk = load_scenario(str(out))
    assert shrunk.application == scenario.application
    assert len(shrunk.faults) + len(shrunk.workload) < 2
    assert signature_of(judge(shrunk).checks) == signature


EARLY = 'faults={early={kind="pause", validator=1, start_ms=500, stop_ms=600, may_be_idle=true}}'


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Return the directories of a run that passed, of one with a mutant, and of one that nothing tells of."""
    directory = tmp_path_factory.mktemp("runs")
    short = ("run.until_height=3", "run.time_limit_ms=6_000")
    passed = result_of("calm", *short, runs=directory)
    mutant = (WITH_CATALOGUE, "mutants.refund-forgotten=[0,1,2,3]", EARLY)
    mutated = result_of("calm", *short, *mutant, seed=1, runs=directory)
    factories = {1: ValidatorFactory(layer=make_slow_hearted)}
    strange = result_of("calm", *short, seed=2, runs=directory, factories=factories)
    return [run.directory for run in (passed, mutated, strange)]


@pytest.mark.soak
def test_the_command_replaces_no_scenario_that_it_has_not_written(runs, tmp_path, capsys):
    own = tmp_path / "own.toml"
    own.write_text('name = "own"\n')

    assert main(["shrink", str(runs[1]), "--out", str(own), "--jobs", "1", "--limit", "1"]) == 2
    assert f"{own} exists and is no plan that shrink wrote; give another path" in capsys.readouterr().err
    assert own.read_text() == 'name = "own"\n'


def test_the_command_writes_a_scenario_with_the_same_failure_and_its_cost(runs, tmp_path, capsys):
    """It begins with the fault that is not at work at the rise, which a table of `curve` has."""
    out, point = tmp_path / "smallest.toml", Point(1, 600_000, 36, 0, {})
    table = curve_path(tmp_path, runs[1].name, whole_scenario(recorded_scenario(RecordReader(runs[1]))))
    write_csv(table.with_suffix(".csv"), SimpleNamespace(turns=1), {"chance": Rise([point], point, point)})
    code = main(
        ["shrink", str(runs[1]), "--out", str(out), "--jobs", "1", "--limit", "2", "--json", "--runs", str(tmp_path)]
    )

    reported = json.loads(capsys.readouterr().out)
    assert (code, reported["runs"], reported["is_cut_off"]) == (0, 2, True)
    assert reported["steps"][0] == "without faults early"
    assert out.read_text().startswith("# Shrunk in 2 runs. With --seed 1 it shows:\n#   safety: oracle/supply: ")
    assert list(load_scenario(str(out)).mutants) == ["refund-forgotten"]


@pytest.mark.soak
def test_repeating_a_shrunk_run_does_not_write_over_the_original(runs, tmp_path, capsys):
    """It has the name of the run and of what fails, and goes where it is told to."""
    assert main(["shrink", str(runs[1]), "--runs", str(tmp_path), "--jobs", "1", "--limit", "1"]) == 0
    repeat = capsys.readouterr().out.splitlines()[-1]
    out = tmp_path / f"{runs[1].name}-shrunk.toml"

    assert repeat.endswith(f" run {out} --seed 1 --runs {tmp_path}")
    assert re.fullmatch(r"calm-1-oracle-supply-[0-9a-f]{6}", load_scenario(str(out)).name)


def test_a_scenario_named_after_its_run_makes_the_same_run():
    """Keys and addresses are those of before."""
    scenario = load_scenario("calm", ["run.until_height=2"])
    renamed = named_after(scenario, 0, "safety: oracle/supply: height #")
    digests = [Cluster(each, 0).run().trace.digest for each in (scenario, renamed)]

    assert renamed.name != scenario.name
    assert digests[0] == digests[1]


def test_a_long_name_is_cut_and_not_what_tells_it_apart():
    scenario = load_scenario("calm", [f'name="{"x" * 64}"'])
    names = [named_after(scenario, 7, f"safety: oracle/supply: {what}").name for what in ("a", "b")]

    assert [len(name) for name in names] == [64, 64]
    assert names[0] != names[1]
    assert convert_scenario({"name": names[0], "title": ""}, "again").name == names[0]


@pytest.mark.soak
def test_a_killed_shrink_leaves_the_smallest_scenario_so_far(runs, tmp_path):
    out = tmp_path / "out.toml"
    command = [sys.executable, "run_cluster.py", "shrink", str(runs[1]), "--jobs", "1", "--out", str(out)]
    with subprocess.Popen(command, cwd=PROJECT_ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as shrinking:
        while not out.exists():
            assert shrinking.poll() is None, "shrinking ended before it could be killed"
            os.sched_yield()
        shrinking.kill()

    scenario = load_scenario(str(out))
    assert scenario.run.until_height < 3 or len(scenario.workload) < 2
    assert list(scenario.mutants) == ["refund-forgotten"]


def test_every_smaller_value_that_holds_is_told_at_once():
    """Hypothesis may take minutes."""
    scenario = load_scenario("calm", ["workload={}", "requires=[]"])
    reported = []
    Shrinker(
        scenario,
        0,
        "it",
        run=run_by(lambda each: each.run.until_height > 6),
        jobs=1,
        on_smaller=lambda smaller, _runs: reported.append(smaller.run.until_height),
    ).shrink()

    assert reported == sorted(reported, reverse=True)
    assert (len(reported) > 1, reported[-1]) == (True, 7)


def test_a_run_that_passed_is_refused(runs, capsys):
    assert main(["shrink", str(runs[0])]) == 2
    assert "is a run that passed; there is nothing to shrink" in capsys.readouterr().err


@pytest.mark.soak
def test_a_run_that_the_code_does_not_repeat_is_refused_with_its_result(runs, capsys):
    """The recorded run had a part that its scenario does not tell of, as if the code had changed since."""
    assert main(["shrink", str(runs[2]), "--jobs", "1"]) == 2

    reported = capsys.readouterr().err
    assert "does not go wrong any more: it passes; recorded was 'safety: " in reported
