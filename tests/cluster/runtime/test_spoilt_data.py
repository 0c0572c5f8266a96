"""Spoilt data directories: bad input with file and byte, and never a failure of a validator."""

import os
import re
import shutil

import msgspec
import pytest

from checker.record.errors import ReportedError
from cluster.live.progress import LiveProgress
from cluster.runtime.data_directory import DataDirectoryError, WatchFile, open_data_directory
from cluster.scenario.load import load_scenario
from cluster.verdict.pipeline import run_pipeline
from validators.storage import RecordFile, SimulatedDisk

SHORT = ("run.until_height=2",)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The data directory of a run that is over."""
    path = tmp_path_factory.mktemp("finished") / "data"
    scenario = load_scenario("calm", SHORT)
    data = open_data_directory(path, scenario, 0)
    run_pipeline(scenario, 0, runs=None, progress=LiveProgress(title="", is_quiet=True), data=data)
    data.close()
    return path


def frames(*entries):
    """Return the content of a watch with these entries."""
    file = RecordFile(SimulatedDisk(), "watch")
    content = b""
    for entry in entries:
        content += file.frame(len(content), msgspec.msgpack.encode(entry))
    return content


VOTE = (1, "vote", ("nullify", 1, b""))
NOISE = bytes(range(1, 200))
TORN = {
    "nothing": b"",
    "zeros": bytes(50),
    "a mark": frames(VOTE)[:3],
    "a head": frames(VOTE)[:16],
    "a part": frames(VOTE)[:-1],
}
DAMAGED = {
    "noise": (NOISE, "is damaged at byte 0"),
    "little noise": (NOISE[:7], "is damaged at byte 0"),
    "noise behind a record": (frames(VOTE) + NOISE, f"is damaged at byte {len(frames(VOTE))}"),
    "noise in the last record": (frames(VOTE)[:-3] + NOISE[:3], "is damaged at byte 0"),
    "a record of a number": (frames(7), "is no entry at byte 0"),
    "a vote of two values": (frames(VOTE, (1, "vote", ("nullify", 1))), f"is no entry at byte {len(frames(VOTE))}"),
    "a time that is none": (frames((-1, *VOTE[1:])), "is no entry at byte 0"),
    "a time at the end of 64 bits": (frames(((1 << 64) - 1, *VOTE[1:])), "is no entry at byte 0"),
}


@pytest.mark.parametrize("what", TORN)
def test_an_entry_that_was_never_synced_counts_for_nothing(what, tmp_path):
    """The next entry takes its place."""
    for before in (b"", frames(VOTE)):
        place = tmp_path / f"watch-{len(before)}"
        place.mkdir()
        # A frame is of its place.
        torn = TORN[what] if not before or what not in ("a head", "a part") else frames(VOTE, VOTE)[len(before) : -1]
        (place / "watch").write_bytes(before + torn)
        watch = WatchFile(place)
        watch.add(*VOTE)
        watch.close()

        assert len(WatchFile(place).entries) == bool(before) + 1


@pytest.mark.parametrize("what", DAMAGED)
def test_a_watch_that_holds_something_else_is_refused_as_it_is(what, tmp_path):
    (tmp_path / "watch-0").mkdir()
    content, reason = DAMAGED[what]
    (tmp_path / "watch-0" / "watch").write_bytes(content)

    with pytest.raises(DataDirectoryError, match=reason):
        WatchFile(tmp_path / "watch-0")
    assert (tmp_path / "watch-0" / "watch").read_bytes() == content


def empty(path):
    path.write_bytes(b"")


def spill(path):
    path.write_bytes(NOISE)


def spill_behind(path):
    path.write_bytes(path.read_bytes() + NOISE)


def make_pipe(path):
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize(
    ("part", "spoil", "said"),
    [
        ("watch-1/watch", empty, "is damaged: watch-1 has no record, and validator-1 has height 2"),
        ("watch-1/watch", spill, "watch-1: what was watched is damaged at byte 0"),
        ("watch-1/watch", spill_behind, "watch-1: what was watched is damaged at byte"),
        ("watch-faults/watch", spill, "watch-faults: what was watched is damaged at byte 0"),
        ("code.jsonl", empty, "is damaged: code.jsonl names no code"),
        ("code.jsonl", spill, "is damaged: code.jsonl at byte 0 names no code"),
        ("code.jsonl", spill_behind, "is damaged: code.jsonl at byte"),
        ("watch-1/watch", make_pipe, "watch-1/watch: is a pipe"),
        ("validator-1/operations-a", make_pipe, "validator-1/operations-a: is a pipe"),
        ("stampede.json", make_pipe, "stampede.json is not one: is a pipe"),
        ("code.jsonl", make_pipe, "code.jsonl: is a pipe"),
    ],
)
def test_a_spoilt_file_is_bad_input_and_no_failure_of_a_validator(finished, tmp_path, part, spoil, said):
    path = tmp_path / "data"
    shutil.copytree(finished, path)
    spoil(path / part)

    with pytest.raises(ReportedError, match=re.escape(said)) as refused:
        open_data_directory(path, load_scenario("calm", SHORT), 0)
    assert refused.value.exit_code == 2


def test_a_torn_line_in_the_list_of_codes_is_passed_over(finished, tmp_path):
    """A kill tears the last line, and a former release wrote the next one below it."""
    path = tmp_path / "data"
    shutil.copytree(finished, path)
    line = (path / "code.jsonl").read_bytes()
    for torn in (line[:5], line[:30], line[:-2], line[:30] + bytes(20)):
        for behind in (b"", b"\n" + line):
            (path / "code.jsonl").write_bytes(line + torn + behind)
            open_data_directory(path, load_scenario("calm", SHORT), 0).close()
