"""A host disk without room is the environment: one line with the path, exit code 6, and the data stay good."""

import errno
import json
import os
import shlex
import sqlite3
import subprocess
import sys

import pytest

from checker.record.host import naming, refusal_behind
from checker.record.places import write_whole
from checker.record.root import PROJECT_ROOT
from checker.record.run_directory import RecordWriter
from cluster.campaign import tasks
from cluster.campaign.results_db import ResultsFile, SeedResult
from cluster.campaign.tasks import Task, run_task
from cluster.runtime.directory_disk import DirectoryDisk
from cluster.scenario.load import encode_scenario, load_scenario
from network.outcome import RunFailedError
from tests.support.keystones import rest_in_soak
from validators.storage import DiskFullError, DiskSyncError

CALM = ("calm", "--set", "run.until_height=6")
MAKERS = ("export perfetto", "export shiviz", "prove 1 burned")
FULL = OSError(errno.ENOSPC, "No space left on device")


def stampede(tmp_path, *arguments, blocks=0):
    """Run a command line, with room for `blocks` of 512 bytes in each file; 0 for no limit."""
    limit = f"ulimit -f {blocks}; " if blocks else ""
    command = shlex.join([sys.executable, str(PROJECT_ROOT / "run_cluster.py"), *arguments])
    return subprocess.run(
        ["/bin/sh", "-c", f"{limit}exec {command}"], cwd=tmp_path, capture_output=True, text=True, check=False
    )


def result(seed, headline=""):
    return SeedResult(seed, 0, "passed", "", headline, "", 1)


def add_until_refused(results):
    for seed in range(2, 60):
        results.add(result(seed, "x" * 3_000))


def assert_one_line(done, path):
    assert (done.returncode, len(done.stderr.splitlines())) == (6, 1), done.stderr
    assert str(path) in done.stderr
    assert done.stderr.endswith(": File too large\n")


@pytest.mark.parametrize("blocks", rest_in_soak([1, 4, 20], [4]))
@pytest.mark.soak
def test_a_data_directory_without_room_is_gone_on_with_when_there_is_some(tmp_path, blocks):
    """A refusal of the disk is no validator's failure, for any file and at any height."""
    arguments = ("run", *CALM, "--data-dir", "data", "--json")
    refused = stampede(tmp_path, *arguments, blocks=blocks)
    again = stampede(tmp_path, *arguments)

    assert_one_line(refused, tmp_path / "data")
    assert (again.returncode, json.loads(again.stdout)["verdict"]) == (0, "passed"), again.stderr


@pytest.mark.soak
def test_a_run_directory_without_room_leaves_nothing(tmp_path):
    """No half-written directory."""
    refused = stampede(tmp_path, "run", *CALM, "--json", blocks=40)

    assert_one_line(refused, "runs/calm-0")
    assert [path.name for path in (tmp_path / "runs").iterdir() if "calm" in path.name] == []


@pytest.mark.soak
def test_a_sweep_without_room_keeps_no_result_of_it(tmp_path):
    """The seeds are judged when there is room."""
    arguments = ("sweep", "calm", "--seeds", "1..2", "--jobs", "1", "--json")
    refused = stampede(tmp_path, *arguments, blocks=200)
    again = json.loads(stampede(tmp_path, *arguments).stdout)

    assert_one_line(refused, "calm-1")
    assert (again["verdict"], again["seeds"], again["resumed"]) == ("passed", 2, 0)


def test_a_seed_without_room_has_no_result(monkeypatch):
    """Also where the refusal comes by way of a validator's disk."""

    def refuse(*_arguments, **_options):
        raise RunFailedError("a sink raised") from FULL

    monkeypatch.setattr(tasks, "run_pipeline", refuse)

    with pytest.raises(OSError, match="No space left"):
        run_task(Task(encode_scenario(load_scenario("calm")), 0))


def test_a_results_file_without_room_keeps_what_it_has(tmp_path):
    """The row that does not fit is not there, and the next one can be."""
    with ResultsFile(tmp_path / "results.sqlite", "subject") as results:
        results.add(result(1))
        (pages,) = results._connection.execute("PRAGMA page_count").fetchone()
        results._connection.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(OSError, match="full") as caught:
            add_until_refused(results)
        kept = [each.seed for each in results.results()]
        results._connection.execute(f"PRAGMA max_page_count = {pages + 10}")
        results.add(result(99))

        assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, str(tmp_path / "results.sqlite"))
        assert kept[0] == 1
        assert [each.seed for each in results.results()] == [*kept, 99]


def test_a_results_file_that_cannot_be_begun_is_no_bad_input(tmp_path, monkeypatch):
    """The message does not call the file foreign."""

    def refuse(*_arguments):
        error = sqlite3.OperationalError("database or disk is full")
        error.sqlite_errorcode = sqlite3.SQLITE_FULL
        raise error

    monkeypatch.setattr(ResultsFile, "_create", refuse)

    with pytest.raises(OSError, match="database or disk is full"):
        ResultsFile(tmp_path / "results.sqlite", "subject")


def test_a_file_is_written_whole_or_not(tmp_path, monkeypatch):
    """The earlier content stays, and nothing is left beside it."""
    path = tmp_path / "shrunk.toml"
    write_whole(path, b"before")

    def refuse(*_arguments):
        raise OSError(*FULL.args)

    monkeypatch.setattr("pathlib.Path.replace", refuse)
    with pytest.raises(OSError, match=r"shrunk\.toml"):
        write_whole(path, b"after")

    assert path.read_bytes() == b"before"
    assert [each.name for each in tmp_path.iterdir()] == ["shrunk.toml"]


@pytest.mark.parametrize("command", rest_in_soak(MAKERS, ["export perfetto"]))
def test_what_is_made_of_a_record_is_written_whole_or_not(tmp_path, command):
    """A file of before stays, and a new one is not begun."""
    stampede(tmp_path, "run", *CALM)
    name, *arguments = command.split()
    stampede(tmp_path, name, "runs/calm-0", *arguments, "--out", "old")
    before = (tmp_path / "old").read_bytes()
    refused = [stampede(tmp_path, name, "runs/calm-0", *arguments, "--out", out, blocks=1) for out in ("new", "old")]

    assert [done.returncode for done in refused] == [6, 6], refused
    assert (tmp_path / "old").read_bytes() == before
    assert not (tmp_path / "new").exists()


def test_a_disk_keeps_the_first_refusal(tmp_path, monkeypatch):
    """With the path in its cause."""
    disk = DirectoryDisk(tmp_path / "disk")
    disk.append("blocks", b"block")

    def refuse(*_arguments):
        raise OSError(*FULL.args)

    monkeypatch.setattr(os, "pwrite", refuse)
    with pytest.raises(DiskFullError) as caught:
        disk.append("blocks", b"block")
    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(DiskFullError):
        disk.finish_sync(disk.begin_sync())

    assert disk.refusal is caught.value
    assert refusal_behind(caught.value).filename == str(tmp_path / "disk" / "blocks")


def test_a_record_that_has_no_room_names_its_place(tmp_path):
    """A write does not know its file."""
    with pytest.raises(OSError, match="calm-0"), RecordWriter(tmp_path / "calm-0"):
        raise OSError(*FULL.args)


def test_what_is_not_the_machines_refusal_is_not_taken_for_it(tmp_path):
    """A path that has one keeps it."""
    assert refusal_behind(DiskSyncError("blocks", "sync", "so it goes")) is None
    assert refusal_behind(FileNotFoundError(errno.ENOENT, "gone")) is None
    with pytest.raises(OSError, match="'b'"), naming(tmp_path / "a"):
        raise OSError(errno.EIO, "bad", "b")
