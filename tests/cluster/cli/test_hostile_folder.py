"""A folder of runs that strangers write to: whatever stands there, a verdict is printed and keeps its exit code."""

import errno
import json
import os
import re

import pytest

from cluster.cli.main import main
from cluster.page.index import index_of
from tests.support.keystones import rest_in_soak, third_of

FAILING = ("broken-refund", "--set", "expect.fails=[]")
SAFETY = 1

ENTRIES = {
    "a folder in the place of the list": lambda runs: (runs / "index.html").mkdir(),
    "somebody's own list": lambda runs: (runs / "index.html").write_text("my own page"),
    "a list that is a link": lambda runs: (runs / "index.html").symlink_to("own.txt"),
    "a folder that may not be read": lambda runs: (runs / "closed").mkdir(mode=0),
}


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """Return a folder with names that are no UTF-8, links in circles, a pipe, and what `ENTRIES` adds."""
    runs = tmp_path / "runs"
    runs.mkdir()
    (runs / "own.txt").write_text("mine")
    (runs / os.fsdecode(b"page\xff.html")).touch()
    (runs / os.fsdecode(b"run\xff")).mkdir()
    (runs / os.fsdecode(b"run\xff") / "manifest.json").write_bytes(b"\xff")
    (runs / "circle").symlink_to("circle")
    os.mkfifo(runs / "pipe.html")
    stat = os.stat

    def refuse_closed(path, *arguments, **options):
        # Who runs as root may read every folder.
        if "/closed/" in os.fsdecode(path if isinstance(path, str | bytes | os.PathLike) else ""):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return stat(path, *arguments, **options)

    monkeypatch.setattr(os, "stat", refuse_closed)
    return runs


def unpaged(said):
    """Return the lines that are not progress."""
    return [line for line in said.splitlines() if line.startswith("no page: ")]


@pytest.mark.parametrize("what", third_of(ENTRIES))
def test_a_run_says_its_verdict_whatever_the_folder_holds(what, runs, capsys):
    """With the commands that repeat and explain it, and one line about a list that could not be written."""
    ENTRIES[what](runs)

    assert main(["run", *FAILING, "--quiet", "--runs", str(runs)]) == SAFETY
    said = capsys.readouterr()
    assert re.search("^failed: safety", said.out, re.MULTILINE), said.out
    assert "\nrepeat with: " in said.out
    assert len(unpaged(said.err)) == ("list" in what)
    assert (runs / "own.txt").read_text() == "mine"
    assert b"broken-refund, seed 0" in index_of(runs)


@pytest.mark.parametrize("what", rest_in_soak(ENTRIES, ["somebody's own list"]))
@pytest.mark.parametrize("form", rest_in_soak(["--quiet", "--json"], ["--json"]))
@pytest.mark.soak
def test_a_sweep_says_its_verdict_whatever_the_folder_holds(what, form, runs, capsys):
    ENTRIES[what](runs)

    assert main(["sweep", *FAILING, "--seeds", "0", "--jobs", "1", form, "--runs", str(runs)]) == SAFETY
    said = capsys.readouterr()
    is_said = json.loads(said.out)["verdict"] == "safety" if form == "--json" else said.out.startswith("failed: safety")
    assert is_said, said.out
    assert len(unpaged(said.err)) == ("list" in what)


def broken(*_arguments, **_options):
    raise ZeroDivisionError("so it goes")


@pytest.mark.soak
def test_a_run_is_kept_without_a_page_that_cannot_be_made(runs, capsys, monkeypatch):
    """The page of the run and the list both fail, each in one line; `explain` explains without one."""
    monkeypatch.setattr("cluster.page.write.gather", broken)
    monkeypatch.setattr("report.page.render.index_page", broken)

    assert main(["run", *FAILING, "--runs", str(runs)]) == SAFETY
    said = capsys.readouterr()
    place = runs / "broken-refund-0"
    lost = [f"no page: {path}: ZeroDivisionError: so it goes" for path in (place / "report.html", runs / "index.html")]
    assert unpaged(said.err) == lost
    assert f"record       {place}" in said.out
    assert "\npage " not in said.out

    assert main(["explain", str(place)]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("failed: safety")
    assert unpaged(said.err) == lost[:1]


@pytest.mark.soak
def test_a_full_sweep_says_where_its_page_is(runs, capsys):
    assert main(["sweep", "calm", "--set", "run.until_height=3", "--seeds", "1", "--runs", str(runs)]) == 0
    said = capsys.readouterr().out.splitlines()

    assert re.fullmatch(rf"page {runs}/sweep-calm-[0-9a-f]+\.html", said[-1])
    assert [line for line in said if line.startswith("passed: 1 seed")]


@pytest.mark.soak
def test_the_first_page_of_two_runs_that_differ_costs_no_answer(runs, capsys, monkeypatch):
    """As where other code wrote one of them."""
    for seed in ("1", "2"):
        assert main(["run", "calm", "--set", "run.until_height=3", "--seed", seed, "--runs", str(runs)]) == 0
    capsys.readouterr()
    monkeypatch.setattr("cluster.cli.commands.records.diff.page_of_two", broken)

    assert main(["diff", str(runs / "calm-1"), str(runs / "calm-2"), "--no-verify", "--json"]) == SAFETY
    said = capsys.readouterr()
    assert json.loads(said.out)["digests"]
    assert unpaged(said.err) == [f"no page: {runs}/diff-calm-1-calm-2.html: ZeroDivisionError: so it goes"]
