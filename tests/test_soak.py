"""The soak: it runs what `make test` leaves out."""

import subprocess
import tomllib

import pytest

from checker.record.root import PROJECT_ROOT
from tests import soak


@pytest.fixture
def typed(monkeypatch):
    """Return the commands that a soak types, each of which ends well."""
    commands = []

    def run(command, **_named):
        commands.append(" ".join(command))
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(soak.subprocess, "run", run)
    return commands


def test_the_soak_runs_the_tests_that_a_test_run_leaves_out(typed, capsys):
    options = tomllib.loads((PROJECT_ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]["addopts"]

    assert soak.main(["--parts", "marked"]) == 0
    assert options.endswith("-m 'not soak'")
    assert [command.partition(" -m pytest ")[2].partition(" -m ")[2] for command in typed] == ["soak"]


def test_a_soak_without_options_has_all_parts_that_are_tests():
    assert {*soak.PYTEST} <= {*soak.PARTS}


@pytest.mark.parametrize(
    ("found", "code", "last"),
    [
        ([True, True], 0, "all runs ended well"),
        ([True, False], 1, "1 runs did not end well"),
        ([None], 0, "all runs ended well; 1 part was skipped"),
    ],
)
def test_a_part_counts_its_failures_and_says_that_it_was_skipped(found, code, last, monkeypatch, capsys):
    monkeypatch.setattr(soak, "run_earlier", lambda _jobs: [(each, "a line") for each in found])

    assert soak.main(["--parts", "earlier"]) == code
    assert capsys.readouterr().out.splitlines() == [*["a line"] * len(found), last]
