"""The report of each bad application: block, key, both values, cause; each is held as text."""

import re
import shutil
from pathlib import Path

import pytest

from cluster.inspect.witness import ExecutionWitness
from cluster.live.progress import LiveProgress
from cluster.verdict.pipeline import run_pipeline
from tests.applications.bad_ledger import BUGS, SILENT
from tests.support.applications import bad_command, small_application_run
from tests.support.golden_applications import EXPLAINED, FOLDER, explained
from tests.support.golden_console import printed
from tests.support.keystones import rest_in_soak

KEPT = ("no-rollback", "late-path", "two-builds", "fires-early", "dies")

ALIKE = {"hangs", "floods", "error", "grows", "drops-all"}
"""Bugs that end their process, as `dies` does."""

REFUSED = {"banner", "twice", "short-root"}
"""Bugs over which no run begins."""


def test_each_bug_has_a_report():
    assert BUGS.keys() - ALIKE - REFUSED - {"clock"} | SILENT.keys() | {"two-builds"} == EXPLAINED.keys()
    assert {path.stem for path in FOLDER.glob("*.txt")} == EXPLAINED.keys()


@pytest.mark.parametrize("name", rest_in_soak(EXPLAINED, KEPT))
def test_a_report_names_key_and_cause(name):
    """Else look at the difference, and run: python -m tests.support.golden_applications."""
    assert explained(name)[0] == (FOLDER / f"{name}.txt").read_text(encoding="utf-8")


def test_a_clock_in_the_state_is_named():
    """Its values and block ids are others in each run, and with them the replicas that execute a block twice."""
    scenario = small_application_run(bad_command("clock"))
    with LiveProgress(title="clock", is_quiet=True) as progress:
        result = run_pipeline(scenario, 0, runs=None, progress=progress, explains=ExecutionWitness())

    assert result.because == "not deterministic, timer"
    assert re.match(r"Height 1: the at of timer 000000001 is [\d,]+ (high|low)er ", result.answer[0])
    assert re.match(r"The requests of replica \d have another answer in a fresh process; ", result.answer[1])


def test_the_page_has_values_and_words_of_the_application():
    page = explained("late-path")[1]

    for part in ("balance carol", "carol has 165 units", "the application says", "the events are equal"):
        assert part in page


@pytest.fixture
def record(tmp_path):
    """Return a function that records a run of a copy of the bad ledger, which can be taken away afterwards."""
    interpreter, bad, name, ledger = bad_command("silent-version")
    copy = Path(shutil.copy(ledger, tmp_path / "ledger.py"))
    with LiveProgress(title="copy", is_quiet=True) as progress:
        scenario = small_application_run((interpreter, bad, name, str(copy)))
        found = run_pipeline(
            scenario, 0, runs=tmp_path / "runs", progress=progress, explains=ExecutionWitness(), has_page=False
        )
    return found.directory, copy


def test_a_changed_or_missing_program_is_said(record):
    directory, program = record
    program.write_text(f"{program.read_text(encoding='utf-8')}# another line\n", encoding="utf-8")
    said = printed("explain", str(directory), width=1_000)
    assert "the file ledger.py of the command has changed since the run" in said
    assert "balance bob is 1 lower on replica 2" in said

    program.unlink()
    said = printed("explain", str(directory), width=1_000)
    assert "the file ledger.py of the command cannot be read any more" in said
    assert "the state root is 38762b231bb7 on replica 2, d39603a0ac63 on replicas 0, 1, 3" in said
    assert "the events are equal, the roots differ" in said
