"""Files that options name: each takes the place of a file of its own kind or of none, and follows no link."""

import errno
import os
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from checker.record.places import ForeignFileError, OwnFile, write_own
from cluster.ci.reports import JUNIT
from tests.support.cluster_runs import result_of
from tests.support.mutation import tool_main

SHORT = ("--set", "run.until_height=3", "--seeds", "1", "--jobs", "1", "--quiet")

COMMANDS = {
    "sweep": lambda runs: ("sweep", "calm", *SHORT, "--junit"),
    "prove": lambda runs: ("prove", runs / "calm-0", "1", "burned", "--out"),
    "perfetto": lambda runs: ("export", runs / "calm-0", "perfetto", "--out"),
    "shiviz": lambda runs: ("export", runs / "calm-0", "shiviz", "--out"),
    "parquet": lambda runs: ("export", runs / "calm-0", "parquet", "--out"),
    "shrink": lambda runs: ("shrink", runs / "broken-refund-0", "--jobs", "1", "--out"),
    "mutants": lambda runs: ("mutants", "--only", "tip-burned", "--out"),
    "scan": lambda runs: ("scan", "--sample", "1", "--out"),
    "new": lambda runs: ("new", "mine", "--out"),
    "results": lambda runs: ("sweep", "calm", *SHORT, "--results"),
}
"""By a name: a command, of the mutation tool too, that writes a file, up to the option that names it."""

OBSTACLES = {
    "file": lambda path: path.write_text("mine"),
    "link to a file": lambda path: path.symlink_to(write(path.with_name("own.txt"))),
    "link to nothing": lambda path: path.symlink_to("nothing"),
    "pipe": os.mkfifo,
}


def write(path):
    path.write_text("mine")
    return path


def state_of(folder):
    """Return what stands in a folder: where links lead, and the content of files."""
    return {
        path.name: str(path.readlink()) if path.is_symlink() else path.is_file() and path.read_bytes()
        for path in folder.iterdir()
    }


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    runs = tmp_path_factory.mktemp("runs")
    result_of("calm", "run.until_height=3", runs=runs)
    result_of("broken-refund", runs=runs)
    return runs


@pytest.mark.parametrize("obstacle", OBSTACLES)
@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_not_of_its_kind_stays_and_is_told_before_anything_is_run(
    command, obstacle, runs, tmp_path, monkeypatch, capsys
):
    """In one line that names it; no option has a rule of its own."""
    folder = tmp_path / "folder"
    folder.mkdir()
    monkeypatch.chdir(tmp_path)
    path = folder / "there.toml"
    OBSTACLES[obstacle](path)
    before = state_of(folder)

    assert tool_main([*map(str, COMMANDS[command](runs)), str(path)]) == 2
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1), said
    assert str(path) in said.err
    assert state_of(folder) == before


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "parquet"])
def test_a_place_below_a_file_is_one_clear_line(command, runs, tmp_path, monkeypatch, capsys):
    """The same whichever folder of the path the file stands in for; Parquet files need a library first."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("mine")
    for place in ("file/x.toml", "file/y/x.toml"):
        try:
            code = tool_main([*map(str, COMMANDS[command](runs)), place])
        except SystemExit as leaving:
            code = leaving.code
        said = capsys.readouterr()
        assert (code, said.out, said.err.count("\n")) == (2, "", 1), said
        assert "Not a directory" in said.err or "no file can be written there" in said.err
    assert (tmp_path / "file").read_text() == "mine"


def test_a_file_of_its_kind_is_replaced(tmp_path):
    kind = OwnFile(b"mine: ", "note of mine")
    for text in (b"mine: 1", b"mine: 2"):
        write_own(tmp_path / "note", text, kind)
        assert (tmp_path / "note").read_bytes() == text
    (tmp_path / "link").symlink_to("note")

    with pytest.raises(ForeignFileError, match="exists and is no note of mine; give another path or remove it"):
        write_own(tmp_path / "link", b"mine: 3", kind)
    assert (tmp_path / "note").read_bytes() == b"mine: 2"


@pytest.mark.soak
def test_a_junit_file_is_written_again_and_without_room_names_itself(tmp_path, monkeypatch, capsys):
    """Its sweep has said its verdict by then."""
    monkeypatch.chdir(tmp_path)
    command = ["sweep", "calm", *SHORT, "--junit", "out.xml"]
    assert tool_main(command) == tool_main(command) == 0
    before = (tmp_path / "out.xml").read_bytes()
    assert before.startswith(JUNIT.beginning)
    assert ET.fromstring(before).get("tests") == "1"
    capsys.readouterr()
    write_bytes = Path.write_bytes

    def refuse(path, content):
        if path.name == "out.xml":
            raise OSError(errno.ENOSPC, "No space left on device")
        return write_bytes(path, content)

    monkeypatch.setattr(Path, "write_bytes", refuse)
    assert tool_main(command) == 6
    said = capsys.readouterr()
    assert said.out == "passed: 1 seed: 1 passed\n"
    assert said.err.endswith(": out.xml: No space left on device\n")
    assert (tmp_path / "out.xml").read_bytes() == before
