"""Texts that a console of 80 columns shows of runs, sweeps, explanations and the help: each is held."""

import pytest

from report.ending import LINES_MAX
from tests.support.golden_console import FOLDER, TEXTS, WIDTH
from tests.support.keystones import rest_in_soak

COMMANDS_BELOW = ("repeat with: ", "explain with: ", "look into a block with: ", "  run_cluster.py ")
"""Beginnings of the lines that follow a result; a path or a command is never folded."""

LONG = ("explain", "help")
"""Texts that are longer than one screen."""


@pytest.mark.parametrize("name", rest_in_soak(TEXTS, [name for name in TEXTS if name != "run-without-effect"]))
def test_a_console_shows_what_is_held(name):
    """Else look at the difference, and run: python -m tests.support.golden_console."""
    assert TEXTS[name]() == (FOLDER / f"{name}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.txt")), ids=lambda path: path.stem)
def test_a_held_text_is_short_and_narrow(path):
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith(COMMANDS_BELOW)]

    assert path.stem in TEXTS
    assert [line for line in lines if len(line) > WIDTH] == []
    assert len(lines) <= LINES_MAX or path.stem.startswith(LONG)
