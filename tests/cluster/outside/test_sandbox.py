"""The sandbox: what an application can reach in it, and how the command line of bubblewrap is made."""

import json
import os
import socket
import sys
from pathlib import Path

import pytest

from cluster.outside.process import ApplicationProcess, Launch
from cluster.outside.system.sandbox import bubblewrap, sandbox_level, sandboxed

ASK = """
import json, os, socket, sys
def tried(act):
    try:
        act()
        return "done"
    except OSError as error:
        return os.strerror(error.errno)
def write(place):
    with open(os.path.join(place, "it"), "w") as file:
        file.write("it")
for line in sys.stdin:
    ask = json.loads(line)
    write_in = {place: tried(lambda: write(place)) for place in ask["places"]}
    reach = tried(lambda: socket.create_connection(("127.0.0.1", ask["port"]), 5))
    print(json.dumps({"n": ask["n"], "write": write_in, "reach": reach}), flush=True)
"""


@pytest.fixture
def works():
    """Skip where the machine has no sandbox."""
    if not bubblewrap():
        pytest.skip("this machine has no bubblewrap that works")


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """Return a function that puts a `bwrap` on PATH, which notes its arguments and runs the command or fails."""
    folder = tmp_path / "bin"
    folder.mkdir()

    def put(end='while [ "$1" != -- ]; do shift; done; shift; exec "$@"'):
        program = folder / "bwrap"
        program.write_text(f'#!/bin/sh\necho "$@" >> {folder}/asked\n{end}\n')
        program.chmod(0o755)
        bubblewrap.cache_clear()

    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    yield put
    bubblewrap.cache_clear()


def answer_of(command, folder, directory, **fields):
    """Return the answer of a process to one question."""
    process = ApplicationProcess(Launch(command=command, folder=folder), directory)
    try:
        return process.call("ask", fields)
    finally:
        process.kill()


def test_it_writes_in_its_directory_alone(works, tmp_path):
    own, beside = tmp_path / "own", tmp_path / "beside"
    own.mkdir()
    beside.mkdir()
    script = tmp_path / "ask.py"
    script.write_text(ASK)
    places = [str(own), str(beside), "/", "/tmp", str(Path.cwd())]
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        found = answer_of((sys.executable, "ask.py"), tmp_path, own, places=places, port=port)

    read_only = "Read-only file system"
    assert found["write"] == dict(zip(places, ["done", read_only, read_only, "done", read_only], strict=True))
    assert found["reach"] == "Connection refused"
    assert (own / "it").read_text() == "it"
    assert not Path("/tmp/it").exists()


def test_it_is_in_its_working_directory(works, tmp_path):
    show = (
        "import json, os, sys; ask = json.loads(sys.stdin.readline()); print(json.dumps({'n': 1, 'at': os.getcwd()}))"
    )

    assert answer_of((sys.executable, "-c", show), tmp_path, tmp_path)["at"] == str(tmp_path)


def test_the_command_line_of_bubblewrap(fake, tmp_path):
    fake()
    own = tmp_path / "own"
    own.mkdir()
    wrapped = sandboxed((sys.executable, "-c", "pass"), tmp_path, own)

    assert wrapped[0] == str(tmp_path / "bin" / "bwrap")
    assert " ".join(wrapped[1:]).startswith(
        "--ro-bind / / --dev /dev --proc /proc --tmpfs /tmp --unshare-net --unshare-pid"
    )
    assert wrapped[-9:] == (
        *("--bind", str(own), str(own), "--chdir", str(tmp_path)),
        *("--", sys.executable, "-c", "pass"),
    )
    assert sandbox_level() == ("limits of time, memory and processes", "no network", "read-only root")


def test_a_process_is_begun_by_it(fake, tmp_path):
    fake()
    echo = "import json, sys; print(json.dumps({'n': json.loads(sys.stdin.readline())['n']}))"
    assert answer_of((sys.executable, "-c", echo), tmp_path, tmp_path) == {"n": 1}

    probe, begun = (tmp_path / "bin" / "asked").read_text().split("--ro-bind / /")[1:]
    assert probe.strip().endswith("-- true")
    assert f"--bind {tmp_path} {tmp_path}" in begun


def test_one_that_fails_is_not_used(fake, tmp_path):
    """As in a container that may not make namespaces."""
    fake("exit 1")

    assert sandboxed(("it",), tmp_path, tmp_path) == ("it",)
    assert sandbox_level() == ("limits of time, memory and processes",)


def test_what_a_command_names_in_an_emptied_folder_is_seen(fake, tmp_path, monkeypatch):
    fake()
    monkeypatch.setattr("cluster.outside.system.sandbox._EMPTY", (str(tmp_path),))
    for name in ("mine", "other", "named"):
        (tmp_path / name).mkdir()
    (tmp_path / "named" / "ledger").touch()
    (tmp_path / "link").symlink_to(tmp_path / "other")
    command = ("../named/ledger", str(tmp_path / "link"), "-c", "x" * 5_000, "no-such-file")
    wrapped = sandboxed(command, tmp_path / "mine", tmp_path / "own")

    bound = [wrapped[index + 1] for index, word in enumerate(wrapped) if word == "--ro-bind"]
    assert bound == ["/", *(str(tmp_path / name) for name in ("mine", "named", "link", "other"))]


def test_words_for_a_verdict_without_a_sandbox(monkeypatch):
    monkeypatch.setattr("cluster.outside.system.sandbox.bubblewrap", str)

    assert json.dumps(sandbox_level()) == '["limits of time, memory and processes"]'
