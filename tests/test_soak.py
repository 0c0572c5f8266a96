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
