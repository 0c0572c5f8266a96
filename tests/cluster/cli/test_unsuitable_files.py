"""Pipes, devices and sparse files in the places of files: each is named at once, and nothing waits or fills memory."""

import os

import pytest

from checker.record.errors import ReportedError
from checker.record.locks import held
from checker.record.manifest import MANIFEST, hash_file
from checker.record.run_directory import EVENTS, VERDICT, RecordReader, RecordWriter
from cluster.campaign.corpus.folder import LISTING, Corpus
from cluster.campaign.results_db import ResultsFile
from cluster.ci.failing_plans import plans_in
from cluster.cli.main import main
from cluster.cli.options import read_shrunk_plan
from cluster.page.serving import page_at
from tests.support.mutation import tool_main
from tests.support.records import finished
from tools.mutation.scan.campaign import MutationScan
from tools.mutation.scan.triage import read_triage

TERABYTE = 1 << 40


def make_pipe(path):
    os.mkfifo(path)


def make_endless(path):
    path.symlink_to("/dev/zero")


def make_sparse(path):
    path.touch()
    os.truncate(path, TERABYTE)


KINDS = {"is a pipe": make_pipe, "is a device": make_endless, "longer than": make_sparse}
"""By the words of the reason, who makes such a file."""


def open_corpus(path):
    path.rename(path.with_name(LISTING))
    Corpus(path.parent)


READERS = {
    "a failing plan": ("plan.toml", lambda path: plans_in(path.parent)),
    "the listing of a corpus": ("listing", open_corpus),
    "the entries of a scan": ("entries.toml", read_triage),
    "the results of a scan": (
        "results.jsonl",
        lambda path: MutationScan([], [], directory=path.parent, jobs=1),
    ),
}
"""By what is read, the name of the file and who reads it."""


@pytest.mark.parametrize("reason", KINDS)
@pytest.mark.parametrize("what", READERS)
def test_it_is_bad_input_for_who_reads_it(what, reason, tmp_path):
    name, read = READERS[what]
    (tmp_path / "folder").mkdir()
    KINDS[reason](tmp_path / "folder" / name)

    with pytest.raises(ReportedError, match=reason) as refused:
        read(tmp_path / "folder" / name)
    assert refused.value.exit_code == 2


@pytest.mark.parametrize("reason", KINDS)
@pytest.mark.parametrize("command", [("check",), ("verify",), ("scan", "--equivalents")])
def test_a_command_says_so_of_a_file_that_it_is_given(command, reason, tmp_path, capsys):
    KINDS[reason](tmp_path / "file.toml")

    assert tool_main([*command, str(tmp_path / "file.toml")]) == 2
    assert reason in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--runs", "--corpus"])
@pytest.mark.parametrize("target", ["link", "nothing/below"])
def test_nothing_is_made_where_a_lost_link_leads(option, target, tmp_path, capsys):
    link = tmp_path / "link"
    link.symlink_to(target)

    with pytest.raises(SystemExit) as left:
        main(["sweep", "--swarm", "--seeds", "0", option, str(link / "below")])
    assert left.value.code == 2
    assert "is a link that leads to no directory" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [link]


@pytest.mark.parametrize("option", ["--runs", "--corpus"])
def test_a_folder_below_a_file_is_refused_before_a_seed_is_run(option, tmp_path, capsys):
    (tmp_path / "file").touch()

    with pytest.raises(SystemExit) as left:
        main(["sweep", "--swarm", "--seeds", "0", option, str(tmp_path / "file" / "below")])
    assert left.value.code == 2
    assert "file', which is no directory" in capsys.readouterr().err


@pytest.mark.parametrize("reason", KINDS)
@pytest.mark.parametrize("name", [MANIFEST, VERDICT, EVENTS])
def test_a_record_says_so_of_each_of_its_files(name, reason, tmp_path, capsys):
    finished(RecordWriter(tmp_path / "run"))
    (tmp_path / "run" / name).unlink()
    KINDS[reason](tmp_path / "run" / name)

    assert main(["replay", str(tmp_path / "run")]) == 2
    said = capsys.readouterr().err
    assert f"{name}: {reason}" in said


def test_the_size_of_a_sparse_file_is_compared_before_it_is_read(tmp_path, monkeypatch):
    """Hashing a terabyte of holes takes an hour."""
    finished(RecordWriter(tmp_path / "run"))
    os.truncate(tmp_path / "run" / EVENTS, 60 << 30)

    def hash_small(opened):
        assert os.fstat(opened.fileno()).st_size < 1 << 30
        return hash_file(opened)

    monkeypatch.setattr("checker.record.run_directory.hash_file", hash_small)

    with pytest.raises(ReportedError, match=f"{EVENTS}: 64,424,509,440 bytes instead of"):
        RecordReader(tmp_path / "run")


@pytest.mark.parametrize("ending", ["", "-wal", "-shm", "-journal"])
def test_a_results_file_names_a_pipe_in_place_of_each_file(ending, tmp_path):
    """SQLite would wait for ever."""
    os.mkfifo(tmp_path / f"results.sqlite{ending}")

    with pytest.raises(ReportedError, match=rf"results.sqlite{ending}: is a pipe"):
        ResultsFile(tmp_path / "results.sqlite", "subject")


def test_a_pipe_in_the_place_of_a_lock_is_named(tmp_path):
    os.mkfifo(tmp_path / "lock")

    with pytest.raises(ReportedError, match="lock: is a pipe"), held(tmp_path / "lock", tmp_path, waits=True):
        pass


@pytest.mark.parametrize("make", KINDS.values())
def test_a_plan_beside_a_run_costs_no_result_of_a_sweep(make, tmp_path):
    make(tmp_path / "calm-0-shrunk.toml")

    assert read_shrunk_plan(str(tmp_path / "calm-0"), tmp_path) == ""


def test_a_page_too_long_is_not_sent(tmp_path):
    make_sparse(tmp_path / "long.html")

    with pytest.raises(ReportedError, match="longer than"):
        page_at(tmp_path, "/long.html")
