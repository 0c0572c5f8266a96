"""Closed pipes and closed streams: a command says less, and its exit code is that of its verdict all the same."""

import json
import os
import subprocess
import sys

import pytest

from checker.record.root import PROJECT_ROOT
from tests.support.keystones import rest_in_soak, third_of

INCONCLUSIVE = ("run", "partition-heal", "--set", "run.until_height=3", "--set", "faults.split.enabled=false")

COMMANDS = {
    "a passed run": (("run", "calm", "--set", "run.until_height=3"), 0),
    "an inconclusive run": (INCONCLUSIVE, 3),
    "an inconclusive run as JSON": ((*INCONCLUSIVE, "--json"), 3),
    "a list": (("scenarios",), 0),
    "a plan": (("check", "lossy"), 0),
    "help": (("--help",), 0),
    "bad input": (("run", "no-such"), 2),
}


def run_with(tmp_path, arguments, redirections, **streams):
    """Run a command line under a shell's redirections, with pytest's own streams kept out of it."""
    shell = ["/bin/sh", "-c", f'exec "$@" {redirections}', "sh", sys.executable, str(PROJECT_ROOT / "run_cluster.py")]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | streams
    return subprocess.run([*shell, *arguments], cwd=tmp_path, text=True, check=False, **streams)


def without_reader():
    """Return the end of a pipe without a reader."""
    reading, writing = os.pipe()
    os.close(reading)
    return writing


@pytest.mark.parametrize("what", rest_in_soak(COMMANDS, ["an inconclusive run as JSON"]))
@pytest.mark.soak
def test_a_reader_that_left_changes_no_exit_code(tmp_path, what):
    """As with `| head -0`; nothing is said of it on standard error."""
    arguments, code = COMMANDS[what]
    done = run_with(tmp_path, arguments, "", stdout=without_reader())

    assert done.returncode == code
    assert "Error" not in done.stderr
    assert "pipe" not in done.stderr


@pytest.mark.parametrize("closed", rest_in_soak(["<&-", ">&-", "2>&-", "<&- >&- 2>&-"], ["<&- >&- 2>&-"]))
@pytest.mark.parametrize("what", third_of(["an inconclusive run", "bad input"]))
def test_a_closed_stream_changes_no_exit_code(tmp_path, what, closed):
    """The others say what they have to say; a file of the run does not take the closed one's place."""
    arguments, code = COMMANDS[what]
    done = run_with(tmp_path, arguments, closed)

    assert done.returncode == code
    assert "Traceback" not in done.stderr


@pytest.mark.soak
def test_an_error_that_nobody_hears_changes_no_exit_code(tmp_path):
    """Standard error without a reader, and on a full disk."""
    arguments, code = COMMANDS["an inconclusive run"]

    assert run_with(tmp_path, arguments, "", stderr=without_reader()).returncode == code
    assert run_with(tmp_path, arguments, "2>/dev/full").returncode == code


@pytest.mark.parametrize("what", rest_in_soak(["a list", "a passed run", "help"], ["a passed run"]))
def test_an_answer_without_room_is_the_environment(tmp_path, what):
    """One line, exit code 6: the file has no answer for its reader."""
    done = run_with(tmp_path, COMMANDS[what][0], ">/dev/full")

    assert done.returncode == 6
    assert done.stderr.splitlines()[-1] == "run_cluster.py: standard output: No space left on device"


ARROW = "é → \U0001f600"
"""Letters that few encodings have all of."""


@pytest.mark.parametrize(
    "encoding", rest_in_soak(["ascii", "ascii:strict", "latin-1", "ascii:surrogateescape"], ["ascii"])
)
@pytest.mark.soak
def test_a_letter_that_the_encoding_lacks_is_shown_by_its_code(tmp_path, monkeypatch, encoding):
    """On both streams; a JSON object stays one."""
    monkeypatch.setenv("PYTHONIOENCODING", encoding)
    made = [
        run_with(tmp_path, ("new", "mine", "--out", f"{ARROW} {name}.toml", *more), "", encoding="latin-1")
        for name, more in (("words", ()), ("json", ("--json",)), ("json", ()))
    ]

    assert [done.returncode for done in made] == [0, 0, 2], made
    assert "\\u2192 \\U0001f600 words.toml" in made[0].stdout
    assert json.loads(made[1].stdout)["file"] == f"{ARROW} json.toml"
    assert "\\u2192 \\U0001f600 json.toml: is there already" in made[2].stderr


@pytest.mark.parametrize("place", rest_in_soak(["folder", "argument", "runs", "link", "TMPDIR"], ["argument", "runs"]))
def test_what_is_no_utf8_is_told_before_anything_is_run(tmp_path, place, monkeypatch):
    """No record and no JSON object can hold it, and a verdict would be lost when all is over."""
    foreign = tmp_path / os.fsdecode(b"\xff")
    foreign.mkdir()
    (tmp_path / "link").symlink_to(foreign)
    runs = {"runs": str(foreign), "link": "link"}.get(place, "runs")
    if place == "TMPDIR":
        monkeypatch.setenv("TMPDIR", str(foreign))
    arguments = ("run", "calm", "--json", "--runs", runs, "--set", "title=\udcff" if place == "argument" else "seed=1")
    done = run_with(foreign if place == "folder" else tmp_path, arguments, "")

    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert "is no UTF-8" in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_front_door_needs_no_standard_error(tmp_path):
    """Without an open stream the exit code is the only report."""
    command = 'exec "$@" 2>&- >&-'
    done = subprocess.run(
        ["/bin/sh", "-c", command, "sh", sys.executable, "-S", "-E", str(PROJECT_ROOT / "run_cluster.py")],
        cwd=tmp_path,
        check=False,
    )

    assert done.returncode == 6
