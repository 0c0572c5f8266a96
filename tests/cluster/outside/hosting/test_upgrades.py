"""An application changes to its next version under consensus: in four ways, four kinds of weather, three languages."""

import re
import sys
from itertools import product
from pathlib import Path

import pytest

from checker.record.run_directory import RecordReader
from cluster.inspect.witness import ExecutionWitness
from cluster.live.progress import LiveProgress
from cluster.outside.hosting.live import ask_live
from cluster.verdict.determinism import compare_with_repeat
from cluster.verdict.pipeline import run_pipeline
from cluster.verdict.replay import recorded_calls, replay_record
from faults.events import ApplicationReplaced
from network.events import read_event
from tests.support.applications import LEDGER, small_application_run
from tests.support.keystones import rest_in_soak
from tests.support.upgrades import APPLICATIONS, FROM_HEIGHT, SHAPES, WEATHER, next_of, upgrade_of

KEPT = [
    ("python", "one-by-one", "calm"),
    ("python", "back", "storm"),
    ("python", "late", "reorg"),
    ("javascript", "all-at-once", "storm"),
    ("python", "late", "partition"),
    ("javascript", "one-by-one", "calm"),
]
"""Each way and each weather; `make soak` has all 48, those of our own engine too."""


def run(scenario, **more):
    with LiveProgress(title="it", is_quiet=True) as progress:
        return run_pipeline(scenario, 0, progress=progress, has_page=False, **{"runs": None, **more})


def summaries(result, status):
    return {check.name: check.summary for check in result.checks if check.status == status}


@pytest.mark.parametrize(
    ("application", "shape", "weather"), rest_in_soak(list(product(APPLICATIONS, SHAPES, WEATHER)), KEPT)
)
def test_a_next_version_is_installed(application, shape, weather, tmp_path):
    result = run(upgrade_of(application, shape, weather, tmp_path))
    passed = summaries(result, "passed")

    assert result.verdict == "passed", summaries(result, "failed") or summaries(result, "inconclusive")
    assert f"so did build main below height {FROM_HEIGHT}" in passed["cold-replay"]
    statuses = [row.status for row in result.validators]
    assert statuses == ["voter"] * 3 + ["behind" if shape == "back" else "voter"]
    assert ("runs the outdated build main from height" in passed["application-lives"]) == (shape == "back")


def test_the_next_version_differs_before_its_height(tmp_path):
    """All validators run it in time, and only the old build's replay tells that their chain is another."""
    result = run(upgrade_of("python", "one-by-one", "calm", tmp_path, "faults.upgrade.from_height=24"))

    assert result.verdict == "safety"
    assert "replay by build main from genesis fails: height" in summaries(result, "failed")["cold-replay"]


def test_more_than_f_outdated_validators_fail_the_run(tmp_path):
    some = ("faults.upgrade.validators=[0,1]", "run.time_limit_ms=60_000")
    result = run(upgrade_of("python", "all-at-once", "calm", tmp_path, *some))

    assert "; f = 1" in summaries(result, "failed")["application-lives"]
    assert result.verdict == "liveness"


def test_a_build_that_reads_the_old_directory_otherwise_is_named(tmp_path):
    """The new build says at its start that it kept another root: the build fails, and not the test bed."""
    source, old = Path(LEDGER[1]).read_text(encoding="utf-8"), '"root": root_of(kept["state"])}'
    assert source.count(old) == 1
    (tmp_path / "ledger.py").write_text(source.replace(old, '"root": "00" * 32}'))
    builds = f"application.builds.new.command={[sys.executable, str(tmp_path / 'ledger.py')]}"
    upgrade = 'faults={up={kind="replace",build="new",validators=[1],at_ms=4_500,restart_ms=5_000}}'
    result = run(small_application_run(LEDGER, builds, upgrade), explains=ExecutionWitness())

    assert re.search(
        r"^the application kept height \d with root 000000000000", summaries(result, "failed")["application"]
    )
    assert "kept" in " ".join(result.answer)


def mixed(folder, *settings):
    """Return a cluster whose validators 2 and 3 run a version that pays more from height 4 on, unannounced."""
    builds = f"application.builds.new.command={next_of('python', folder, height=4)}"
    return small_application_run(
        LEDGER, builds, 'validators.2.application={build="new"}', 'validators.3.application={build="new"}', *settings
    )


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """The run of a mixed cluster, its repetition compared, and its directory."""
    folder = tmp_path_factory.mktemp("builds")
    settings = ("workload.calls.count=60", "workload.calls.every_ms=50", "run.until_height=14")
    return run(mixed(folder, *settings), runs=folder / "runs", extra=compare_with_repeat)


class TestTwoBuilds:
    def test_a_silent_difference_names_the_builds(self, recorded):
        assert recorded.verdict == "safety"
        assert "(build new) has" in summaries(recorded, "failed")["equal-roots"]
        assert "(build main)" in summaries(recorded, "failed")["equal-roots"]

    def test_the_table_of_replicas_and_the_story_name_them(self, recorded):
        assert [row.note.split(";")[0] for row in recorded.validators] == [
            *["ledger 1 (build main)"] * 2,
            *["ledger 1 (build new)"] * 2,
        ]
        assert recorded.application.startswith("ledger 1 (build main) and ledger 1 (build new)")

    def test_each_build_replays_what_is_final(self, recorded):
        assert "; so did build new" in summaries(recorded, "passed")["cold-replay"]

    def test_a_replay_needs_no_program_and_the_programs_repeat_their_answers(self, recorded):
        reader = RecordReader(recorded.directory)
        calls = recorded_calls(reader)

        with LiveProgress(title="it", is_quiet=True) as progress:
            assert replay_record(reader, progress=progress).digest == recorded.digest
        assert not ask_live(recorded.scenario.application, calls).differing


def test_a_replaced_validator_says_so_in_the_log(tmp_path):
    result = run(upgrade_of("python", "back", "calm", tmp_path), runs=tmp_path / "runs")
    replaced = [read_event(event, ApplicationReplaced) for event in RecordReader(result.directory).events()]

    assert [(each.machine, each.build) for each in replaced if each] == [
        *((node, "new") for node in range(4)),
        (3, "main"),
    ]


def test_receipts_alone_may_differ(tmp_path):
    """The same root after timers of one height in another order: only their receipts tell."""
    folder = tmp_path / "sorted"
    folder.mkdir()
    source = Path(LEDGER[1]).read_text(encoding="utf-8")
    old = 'key=lambda t: (t["due"], t["number"])'
    assert old in source
    (folder / "ledger.py").write_text(source.replace(old, 'key=lambda t: (t["due"], t["name"], t["number"])'))
    builds = f"application.builds.new.command={[sys.executable, str(folder / 'ledger.py')]}"
    settings = ("workload.calls.count=100", "workload.calls.every_ms=40", "run.until_height=20")
    result = run(small_application_run(LEDGER, builds, 'validators.2.application={build="new"}', *settings))

    assert "the receipts of validator" in summaries(result, "failed")["equal-roots"]
    assert result.figures["virtual_us"] < 60_000_000
