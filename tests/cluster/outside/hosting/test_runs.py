"""Runs of applications: under faults, from their records, on directories that outlive them, and of our own engine."""

import json
import sys
from pathlib import Path

import pytest

from checker.record.run_directory import RecordReader
from cluster.live.progress import LiveProgress
from cluster.outside.hosting.calls import APPLICATION_CALLS, CallRecordError, read_calls
from cluster.outside.hosting.live import ask_live
from cluster.outside.hosting.planning import UnusableApplicationError
from cluster.outside.new import EXAMPLES
from cluster.runtime.data_directory import open_data_directory
from cluster.scenario.load import load_scenario
from cluster.verdict.determinism import compare_with_repeat
from cluster.verdict.pipeline import run_pipeline
from cluster.verdict.replay import recorded_calls, replay_record
from cluster.verdict.watchdog import STUCK_SECONDS, patience_seconds
from scheduler import POLICIES
from tests.support.applications import LEDGER, bad_command, small_application_run
from tests.support.keystones import rest_in_soak

OWN = json.dumps([sys.executable, "-m", "stampede_testbed.application", "--framing", "msgpack"])
MODES = (
    'validators.2={apply="certified"}',
    'observers.j={kind="snapshot-join",times=2,may_be_idle=true}',
    'observers.c={kind="cold-replay",times=1,may_be_idle=true}',
    'observers.f={kind="finalized-only"}',
    'observers.r={kind="restart",times=2,may_be_idle=true}',
)
AS_OWN = (f"application.command={OWN}", "application.framing=msgpack")


def run(scenario, seed=0, **more):
    with LiveProgress(title="it", is_quiet=True) as progress:
        return run_pipeline(scenario, seed, progress=progress, has_page=False, **{"runs": None, **more})


def not_passed(result):
    return [f"{check.name}: {check.summary}" for check in result.checks if check.status != "passed"]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Return a run directory, and the result of its run, whose repetition in another process was compared."""
    result = run(small_application_run(), runs=tmp_path_factory.mktemp("runs"), extra=compare_with_repeat)
    return result.directory, result


def test_a_sound_application_passes_and_is_repeated_without_it(recorded):
    _, result = recorded

    assert not_passed(result) == []
    assert "determinism" in [check.name for check in result.checks]


def test_a_replay_obeys_the_record_and_needs_no_application(recorded, monkeypatch):
    directory, result = recorded
    monkeypatch.setattr("cluster.outside.hosting.replicas.ApplicationProcess", None)
    with LiveProgress(title="it", is_quiet=True) as progress:
        replayed = replay_record(RecordReader(directory), progress=progress)

    assert (replayed.verdict, replayed.digest) == ("passed", result.digest)


def test_a_record_whose_answers_were_changed_is_no_record_of_its_run(recorded):
    directory, result = recorded
    calls = read_calls((directory / APPLICATION_CALLS).read_bytes(), "it")
    contents = [content.replace(b'"root": "', b'"root": "00') for content in calls.contents]
    with pytest.raises(UnusableApplicationError, match="33 bytes, 32 were expected"):
        run(result.scenario, calls=type(calls)(calls.format, calls.files, contents, calls.steps))


@pytest.mark.parametrize(
    "content", [b"", b"\x80", b"\x94\x02\x80\x90\x80", b"\x94\x01\x80\x90\x81\x00\x91\x94\xa4call\x00\x90\x07"]
)
def test_what_is_no_record_of_calls_is_named(content):
    with pytest.raises(CallRecordError, match=r"^there: (is damaged|has format 2, 1 was expected)"):
        read_calls(content, "there")


def test_a_live_replay_asks_the_application_once_more(recorded):
    directory, result = recorded
    reader = RecordReader(directory)
    found = ask_live(result.scenario.application, recorded_calls(reader))
    assert (found.requests > 60, found.differing) == (True, {})

    liar = replace_command(result.scenario.application, bad_command("lies"))
    differing = ask_live(liar, recorded_calls(reader)).differing
    # Validator 3 has proposed the block, and never executes it.
    assert sorted(differing) == [0, 1, 2]
    assert all("it answered" in each.sentence and each.call in {"execute", "propose"} for each in differing.values())


def replace_command(section, command):
    return type(section)(command=command, framing=section.framing, folder=section.folder)


@pytest.mark.parametrize("boundary", ["before-call", "after-call"])
def test_a_machine_that_dies_at_a_call_comes_back_where_it_was(boundary):
    crash = (
        f'faults.crash={{kind="crash-at-boundary",validator=2,boundary="{boundary}",start_ms=0,stop_ms=8000,'
        "every=7,restart_after_ms=200}"
    )
    result = run(small_application_run(bad_command("forward"), crash))

    assert not_passed(result) == []
    assert result.figures["fault_crash"] >= 2


def test_a_directory_that_outlives_the_run_is_gone_on_with(tmp_path):
    scenario = small_application_run(LEDGER, "run.until_height=4", "faults.crash.enabled=false")
    heights = []
    for _ in range(2):
        data = open_data_directory(tmp_path / "data", scenario, 0)
        try:
            result = run(scenario, data=data)
        finally:
            data.close()
        assert result.verdict == "passed", not_passed(result)
        heights.append(len(result.chain))
        assert sorted(path.name for path in (tmp_path / "data" / "application-0").iterdir()) == ["directory"]
    assert heights[1] > heights[0]


def test_replicas_join_from_snapshots_and_apply_early():
    modes = (
        'observers.joins={kind="snapshot-join",every_blocks=3,times=1}',
        'validators.0={apply="certified"}',
        "run.until_height=14",
    )
    result = run(small_application_run(LEDGER, *modes))

    assert not_passed(result) == []
    assert result.figures["mode_joins"] == 1


def test_a_run_waits_as_long_as_an_answer_may_take():
    slow = small_application_run(LEDGER, "application.call_timeout_ms=600000")

    assert patience_seconds(slow) == STUCK_SECONDS + 600
    assert patience_seconds(load_scenario("calm")) == STUCK_SECONDS


def test_a_mode_whose_feature_is_missing_is_refused_before_the_run():
    with pytest.raises(UnusableApplicationError, match="lacks the feature `forks`: replica 0 applies blocks before"):
        run(small_application_run(bad_command("forward"), 'validators.0={apply="certified"}'))


@pytest.mark.parametrize("name", rest_in_soak(["outage", "partition", "reorg"], ["partition"]))
def test_a_neutral_scenario_runs_anybodys_application(name, monkeypatch):
    monkeypatch.chdir(EXAMPLES / "python")
    result = run(load_scenario(f"application/{name}", application=f"{sys.executable} ledger.py"))

    assert not_passed(result) == []


@pytest.mark.parametrize(
    ("name", "settings"),
    rest_in_soak(
        [
            ("calm", ("run.until_height=4",)),
            ("reorg-in-storm", ()),
            ("all-roads", ()),
            ("outage-storm", ()),
            *(("reorg-in-storm", (*MODES, f"chain.policy={policy}")) for policy in POLICIES if policy != "aptos"),
            ("aptos-reorg", MODES),
        ],
        [("calm", ("run.until_height=4",))],
    ),
)
def test_our_own_engine_behind_the_protocol_makes_the_same_chain(name, settings):
    """Blocks, receipts and roots, through a storm, a reorganization, and every replica mode."""
    own = run(load_scenario(name, settings))
    behind = run(load_scenario(name, (*settings, *AS_OWN, f"application.folder={Path.cwd()}")))

    assert not_passed(behind) == []
    assert [(each.digest, each.receipts) for each in behind.chain] == [
        (each.digest, each.receipts) for each in own.chain
    ]
    assert {"oracle"} <= {check.name for check in behind.checks}
