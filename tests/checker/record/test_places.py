"""Run directories beside each other: none takes another's place, none is lost in a race, litter is cleared."""

import errno
import os
import re
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from checker.record.locks import InUseError, held
from checker.record.places import LOCK, scratch_directory, write_whole
from checker.record.plain_files import UnsuitableFileError
from checker.record.root import PROJECT_ROOT
from checker.record.run_directory import RecordReader, RecordWriter
from cluster.campaign.results_db import ResultsFile
from cluster.cli.main import main
from tests.support.cluster_runs import result_of
from tests.support.records import finished

OTHER = "ab" * 32

HOLD = """
import os, signal, sys
from pathlib import Path
from checker.record.run_directory import RecordWriter
writer = RecordWriter(Path(sys.argv[1]) / "calm-7")
print(writer.directory, flush=True)
os.kill(os.getpid(), signal.SIGKILL) if sys.argv[2] == "dies" else sys.stdin.read()
"""


def write(path, plan=b"{}\n", verdict="passed"):
    with RecordWriter(path) as writer:
        return finished(writer, plan, verdict)


def plans_in(directory):
    return sorted(RecordReader(path).scenario() for path in directory.iterdir())


class TestNames:
    def test_the_same_plan_seed_and_code_takes_its_own_place_again(self, tmp_path):
        first, again = (write(tmp_path / "calm-7") for _ in range(2))

        assert first == again == tmp_path / "calm-7"
        assert list(tmp_path.iterdir()) == [first]

    def test_another_plan_of_the_same_name_gets_a_longer_name(self, tmp_path):
        first, other, again = (write(tmp_path / "calm-7", plan) for plan in (b"1", b"2", b"2"))

        assert first == tmp_path / "calm-7"
        assert other == again
        assert other.name.startswith("calm-7-")
        assert len(other.name) == len("calm-7-xxxxxx")
        assert plans_in(tmp_path) == [b"1", b"2"]

    def test_other_code_gets_a_longer_name(self, tmp_path, monkeypatch):
        first = write(tmp_path / "calm-7")
        code = RecordReader(first).manifest.code
        monkeypatch.setattr("checker.record.plugins.this_code", lambda: code._replace(fingerprint=OTHER))
        other = write(tmp_path / "calm-7")

        assert other.name.startswith("calm-7-")
        assert RecordReader(first).manifest.code == code

    def test_a_longer_name_that_another_plan_has_is_not_taken_either(self, tmp_path, monkeypatch):
        """Six digits are few: two of many plans may share them."""
        monkeypatch.setattr("checker.record.places.SUFFIX_DIGITS", (0, 64))
        places = [write(tmp_path / "calm-7", plan) for plan in (b"1", b"2", b"3")]

        assert [len(place.name) - len("calm-7-") for place in places] == [-1, 0, 64]
        assert plans_in(tmp_path) == [b"1", b"2", b"3"]

    def test_a_foreign_directory_that_came_meanwhile_is_left_alone(self, tmp_path):
        with RecordWriter(tmp_path / "calm-7") as writer:
            (tmp_path / "calm-7").mkdir()
            place = finished(writer)
        assert re.fullmatch("calm-7-[0-9a-f]{6}", place.name)
        assert list((tmp_path / "calm-7").iterdir()) == []

    def test_a_run_is_kept_whatever_stands_in_its_other_places(self, tmp_path, monkeypatch):
        """It is over, and its verdict would be lost with it."""
        monkeypatch.setattr("checker.record.places.SUFFIX_DIGITS", (0, 64))
        write(tmp_path / "calm-7", b"1")
        (tmp_path / "calm-7-").touch()

        assert len(write(tmp_path / "calm-7", b"2").name) == len("calm-7-") + 64

    def test_a_retired_run_that_cannot_come_back_stops_no_other(self, tmp_path, monkeypatch):
        (tmp_path / ".stampede-calm-7.retired").mkdir()
        rename = Path.rename

        def refuse(path, target):
            if path.name.endswith(".retired"):
                raise PermissionError(errno.EACCES, "Permission denied", str(path))
            return rename(path, target)

        monkeypatch.setattr(Path, "rename", refuse)
        assert write(tmp_path / "calm-8").name == "calm-8"

    @pytest.mark.soak
    def test_a_changed_scenario_and_the_plain_one_stand_side_by_side(self, tmp_path, capsys):
        """One line names the directory; the command again replaces its own run alone."""
        small = ["--set", "run.until_height=6", "--runs", str(tmp_path)]
        lasts = []
        for more in ([], ["--set", "chain.slot_ms=2_000"], []):
            assert main(["run", "calm", *small, *more]) == 0
            lasts += [line for line in capsys.readouterr().out.splitlines() if line.startswith("record ")]

        assert lasts[0] == lasts[2] == f"record       {tmp_path / 'calm-0'}"
        assert lasts[1].startswith(f"record       {tmp_path / 'calm-0-'}")
        assert sum(path.is_dir() for path in tmp_path.iterdir()) == 2


class TestRaces:
    def test_runs_of_one_name_that_end_at_once_are_all_there(self, tmp_path):
        """Each has another plan; none is lost, and nothing else is left."""
        for round_ in range(10):
            start = threading.Barrier(6)

            def end_with_others(number, round_=round_, start=start):
                with RecordWriter(tmp_path / str(round_) / "calm-7") as writer:
                    start.wait()
                    return finished(writer, b"%d" % number)

            with ThreadPoolExecutor(6) as pool:
                places = list(pool.map(end_with_others, range(6)))
            assert len(dict.fromkeys(places)) == 6
            assert plans_in(tmp_path / str(round_)) == [b"%d" % number for number in range(6)]

    def test_the_same_run_that_ends_twice_at_once_is_there_once(self, tmp_path):
        for _ in range(10):
            with ThreadPoolExecutor(4) as pool:
                places = list(pool.map(lambda _: write(tmp_path / "calm-7"), range(4)))
            assert places == [tmp_path / "calm-7"] * 4
            assert list(tmp_path.iterdir()) == [tmp_path / "calm-7"]
            RecordReader(tmp_path / "calm-7").read_all()

    def test_a_results_file_in_use_is_refused_with_who_holds_it(self, tmp_path, capsys):
        path = tmp_path / "r.sqlite"
        with ResultsFile(path, "calm"):
            code = main(["sweep", "calm", "--seeds", "1", "--results", str(path), "--runs", str(tmp_path)])
        said = capsys.readouterr().err

        assert (code, said.count("\n")) == (2, 1)
        assert f"{path}: is in use by process {os.getpid()} on " in said
        assert [each.name for each in tmp_path.iterdir()] == ["r.sqlite"]


class TestLitter:
    def hold(self, tmp_path, end):
        command = [sys.executable, "-c", HOLD, str(tmp_path), end]
        holder = subprocess.Popen(command, cwd=PROJECT_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        return holder, tmp_path / holder.stdout.readline().strip()

    def test_only_directories_of_killed_processes_are_cleared_by_the_next(self, tmp_path):
        with self.hold(tmp_path, "dies")[0] as dead:
            dead.communicate()
        assert dead.returncode == -signal.SIGKILL
        (litter,) = tmp_path.iterdir()
        holder, busy = self.hold(tmp_path, "lives")
        with holder:
            assert not litter.exists()
            place = write(tmp_path / "calm-7")
            assert sorted(tmp_path.iterdir()) == sorted([busy, place])
            holder.communicate("")

    def test_a_run_whose_place_was_left_empty_comes_back(self, tmp_path):
        """A process died after it had moved the older run away, and before it had moved its own there."""
        place = write(tmp_path / "calm-7")
        place.rename(tmp_path / ".stampede-calm-7.retired")
        other = write(tmp_path / "other-7")

        assert sorted(tmp_path.iterdir()) == [place, other]

    def test_an_older_run_that_a_dead_process_was_to_remove_goes(self, tmp_path):
        place = write(tmp_path / "calm-7")
        (tmp_path / ".stampede-calm-7.retired").mkdir()
        write(tmp_path / "calm-7")

        assert list(tmp_path.iterdir()) == [place]

    def test_a_partial_file_of_a_killed_process_goes_with_the_next_one(self, tmp_path):
        """Each writes under a name of its own."""
        kill = "import os, sys; from pathlib import Path; from checker.record.places import write_whole;"
        kill += "Path.replace = lambda *_: os.kill(os.getpid(), 9); write_whole(Path(sys.argv[1]), b'1')"
        dead = subprocess.run([sys.executable, "-c", kill, str(tmp_path / "a.toml")], cwd=PROJECT_ROOT, check=False)
        left = len(list(tmp_path.iterdir()))
        write_whole(tmp_path / "b.toml", b"2")

        assert (dead.returncode, left) == (-signal.SIGKILL, 1)
        assert list(tmp_path.iterdir()) == [tmp_path / "b.toml"]

    def test_temporary_files_of_a_killed_replay_go_with_the_next(self, tmp_path, monkeypatch):
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        place = tmp_path / f"stampede-{os.getuid()}"
        (place / ".stampede-calm-0.abc.unfinished" / "calm-0").mkdir(parents=True)
        result_of("calm", "run.until_height=1")

        assert list(tmp_path.iterdir()) == [place]
        assert list(place.iterdir()) == []

    def test_a_temporary_directory_of_somebody_else_is_not_used(self, tmp_path, monkeypatch):
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        (tmp_path / "stampede-4021").mkdir()
        monkeypatch.setattr("os.getuid", lambda: 4021)

        with pytest.raises(PermissionError, match="stampede-4021"), scratch_directory("calm-0"):
            pass

    def test_what_only_looks_like_litter_is_left_alone(self, tmp_path):
        (tmp_path / "precious").mkdir()
        for name in (".stampede-a.unfinished", ".stampede-b.retired"):
            (tmp_path / name).symlink_to(tmp_path / "precious")
        (tmp_path / ".stampede-c.unfinished").touch()
        before = sorted(tmp_path.iterdir())
        place = write(tmp_path / "calm-7")

        assert sorted(tmp_path.iterdir()) == sorted([*before, place])


class TestLocks:
    def test_a_lock_that_a_dead_process_left_is_free(self, tmp_path):
        (tmp_path / LOCK).write_text("process 1 on mars")
        with held(tmp_path / LOCK, tmp_path):
            pass
        assert list(tmp_path.iterdir()) == []

    def test_who_holds_a_lock_is_said_once_and_not_longer_than_it_is(self, tmp_path):
        (tmp_path / LOCK).write_text("x" * 10_000)
        holder = rf"in use by process {os.getpid()} on"
        with (
            held(tmp_path / LOCK, tmp_path),
            pytest.raises(InUseError, match=holder) as caught,
            held(tmp_path / LOCK, tmp_path),
        ):
            pass
        assert "xxx" not in str(caught.value)

    def test_those_who_wait_get_it_one_after_the_other(self, tmp_path):
        inside, most = [], []

        def enter(number):
            for _ in range(20):
                with held(tmp_path / LOCK, tmp_path, waits=True):
                    inside.append(number)
                    for _ in range(20):
                        os.sched_yield()
                    most.append(len(inside))
                    inside.remove(number)

        with ThreadPoolExecutor(6) as pool:
            list(pool.map(enter, range(6)))
        assert max(most) == 1
        assert list(tmp_path.iterdir()) == []

    def test_a_link_in_the_place_of_a_lock_is_not_followed(self, tmp_path):
        (tmp_path / LOCK).symlink_to(tmp_path / "elsewhere")
        with pytest.raises(UnsuitableFileError, match="is a link"), held(tmp_path / LOCK, tmp_path):
            pass
        assert not (tmp_path / "elsewhere").exists()
