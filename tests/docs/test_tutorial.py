"""The tutorial: each of its commands, from a wheel in which its line is broken, on every Python that there is."""

import re
import shlex
import sys

import pytest

from checker.record.root import PROJECT_ROOT
from tests.support.wheel import build_wheel, install_wheel, run_installed

PAGE = (PROJECT_ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
OTHERS = tuple(sorted(PROJECT_ROOT.glob(".venv-3.*/bin/python")))
BRIEF = {"0..1": "0", "8": "1"}
"""Fewer seeds and runs, on the other Pythons: what is said of the first seed and of a smaller plan holds there too."""


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    """Return a folder with the package installed, in which the line is the one of the page."""
    folder = tmp_path_factory.mktemp("broken")
    install_wheel(build_wheel(tmp_path_factory.mktemp("wheel")), folder)
    before, after = (re.search(rf"^\{sign} +(.+)$", PAGE, re.MULTILINE).group(1) for sign in "-+")
    source = folder / "stampede_testbed" / "_app" / "scheduler" / "settlement.py"
    text = source.read_text(encoding="utf-8")
    assert text.count(before) == 1
    source.write_text(text.replace(before, after), encoding="utf-8")
    return folder


def typed():
    """Return the arguments of each command of the page on the broken code."""
    broken, _, _ = PAGE.partition("\n## Mend it\n")
    return [shlex.split(line)[2:] for line in broken.splitlines() if line.startswith(".venv/bin/python ")]


def walk(broken, python, commands, folder):
    """Give all commands by one Python; return what sweep and shrink print, and the first line of the explanation."""
    done = [run_installed(broken, python, "-m", "stampede_testbed", *arguments, cwd=folder) for arguments in commands]
    assert [each.returncode for each in done] == [1, 0, 0], [each.stderr for each in done]
    sweep, explain, shrink = (each.stdout for each in done)
    return sweep, explain.splitlines()[0], shrink


def assert_it_is_found(headline, shrunk):
    for said in (
        "the oracle against replicas 0, 1, 2, 3",
        "balance",
        "timer ",
        "TimerFired in handler",
        "cause execution",
    ):
        assert said in headline
    assert "written to runs/tutorial/calm-0-shrunk.toml" in shrunk


@pytest.mark.long
def test_every_command_of_the_tutorial_shows_what_it_says(broken, tmp_path):
    sweep, headline, shrunk = walk(broken, sys.executable, typed(), tmp_path)

    assert "safety: 2 seeds: 2 safety" in sweep
    assert_it_is_found(headline, shrunk)


@pytest.mark.parametrize("python", OTHERS, ids=lambda python: python.parent.parent.name)
def test_the_tutorial_holds_on_every_python(python, broken, tmp_path):
    """Each that `tools/other_pythons.sh` has set up, which names those that the machine does not have."""
    brief = [[BRIEF.get(each, each) for each in arguments] for arguments in typed()]

    _, headline, shrunk = walk(broken, str(python), brief, tmp_path)

    assert_it_is_found(headline, shrunk)
