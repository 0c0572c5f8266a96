"""A process of an application: one answer to one question, whatever it does instead; nothing is left of it."""

import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from checker.record.root import PROJECT_ROOT
from cluster.outside.frames import FRAMINGS
from cluster.outside.process import (
    STDERR_BYTES_KEPT,
    ApplicationLostError,
    ApplicationProcess,
    KeptOutput,
    Launch,
    LaunchError,
    launch_of,
)
from cluster.outside.system.sandbox import bubblewrap

ECHO = """
import json, os, subprocess, sys, time
for line in sys.stdin:
    ask = json.loads(line)
    {body}
    print(json.dumps({{"n": ask["n"], "said": len(line)}}), flush=True)
"""


SAY = "print(json.dumps({'n': ask['n'], %s}), flush=True); continue"


def launch(body="pass", **options):
    """Return the launch of a process that answers after it has done something."""
    options.setdefault("call_timeout_ms", 5_000)
    return Launch(command=(sys.executable, "-S", "-c", ECHO.format(body=body)), folder=PROJECT_ROOT, **options)


@pytest.fixture(params=["plain", "sandboxed"])
def sandbox(request, monkeypatch):
    """Have processes begin in a sandbox, where the machine has one, or without."""
    if request.param == "plain":
        monkeypatch.setattr("cluster.outside.system.sandbox.bubblewrap", str)
    elif not bubblewrap():
        pytest.skip("this machine has no bubblewrap that works")
    return request.param


@pytest.fixture
def begin(tmp_path, sandbox):
    """Return a function that begins a process; all are killed at the end."""
    begun = []

    def begin(*arguments, **options):
        begun.append(ApplicationProcess(launch(*arguments, **options), tmp_path))
        return begun[-1]

    yield begin
    for process in begun:
        process.kill()


def alive_in(directory):
    """Return the processes whose HOME is a directory; in a sandbox they know themselves by other numbers."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            found += [int(path.parent.name)] if f"HOME={directory}".encode() in path.read_bytes().split(b"\0") else []
    return found


def wait_until(holds):
    for _ in range(1_000):
        if holds():
            return
        time.sleep(0.01)
    pytest.fail("it does not hold after ten seconds")


def test_each_question_has_its_answer(begin):
    process = begin()

    assert [process.call("ask", {"it": "x" * size})["n"] for size in (0, 10, 100)] == [1, 2, 3]
    assert process.requests == 3


def test_a_request_beyond_the_pipe_is_written_while_errors_are_read(begin):
    """A process that first fills its standard error, and reads its request only then."""
    process = begin("sys.stderr.write('x' * 2_000_000)")

    assert process.call("ask", {"it": "y" * 1_000_000})["said"] > 1_000_000
    assert process.call("ask", {})["n"] == 2
    assert len(process.stderr.whole()) < 2 * STDERR_BYTES_KEPT + 100


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("time.sleep(60)", r"no answer came in 300 ms"),
        ("sys.exit(7)", r"it ended with exit status 7"),
        ("print('oh no', file=sys.stderr); sys.exit(1)", r"exit status 1; standard error ends with `oh no`"),
        ("os.kill(os.getpid(), 11)", r"it was killed by SIGSEGV"),
        # The sandbox holds standard output too, which does not end with the process's own.
        ("os.close(1); time.sleep(60)", r"(its standard output ended|no answer came in 300 ms)"),
        ("print('hello')", r"the line `hello` is no JSON"),
        ("ask['n'] += 1", r"the answer has n = 2, 1 was expected"),
        (
            "print(json.dumps({'n': 1, 'error': 'I am ill'}), flush=True); continue",
            r"answers with the error 'I am ill'",
        ),
        ("print('{}')", r"the answer has n = None, 1 was expected"),
    ],
)
def test_it_is_lost_with_a_reason(begin, body, reason):
    process = begin(body, call_timeout_ms=300 if "sleep(60)" in body else 5_000)

    with pytest.raises(ApplicationLostError, match=rf"request 1, `ask`: .*{reason}"):
        process.call("ask", {"it": 1})
    assert not process.is_alive


def test_one_that_reads_nothing_is_lost_and_not_waited_for(tmp_path):
    deaf = Launch(command=("sleep", "60"), folder=tmp_path, call_timeout_ms=300)
    process = ApplicationProcess(deaf, tmp_path)

    with pytest.raises(ApplicationLostError, match="no answer came in 300 ms"):
        process.call("ask", {"it": "x" * 1_000_000})


def test_its_children_die_with_it(begin, tmp_path):
    process = begin("subprocess.Popen(['sleep', '600'])")
    process.call("ask", {})
    before = len(alive_in(tmp_path))
    process.kill()

    assert before >= 2
    wait_until(lambda: not alive_in(tmp_path))


def test_in_a_sandbox_nobody_is_left_when_a_kill_returns(tmp_path):
    """A child in a session of its own leaves the group; the namespace takes it along, and nothing is waited for."""
    if not bubblewrap():
        pytest.skip("this machine has no bubblewrap that works")
    for _ in range(5):
        body = "subprocess.Popen(['sleep', '600'], start_new_session=True)"
        process = ApplicationProcess(launch(body), tmp_path)
        process.call("ask", {})
        assert len(alive_in(tmp_path)) >= 3
        process.kill()
        assert alive_in(tmp_path) == []


def test_nothing_is_left_after_a_sigkill_of_the_test_bed(sandbox, tmp_path):
    """The guardian sees the end of its standard input."""
    script = f"""
import sys, time
from pathlib import Path
from cluster.outside.process import ApplicationProcess, Launch
from cluster.outside.system import sandbox
if {sandbox!r} == "plain":
    sandbox.bubblewrap = str
process = ApplicationProcess(Launch(command=("sleep", "600"), folder=Path("/")), Path({str(tmp_path)!r}))
print(flush=True)
time.sleep(600)
"""
    with subprocess.Popen([sys.executable, "-c", script], cwd=PROJECT_ROOT, stdout=subprocess.PIPE, text=True) as bed:
        bed.stdout.readline()
        assert alive_in(tmp_path)
        bed.send_signal(signal.SIGKILL)
    wait_until(lambda: not alive_in(tmp_path))


def test_memory_and_processes_are_those_of_the_command(begin, monkeypatch):
    """The wrappers of a sandbox count for nothing."""
    process = begin("held = 'x' * (64 * 2**20)")
    monkeypatch.setattr("cluster.outside.process.RESIDENT_BYTES_MAX", 64 * 2**20)
    monkeypatch.setattr("cluster.outside.process._CALLS_BETWEEN_LOOKS", 1)
    with pytest.raises(ApplicationLostError, match=r"it holds [0-9,]{10,} bytes of memory"):
        process.call("ask", {})


def test_a_group_has_its_processes_and_no_more(begin, monkeypatch):
    process = begin("subprocess.Popen(['sleep', '600'])")
    for name, value in (("PROCESSES_MAX", 2), ("_CALLS_BETWEEN_LOOKS", 1), ("_LOOKS_BETWEEN_COUNTS", 1)):
        monkeypatch.setattr(f"cluster.outside.process.{name}", value)
    process.call("ask", {})

    with pytest.raises(ApplicationLostError, match="its group has 3 processes, at most 2 are allowed"):
        process.call("ask", {})


def test_the_end_of_its_input_ends_it_in_peace(begin):
    process = begin()
    process.call("ask", {})
    process.close()

    assert (process.is_alive, process._process.returncode) == (False, 0)


def test_it_sees_no_variable_of_the_test_bed(begin, monkeypatch, tmp_path):
    monkeypatch.setenv("SECRET", "it")
    process = begin(
        "print(json.dumps({'n': ask['n'], **os.environ}), flush=True); continue", hash_seed=7, timezone="Asia/Tokyo"
    )
    found = process.call("ask", {})

    assert {name: found[name] for name in ("HOME", "TZ", "PYTHONHASHSEED")} == {
        "HOME": str(tmp_path),
        "TZ": "Asia/Tokyo",
        "PYTHONHASHSEED": "7",
    }
    assert "SECRET" not in found


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "the command of the application is empty"),
        ("ledger 'it", "is no command: No closing quotation"),
        ("no-such-program --fast", "PATH has no program 'no-such-program'"),
        ("./no-such-program", "there is no program .*/no-such-program"),
        ("./README.md", "there is no program .*/README.md, or it cannot be run"),
    ],
)
def test_a_command_that_cannot_be_run_is_bad_input(text, reason):
    with pytest.raises(LaunchError, match=reason) as refused:
        launch_of(text, PROJECT_ROOT, FRAMINGS["json"])
    assert refused.value.exit_code == 2


def test_a_program_with_a_slash_is_relative_to_the_folder(tmp_path):
    (tmp_path / "mine").write_text("#!/bin/sh\n")
    (tmp_path / "mine").chmod(0o755)

    assert launch_of("./mine --fast", tmp_path, FRAMINGS["json"]).command == (str(tmp_path / "mine"), "--fast")


def test_of_a_long_output_beginning_and_end_are_kept():
    kept = KeptOutput()
    for piece in (b"a" * STDERR_BYTES_KEPT, b"b" * 1_000, b"c" * STDERR_BYTES_KEPT):
        kept.add(piece)

    whole = kept.whole()
    assert (whole[:STDERR_BYTES_KEPT], whole[-STDERR_BYTES_KEPT:]) == (
        b"a" * STDERR_BYTES_KEPT,
        b"c" * STDERR_BYTES_KEPT,
    )
    assert b"\n[1,000 bytes are left out]\n" in whole
