"""The tutorial: each of its commands, over a copy of the project with the line that it breaks."""

import re
import shlex
import shutil
import subprocess
import sys

from checker.record.root import PROJECT_ROOT

PAGE = (PROJECT_ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
ROOMS = (
    "checker",
    "cluster",
    "faults",
    "network",
    "report",
    "scheduler",
    "validators",
    "scenarios",
    "stampede_testbed",
)


def broken_copy(folder):
    """Copy what a run needs, and replace the line by the one of the page."""
    for room in ROOMS:
        shutil.copytree(PROJECT_ROOT / room, folder / room, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("run_cluster.py", "VERSION"):
        shutil.copy(PROJECT_ROOT / name, folder / name)
    before, after = (re.search(rf"^\{sign} +(.+)$", PAGE, re.MULTILINE).group(1) for sign in "-+")
    source = folder / "scheduler" / "settlement.py"
    text = source.read_text(encoding="utf-8")
    assert text.count(before) == 1
    source.write_text(text.replace(before, after), encoding="utf-8")


def test_every_command_of_the_tutorial_shows_what_it_says(tmp_path):
    broken_copy(tmp_path)
    typed = [shlex.split(line)[1:] for line in PAGE.splitlines() if line.startswith(".venv/bin/python ")]
    settings = {"cwd": tmp_path, "capture_output": True, "text": True}
    done = [subprocess.run([sys.executable, *each], check=False, **settings) for each in typed]

    sweep, explain, shrink = done
    assert [each.returncode for each in done] == [1, 0, 0], [each.stderr for each in done]
    assert "safety: 2 seeds: 2 safety" in sweep.stdout
    first = explain.stdout.splitlines()[0]
    for said in (
        "the oracle against replicas 0, 1, 2, 3",
        "balance",
        "timer ",
        "TimerFired in handler",
        "cause execution",
    ):
        assert said in first
    assert "written to runs/calm-0-shrunk.toml" in shrink.stdout
