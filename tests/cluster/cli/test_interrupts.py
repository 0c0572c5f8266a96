"""Ctrl-C: answered at once with one line that is true, nothing half-written, and no process left."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from contextlib import suppress

import pytest

from checker.checks.suite import Suite
from checker.record.root import PROJECT_ROOT
from checker.record.run_directory import RecordReader
from cluster.cli.main import main
from tests.support.keystones import rest_in_soak

ANSWER_SECONDS = 8
"""An answer takes a fraction of a second on a machine that is not busy with other tests."""

LONG = ("outage-storm",)


@pytest.fixture(autouse=True)
def _interruptible():
    """Children take signals even if the tests run in the background of a shell, or under `nohup`, which ignore some."""
    handlers = {signal.SIGINT: signal.default_int_handler, signal.SIGHUP: signal.SIG_DFL}
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def start(tmp_path, *arguments):
    command = [sys.executable, str(PROJECT_ROOT / "run_cluster.py"), *arguments, "--json", "--runs", "runs"]
    return subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def interrupt_at_work(tmp_path, process, number=signal.SIGINT, *, everybody=True):
    """Signal a command when it has begun to write a run; return its answer when every process of it has ended."""
    while not list(tmp_path.glob("runs/.stampede-*.unfinished")):
        with suppress(subprocess.TimeoutExpired):
            pytest.fail(f"it was over before: exit code {process.wait(timeout=0.02)}, {process.stderr.read()}")
    (os.killpg if everybody else os.kill)(process.pid, number)
    # The workers hold the same pipes, so these end only with the last of them.
    try:
        said, complaint = process.communicate(timeout=ANSWER_SECONDS)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    return process.returncode, said, complaint


def unfinished(tmp_path):
    return [path.name for path in tmp_path.glob("runs/.*") if path.is_dir()]


@pytest.mark.parametrize(
    ("number", "everybody"),
    rest_in_soak(
        [(signal.SIGINT, True), (signal.SIGINT, False), (signal.SIGTERM, False), (signal.SIGHUP, True)],
        [(signal.SIGINT, True)],
    ),
)
def test_a_run_says_what_it_kept(tmp_path, number, everybody):
    """From a terminal, which interrupts all processes, or from another process; told to end, or its terminal closed."""
    code, said, complaint = interrupt_at_work(tmp_path, start(tmp_path, "run", *LONG), number, everybody=everybody)

    assert (code, said) == (130, "")
    place = tmp_path / "runs" / "outage-storm-0-unfinished"
    found = re.fullmatch(
        rf"run_cluster.py: interrupted; at (virtual time [\d.]+ s, \d+ heights?); the unfinished record is {place}\n",
        complaint,
    )
    assert found, complaint
    assert RecordReader(place).verdict()["headline"] == f"interrupted at {found[1]}"
    assert unfinished(tmp_path) == []


@pytest.fixture(scope="module")
def broken_off(tmp_path_factory):
    """Return the record of a run that was interrupted while its checks judged it."""
    runs = tmp_path_factory.mktemp("runs")
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Suite, "finish", interrupted)
            code = main(["run", "calm", "--set", "run.until_height=3", "--json", "--runs", str(runs)])
    finally:
        signal.signal(signal.SIGINT, before)
    assert code == 130
    (record,) = (path for path in runs.iterdir() if path.is_dir())
    return record


def test_a_finished_run_is_not_replaced_by_an_unfinished_one(broken_off):
    assert broken_off.name == "calm-0-unfinished"


def test_explain_says_how_far_an_unfinished_run_came(broken_off, capsys):
    assert main(["explain", str(broken_off)]) == 3

    first, *others = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"unfinished: interrupted at virtual time [\d.]+ s, 3 heights; no check has judged it", first)
    assert [line for line in others if line.startswith("  replica 2: final up to height ")]


def test_the_page_of_an_unfinished_run_says_so(broken_off):
    page = (broken_off / "report.html").read_text()

    assert "the run did not come to its end, and no check has judged it" in page
    assert ", 3 heights" in page


@pytest.mark.parametrize("command", ["replay", "diff", "shrink"])
def test_what_needs_a_whole_run_refuses_an_unfinished_one(broken_off, capsys, command):
    assert main([command, str(broken_off)]) == 3

    said = capsys.readouterr().err
    assert re.search(r": unfinished: interrupted at virtual time [\d.]+ s, 3 heights; run it to its end with: ", said)


def test_an_export_of_an_unfinished_run_says_so(broken_off, capsys, tmp_path):
    assert main(["export", str(broken_off), "shiviz", "--out", str(tmp_path / "shiviz.txt")]) == 0

    assert "calm-0-unfinished: unfinished: interrupted at virtual time" in capsys.readouterr().err


def test_a_record_goes_as_far_as_its_run(broken_off):
    """Its events are the first of the whole run, and all of its blocks."""
    reader = RecordReader(broken_off)
    reader.read_all()

    assert [block.height for block in reader.blocks()] == [1, 2, 3]
    assert reader.checks() == ()


@pytest.mark.soak
def test_a_run_on_real_disks_goes_on_afterwards(tmp_path):
    """The line says so, and the record of the first part stays."""
    arguments = ("run", "calm", "--set", "run.until_height=12", "--data-dir", "data")
    code, _, said = interrupt_at_work(tmp_path, start(tmp_path, *arguments))
    again = start(tmp_path, *arguments)

    place = tmp_path / "runs" / "calm-0-unfinished"
    found = re.fullmatch(
        r"run_cluster.py: interrupted; at virtual time [\d.]+ s, \d+ heights?; the unfinished record is (.+); "
        r"the data in data are whole, and the same command goes on with them\n",
        said,
    )
    assert (code, found and found[1]) == (130, str(place)), said
    assert json.loads(again.communicate()[0])["verdict"] == "passed"
    assert "--data-dir data" in RecordReader(place).verdict()["repeat"]


@pytest.mark.soak
def test_a_run_that_goes_on_says_so_when_it_is_interrupted(tmp_path, capsys, monkeypatch):
    """Interrupted while its checks judge it; the finished record beside it stays."""
    monkeypatch.chdir(tmp_path)
    command = ["run", "calm", "--json", "--runs", "runs", "--data-dir", "data"]
    assert main([*command, "--set", "run.until_height=3"]) == 0
    monkeypatch.setattr(Suite, "finish", interrupted)
    assert main([*command, "--set", "run.until_height=3"]) == 130
    (place,) = tmp_path.glob("runs/calm-0-at-*-unfinished")
    capsys.readouterr()

    assert RecordReader(place).verdict()["reopened"].startswith("reopened at height 3 at ")
    assert (place / "reopened.json").exists()
    assert main(["explain", str(place)]) == 3
    assert "run it to its end with: " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("number", "everybody"),
    rest_in_soak([(signal.SIGINT, True), (signal.SIGINT, False), (signal.SIGHUP, True)], [(signal.SIGINT, True)]),
)
def test_a_sweep_says_what_it_kept_and_how_to_go_on(tmp_path, number, everybody):
    """Its workers end with it, in the midst of a seed."""
    process = start(tmp_path, "sweep", *LONG, "--seeds", "0..3", "--jobs", "2")
    code, _, said = interrupt_at_work(tmp_path, process, number, everybody=everybody)

    *under_way, last = said.splitlines()
    assert code == 130
    assert under_way == [
        f"seed {seed} was under way; run it with: {sys.executable} {PROJECT_ROOT}/run_cluster.py run outage-storm "
        f"--seed {seed}"
        for seed in range(2)
    ]
    assert "interrupted; 0 of 4 seeds are in runs/sweep-outage-storm-" in last
    assert last.endswith("the same command goes on with the others")
    assert unfinished(tmp_path) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_before_anything_is_one_line(tmp_path, number):
    """While the program is still being read."""
    shutil.copy(PROJECT_ROOT / "run_cluster.py", tmp_path)
    shutil.copy(PROJECT_ROOT / "VERSION", tmp_path)
    shutil.copytree(PROJECT_ROOT / "stampede_testbed", tmp_path / "stampede_testbed")
    (tmp_path / "cluster").mkdir()
    (tmp_path / "cluster" / "__init__.py").write_text(f"import signal\nsignal.raise_signal({number.value})\n")
    done = subprocess.run(
        [sys.executable, "run_cluster.py", "scenarios"], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "stampede: interrupted before the command began\n"


COMMAND = """
import signal, sys
from cluster.cli import main
from stampede_testbed import _command
main._parser = lambda _typed: signal.raise_signal(int(sys.argv[1]))
sys.exit(_command.main())
"""
"""The command line, which gets a signal when it reads what was typed."""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_while_the_command_line_is_read_is_one_line(number):
    command = [sys.executable, "-c", COMMAND, str(number.value)]
    done = subprocess.run(command, cwd=PROJECT_ROOT, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "stampede: interrupted before the command began\n"


def test_a_closed_terminal_ends_nothing_that_nohup_has_started():
    program = "import signal\nfrom stampede_testbed._command import take_ends\ntake_ends()\n"
    program += "print(signal.getsignal(signal.SIGHUP) == signal.SIG_IGN, signal.getsignal(signal.SIGTERM).__name__)"
    command = ["/bin/sh", "-c", 'trap "" HUP; exec "$@"', "sh", sys.executable, "-c", program]
    done = subprocess.run(command, cwd=PROJECT_ROOT, capture_output=True, text=True, check=True)

    assert done.stdout == "True _interrupt\n"


def interrupted(*_arguments):
    raise KeyboardInterrupt


def interrupted_in_a_lock(*_arguments):
    """As a wait fails in which an interrupt comes before the lock is taken again."""
    try:
        raise KeyboardInterrupt
    finally:
        threading.Lock().release()


@pytest.mark.parametrize("interrupted", [interrupted, interrupted_in_a_lock])
@pytest.mark.parametrize("command", [("scenarios",), ("check", "calm"), ("faults",)])
def test_every_command_answers(monkeypatch, capsys, command, interrupted):
    """In one line."""

    for name in ("scenarios.scenario_files", "check.load_scenario"):
        monkeypatch.setattr(f"cluster.cli.commands.runs.{name}", interrupted)
    monkeypatch.setattr(sys.stdout, "write", interrupted)

    assert main(command) == 130
    assert capsys.readouterr().err == "run_cluster.py: interrupted; nothing unfinished is left behind\n"
