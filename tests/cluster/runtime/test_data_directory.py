"""Real disks: a run that is killed at any moment goes on, loses nothing final and contradicts no vote."""

import json
import os
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from checker.record.fingerprint import Code, show_fingerprint, this_code
from checker.record.locks import InUseError
from checker.record.plain_files import UnsuitableFileError
from checker.record.root import PROJECT_ROOT
from cluster.cli.main import main
from cluster.live.progress import LiveProgress
from cluster.runtime.data_directory import DataDirectoryError, WatchFile, open_data_directory
from cluster.runtime.directory_disk import DirectoryDisk
from cluster.scenario.load import load_scenario
from cluster.verdict.pipeline import run_pipeline
from tests.support.cluster_runs import check_named
from tests.support.commands import run_command
from tests.support.journals import HEAD, sync
from validators.execution import InvalidBlockError
from validators.storage import (
    BlockFile,
    DiskReadError,
    DiskSyncError,
    DiskWriteError,
    FinalizedLog,
    Journal,
    SimulatedDisk,
    provision,
)

VALIDATORS = range(4)


class TestDirectoryDisk:
    """The same interface as the simulated disk."""

    def test_it_behaves_as_the_simulated_disk_does(self, tmp_path):
        """The same calls, the same answers."""
        answers = []
        for disk in (DirectoryDisk(tmp_path / "disk"), SimulatedDisk()):
            found = [disk.append("blocks", b"0123456789"), disk.append("blocks", b"abc")]
            found += [disk.is_synced, disk.synced_bytes("blocks"), disk.size("blocks"), disk.appended_bytes]
            sync(disk)
            found += [disk.is_synced, disk.synced_bytes("blocks")]
            disk.overwrite("blocks", 2, b"xy")
            disk.truncate("blocks", 11)
            found += [disk.read("blocks"), disk.read("blocks", 9), disk.read("blocks", 1, 3), disk.read("nothing")]
            found += [disk.read("blocks", 50), disk.size("nothing"), disk.begin_sync()]
            answers.append(found)

        assert answers[0] == answers[1]

    def test_what_it_held_is_there_again(self, tmp_path):
        """Journals and blocks, opened by another object."""
        disk = DirectoryDisk(tmp_path / "disk")
        provision(disk, HEAD)
        journal = Journal(disk)
        journal.recover(HEAD)
        journal.append(b"vote")
        BlockFile(disk).append(height=1, digest=b"d" * 32, block=b"block")
        disk.close()

        again = DirectoryDisk(tmp_path / "disk")

        assert again.is_synced
        assert Journal(again).recover(HEAD).artifacts == [b"vote"]
        blocks = BlockFile(again)
        blocks.load()
        assert blocks.get(b"d" * 32) == b"block"

    def test_what_repair_writes_is_durable_at_once(self, tmp_path, monkeypatch):
        """Overwriting and truncating end with an fsync of the file; an append does not."""
        disk = DirectoryDisk(tmp_path / "disk")
        disk.append("blocks", b"0123456789")
        sync(disk)
        synced = []
        monkeypatch.setattr("os.fsync", synced.append)
        disk.append("blocks", b"abc")
        counts = [len(synced)]
        disk.overwrite("blocks", 0, b"x")
        counts.append(len(synced))
        disk.truncate("blocks", 5)
        counts.append(len(synced))

        assert counts == [0, 1, 2]

    def test_the_file_systems_errors_have_the_disks_names(self, tmp_path):
        """A validator knows no other."""
        disk = DirectoryDisk(tmp_path / "disk")
        disk.append("blocks", b"data")
        os.close(disk._files["blocks"])

        with pytest.raises(DiskReadError, match="read of blocks"):
            disk.read("blocks")
        with pytest.raises(DiskWriteError, match="append of blocks"):
            disk.append("blocks", b"more")
        with pytest.raises(DiskSyncError, match="sync of all files"):
            sync(disk)

    def test_a_link_is_not_followed(self, tmp_path):
        """Repair cuts bytes that are not records, such as those of a foreign file."""
        (tmp_path / "disk").mkdir()
        (tmp_path / "letter").write_bytes(b"dear")
        (tmp_path / "disk" / "blocks").symlink_to(tmp_path / "letter")

        with pytest.raises(UnsuitableFileError, match="blocks: is a link"):
            DirectoryDisk(tmp_path / "disk")


class TestDirectory:
    """The owner of a data directory's content."""

    def test_a_new_one_is_provisioned_and_an_old_one_is_opened(self, tmp_path):
        """Nothing is left beside it."""
        scenario = load_scenario("calm")
        for _ in range(2):
            data = open_data_directory(tmp_path / "data", scenario, 3)
            assert (data.start_us, data.height, len(data.disks)) == (0, 0, 4)
            data.close()
        assert [path.name for path in tmp_path.iterdir()] == ["data"]

    @pytest.mark.parametrize(
        ("reference", "seed", "settings", "reason"),
        [
            ("calm", 4, (), "its seed is 3, this run's is 4"),
            ("lossy", 3, (), "its scenario is calm"),
            ("calm", 3, ("run.until_height=7",), "its scenario_digest is"),
            ("bit-rot", 3, (), "a real disk cannot be given faults.rot, which is a bit-rot"),
        ],
    )
    def test_that_of_another_run_is_refused(self, tmp_path, reference, seed, settings, reason):
        """With what differs."""
        open_data_directory(tmp_path / "data", load_scenario("calm"), 3).close()

        with pytest.raises(DataDirectoryError, match=reason):
            open_data_directory(tmp_path / "data", load_scenario(reference, settings), seed)

    def test_one_in_use_and_one_of_something_else_are_refused(self, tmp_path):
        """Two runs on one disk would both be wrong."""
        scenario = load_scenario("calm")
        data = open_data_directory(tmp_path / "data", scenario, 0)
        with pytest.raises(InUseError, match=rf"data: is in use by process {os.getpid()} on .* since .* UTC: "):
            open_data_directory(tmp_path / "data", scenario, 0)
        data.close()
        (tmp_path / "other").mkdir()
        (tmp_path / "other" / "letter").touch()
        with pytest.raises(DataDirectoryError, match="is no data directory"):
            open_data_directory(tmp_path / "other", scenario, 0)

    def test_what_stands_beside_it_is_left_alone(self, tmp_path):
        """Whatever its name is."""
        (tmp_path / "data.unfinished").mkdir()
        (tmp_path / "data.unfinished" / "letter").touch()
        open_data_directory(tmp_path / "data", load_scenario("calm"), 0).close()

        assert (tmp_path / "data.unfinished" / "letter").exists()

    def test_one_that_cannot_be_made_leaves_nothing(self, tmp_path, monkeypatch):
        """No room, say."""
        monkeypatch.setattr("cluster.runtime.data_directory.provision", lambda *_: (tmp_path / "nothing").stat())

        with pytest.raises(FileNotFoundError):
            open_data_directory(tmp_path / "data", load_scenario("calm"), 0)
        assert list(tmp_path.iterdir()) == []

    def test_an_empty_working_directory_is_not_replaced(self, tmp_path, monkeypatch):
        """The run directory would be written nowhere."""
        monkeypatch.chdir(tmp_path)

        with pytest.raises(DataDirectoryError, match="is the working directory"):
            open_data_directory(Path(), load_scenario("calm"), 0)

    def test_each_code_that_has_written_is_recorded_once_in_a_row(self, tmp_path, monkeypatch):
        """The directory goes on whichever code it was; one that says of none yet is gone on with, too."""
        scenario, codes = load_scenario("calm"), [Code("ab" * 32), Code("ab" * 32), Code("cd" * 32)]
        for code in codes:
            monkeypatch.setattr("checker.record.plugins.this_code", lambda code=code: code)
            data = open_data_directory(tmp_path / "data", scenario, 0)
            data.note_code(code)
            data.close()
        lines = (tmp_path / "data" / "code.jsonl").read_text().splitlines()
        manifest = tmp_path / "data" / "stampede.json"
        manifest.write_text(manifest.read_text().replace('"format":3', '"format":1'))
        (tmp_path / "data" / "code.jsonl").unlink()
        shutil.rmtree(tmp_path / "data" / "watch-faults")
        data = open_data_directory(tmp_path / "data", scenario, 0)
        data.note_code(codes[-1])
        data.close()

        assert [json.loads(line)["fingerprint"] for line in lines] == ["ab" * 32, "cd" * 32]
        assert "cd" * 32 in (tmp_path / "data" / "code.jsonl").read_text()

    @pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: path.symlink_to("/dev/zero")])
    def test_a_list_of_codes_that_is_no_file_is_refused(self, tmp_path, make):
        """Nothing is waited for, and nothing is written elsewhere."""
        open_data_directory(tmp_path / "data", load_scenario("calm"), 0).close()
        (tmp_path / "data" / "code.jsonl").unlink()
        make(tmp_path / "data" / "code.jsonl")

        with pytest.raises(UnsuitableFileError, match=r"code\.jsonl: is a (pipe|folder|link)"):
            open_data_directory(tmp_path / "data", load_scenario("calm"), 0)

    @pytest.mark.parametrize("target", ["link", "nothing/below"])
    def test_a_link_to_nothing_is_refused(self, tmp_path, target):
        link = tmp_path / "link"
        link.symlink_to(target)

        with pytest.raises(DataDirectoryError, match="is a link that leads to no directory"):
            open_data_directory(link, load_scenario("calm"), 0)
        assert list(tmp_path.iterdir()) == [link]

    def test_a_link_to_an_empty_directory_is_one(self, tmp_path):
        """The link stays."""
        (tmp_path / "empty").mkdir()
        (tmp_path / "link").symlink_to(tmp_path / "empty")
        open_data_directory(tmp_path / "link", load_scenario("calm"), 0).close()

        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "empty" / "stampede.json").exists()


@pytest.mark.parametrize("name", ["validator-2", "watch-1", "watch-faults"])
def test_a_directory_in_it_that_is_a_link_is_bad_input(tmp_path, capsys, name):
    """The path and why; what it leads to is left alone."""
    open_data_directory(tmp_path / "data", load_scenario("calm"), 0).close()
    (tmp_path / "data" / name).rename(tmp_path / "elsewhere")
    (tmp_path / "data" / name).symlink_to(tmp_path / "elsewhere")
    before = sorted(path.name for path in (tmp_path / "elsewhere").iterdir())

    code = main(["run", "calm", "--data-dir", str(tmp_path / "data"), "--runs", str(tmp_path / "runs")])

    said = capsys.readouterr().err.splitlines()
    assert (code, len(said)) == (2, 1)
    assert f"{tmp_path / 'data' / name}: is a link" in said[0]
    assert sorted(path.name for path in (tmp_path / "elsewhere").iterdir()) == before


def test_damage_in_the_midst_of_a_watch_is_refused(tmp_path):
    """With fewer votes known a contradiction might pass; a torn tail was not synced and is cut off."""
    watch = WatchFile(tmp_path / "watch-0")
    for view in (1, 2):
        watch.add(view, "vote", ("nullify", view, b""))
    watch.close()
    content = bytearray((tmp_path / "watch-0" / "watch").read_bytes())
    (tmp_path / "watch-0" / "watch").write_bytes(content[:-1])
    assert len(WatchFile(tmp_path / "watch-0").entries) == 1
    assert (tmp_path / "watch-0" / "watch").read_bytes() == content[:-1]

    watch = WatchFile(tmp_path / "watch-0")
    watch.add(2, "vote", ("nullify", 2, b""))
    watch.close()
    content = bytearray((tmp_path / "watch-0" / "watch").read_bytes())
    content[20] ^= 1
    (tmp_path / "watch-0" / "watch").write_bytes(content)
    with pytest.raises(DataDirectoryError, match="damaged at byte 0"):
        WatchFile(tmp_path / "watch-0")


def arguments(tmp_path, scenario, *more):
    return ["run", scenario, "--json", "--data-dir", str(tmp_path / "data"), "--runs", str(tmp_path / "runs"), *more]


def watched_bytes(tmp_path):
    return sum(path.stat().st_size for path in tmp_path.glob("data/watch-*/watch"))


def kill_when_grown(tmp_path, command, grown_bytes):
    """Start a run and kill it when its validators have said so much more."""
    before = watched_bytes(tmp_path)
    process = subprocess.Popen(command, cwd=PROJECT_ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while watched_bytes(tmp_path) < before + grown_bytes:
        with suppress(subprocess.TimeoutExpired):
            pytest.fail(f"the run was over before it could be killed: exit code {process.wait(timeout=0.005)}")
    process.send_signal(signal.SIGKILL)
    return process.wait()


@pytest.mark.soak
def test_a_run_killed_again_and_again_loses_and_contradicts_nothing(tmp_path):
    """Killed while it starts, early and late in a block; what its validators said is all still there."""
    command = [sys.executable, str(PROJECT_ROOT / "run_cluster.py"), *arguments(tmp_path, "calm")]
    killed = [kill_when_grown(tmp_path, command, grown_bytes) for grown_bytes in (1, 2_777, 6_151)]
    done = run_command(*command[2:])
    verdict = json.loads(done.stdout)

    assert killed == [-signal.SIGKILL] * 3
    assert (done.returncode, verdict["verdict"]) == (0, "passed"), verdict["headline"]
    assert "reopened at height" in verdict["headline"]
    said = {}
    for node in VALIDATORS:
        disk = DirectoryDisk(tmp_path / "data" / f"validator-{node}")
        logged = {entry.height: entry.digest for entry in FinalizedLog(disk).read().entries}
        for entry in WatchFile(tmp_path / "data" / f"watch-{node}").entries:
            if entry.kind == "finalized":
                height, _, digest, _ = entry.values
                assert logged[height] == digest
                assert said.setdefault(height, digest) == digest
            elif entry.kind == "vote":
                kind, view, payload = entry.values
                assert said.setdefault((node, kind, view), payload) == payload
                assert not {(node, "finalize", view), (node, "nullify", view)} <= said.keys()
    assert max(height for height in said if isinstance(height, int)) >= 20


def test_a_scenario_with_crashes_runs_on_real_disks(tmp_path):
    """A crash of a validator in a process that lives on."""
    settings = ("--set", "run.until_height=12", "--set", "faults.third.enabled=false")
    settings += ("--set", "faults.fourth.enabled=false", "--set", 'requires=["first", "second"]')
    done = run_command(*arguments(tmp_path, "rolling-restart", *settings))

    assert json.loads(done.stdout)["verdict"] == "passed"


def test_what_a_dead_process_left_of_a_new_directory_is_cleared(tmp_path):
    (tmp_path / ".stampede-data.abc.unfinished" / "validator-0").mkdir(parents=True)

    open_data_directory(tmp_path / "data", load_scenario("calm"), 0).close()

    assert sorted(path.name for path in tmp_path.iterdir()) == ["data"]


def test_a_directory_of_another_run_is_bad_input(tmp_path):
    """One line, exit code 2."""
    open_data_directory(tmp_path / "data", load_scenario("lossy"), 0).close()
    done = run_command(*arguments(tmp_path, "calm"))

    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "belongs to another run" in done.stderr
    assert "it was written by" not in done.stderr


def test_a_directory_of_another_plan_and_code_names_both_codes(tmp_path):
    """A version with a new key of scenarios has another digest for the same file."""
    open_data_directory(tmp_path / "data", load_scenario("calm"), 0).close()
    other = {"fingerprint": "ab" * 32, "commit": "unknown", "python": "3.11.0"}
    (tmp_path / "data" / "code.jsonl").write_text(json.dumps(other, separators=(",", ":")) + "\n")
    done = run_command(*arguments(tmp_path, "calm", "--set", "run.until_height=12"))

    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert f"; it was written by code {'ab' * 6}, commit unknown, Python 3.11.0; this is code " in done.stderr


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The data directory of a run that is over."""
    path = tmp_path_factory.mktemp("finished") / "data"
    assert run_on(path).verdict == "passed"
    return path


def run_on(path):
    scenario = load_scenario("calm", ("run.until_height=5",))
    data = open_data_directory(path, scenario, 0)
    try:
        return run_pipeline(scenario, 0, runs=None, progress=LiveProgress(title="", is_quiet=True), data=data)
    finally:
        data.close()


def spoilt(finished, tmp_path, spoil):
    """Return the verdict of going on with a copy of the directory in which something was changed."""
    shutil.copytree(finished, tmp_path / "copy")
    spoil(tmp_path / "copy")
    return run_on(tmp_path / "copy")


@pytest.mark.soak
def test_a_final_block_that_is_lost_over_a_kill_is_found(finished, tmp_path):
    """The watch knows of it."""
    result = spoilt(finished, tmp_path, lambda path: (path / "validator-1" / "operations-a").unlink())

    assert result.exit_code == 1
    assert "validator 1 restarted at finalized height 0 after 5" in check_named(result, "agreement").summary


@pytest.mark.parametrize("part", ["validator-2", "watch-1", "watch-1/watch", "watch-faults", "code.jsonl"])
def test_a_directory_without_one_of_its_parts_is_bad_input(finished, tmp_path, capsys, part):
    """One line names the part; nothing is made anew, as that would look like a validator's loss."""
    path = tmp_path / "data"
    shutil.copytree(finished, path)
    (path / part).rename(tmp_path / "away")
    before = sorted(path.rglob("*"))

    code = main(["run", "calm", "--set", "run.until_height=5", "--data-dir", str(path), "--runs", str(tmp_path / "r")])

    said = capsys.readouterr().err.splitlines()
    assert (code, len(said)) == (2, 1)
    assert f"is damaged: {part} missing or empty; put it back from a copy" in said[0]
    assert sorted(path.rglob("*")) == before


def test_other_code_that_cannot_execute_what_is_final_changes_nothing(finished, tmp_path, monkeypatch, capsys):
    """Inconclusive, with both codes, as often as it is tried."""
    path = tmp_path / "data"
    shutil.copytree(finished, path)
    before = {each: each.read_bytes() for each in path.rglob("*") if each.is_file()}
    monkeypatch.setattr("checker.record.plugins.this_code", lambda: Code("cd" * 32))

    def refuse(_claimed, _actual):
        raise InvalidBlockError("other rules")

    monkeypatch.setattr("validators.execution.engine.check_roots", refuse)
    command = [
        "run",
        "calm",
        "--quiet",
        "--set",
        "run.until_height=5",
        "--data-dir",
        str(path),
        "--runs",
        str(tmp_path / "r"),
    ]
    codes = [main(command) for _ in range(2)]

    said = capsys.readouterr().err.splitlines()
    assert (codes, len(said)) == ([3, 3], 2)
    wrote, reads = show_fingerprint(this_code().fingerprint), show_fingerprint("cd" * 32)
    for words in ("the code changed since", f"last written by {wrote}", f"this is {reads}", "height 1: other rules"):
        assert [words in line for line in said] == [True, True], said
    assert {each: each.read_bytes() for each in path.rglob("*") if each.is_file()} == before


def test_a_vote_that_contradicts_one_before_the_kill_is_found(finished, tmp_path):
    """As if the journal had forgotten it."""

    def forge(path):
        watch = WatchFile(path / "watch-2")
        last = next(entry for entry in reversed(watch.entries) if entry.values[0] == "finalize")
        watch.add(last.at_us, "vote", ("nullify", last.values[1], b""))
        watch.close()

    result = spoilt(finished, tmp_path, forge)

    assert result.exit_code == 1
    assert "validator 2 sent both nullify and finalize" in check_named(result, "no-double-vote").summary


def test_a_run_that_goes_on_is_checked_from_genesis_and_lists_exceptions(finished, tmp_path):
    """The chain is read from the disks, time goes on a slot later, and three blocks more are made."""
    result = spoilt(finished, tmp_path, lambda path: None)
    before = [WatchFile(finished / f"watch-{node}").entries for node in VALIDATORS]
    after = [WatchFile(tmp_path / "copy" / f"watch-{node}").entries for node in VALIDATORS]
    last_us = max(entries[-1].at_us for entries in before)
    first_us = min(new[len(old)].at_us for old, new in zip(before, after, strict=True))

    assert result.verdict == "passed", result.headline
    assert [executed.header.height for executed in result.chain] == list(range(1, len(result.chain) + 1))
    assert len(result.chain) >= 8
    assert first_us >= last_us + 1_000_000
    assert "its skipped views are not judged" in result.headline
