"""Files from strangers: each ends a command with exit code 2 and one line, in bounded time, and nothing is run."""

import hashlib
import json
import os
import sqlite3

import pytest

from checker.record.fingerprint import this_code
from cluster.campaign.results_db import ResultsFile, SeedResult
from cluster.cli.main import MESSAGE_CHARACTERS_MAX, main
from cluster.scenario.load import encode_scenario, load_scenario
from cluster.scenario.toml_file import BYTES_MAX, DOTS_MAX
from tests.support.cluster_runs import result_of
from tests.support.mutation import tool_main

HEAD = 'name = "x"\ntitle = "t"\n'
SHORT = "run.until_height=3"
RESULT = SeedResult(0, 0, "passed", "", "all is well", "ab", 5, fingerprint=this_code().fingerprint)

SCENARIOS = {
    "a number of too many digits": HEAD + "[run]\nuntil_height = " + "9" * 10_000,
    "a key of too many parts": "a." * 20_000 + "b = 1",
    "a line of just too many dots": HEAD + f"x = '{'.' * (DOTS_MAX + 1)}'",
    "too long": HEAD + "#" * BYTES_MAX,
    "arrays without end": "a = " + "[" * 20_000,
    "a title that steers the terminal": 'name = "x"\ntitle = "\\u001b[2J"\n',
    "a fault whose name does": HEAD
    + '[faults."\\u001b[2J"]\nkind = "pause"\nvalidator = 0\nstart_ms = 1\nstop_ms = 2\n',
    "a workload without a name": HEAD + '[workload.""]\nkind = "heartbeats"\nactors = 1\n',
}


def refused(capsys, *arguments):
    """Run a command that must refuse its input; return the one line that it says."""
    code = main([str(argument) for argument in arguments])
    said = capsys.readouterr()

    assert code == 2, said.err
    assert said.out == ""
    assert said.err.endswith("\n")
    assert said.err[:-1].isprintable()
    return said.err


@pytest.mark.parametrize("what", SCENARIOS)
def test_a_hostile_scenario_is_refused_in_one_line(what, tmp_path, capsys):
    path = tmp_path / "hostile.toml"
    path.write_text(SCENARIOS[what])

    assert str(path) in refused(capsys, "check", path)


def test_a_setting_with_a_number_of_too_many_digits_is_refused(capsys):
    refused(capsys, "check", "calm", "--set", "run.until_height=" + "9" * 1_900)


def test_what_a_file_says_does_not_make_the_line_longer(tmp_path, capsys):
    path = tmp_path / "proof.json"
    path.write_text(json.dumps({"kind": "\x1b[2J" + "0" * 100_000}))

    assert len(refused(capsys, "verify", path)) < MESSAGE_CHARACTERS_MAX + 50


def test_a_path_that_no_file_can_have_is_bad_input(capsys):
    refused(capsys, "verify", "x" * 5_000)


@pytest.mark.parametrize("arguments", [("run", "calm"), ("serve",), ("sweep", "calm")])
def test_an_option_with_such_a_path_is_bad_input_too(arguments, capsys):
    """Exit code 1, which an error of the parser would be, means safety."""
    assert "too long" in refused(capsys, *arguments, "--runs", "x" * 300)


@pytest.mark.parametrize("option", [("sweep", "calm", "--junit"), ("mutants", "--out"), ("scan", "--out")])
@pytest.mark.parametrize("place", [".", "file/out"])
def test_a_place_for_a_late_file_is_refused_before_any_run(option, place, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()

    with pytest.raises(SystemExit) as left:
        tool_main([*option, place])
    assert left.value.code == 2
    assert "no file can be written there" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


# -- results files -----------------------------------------------------------------------------


def sweep_of(path):
    return "sweep", "calm", "--set", SHORT, "--seeds", "0", "--jobs", "1", "--runs", path.parent, "--results", path


@pytest.fixture
def results(tmp_path):
    """A results file of a sweep that is over."""
    path = tmp_path / "results.sqlite"
    with ResultsFile(path, encode_scenario(load_scenario("calm", [SHORT])).decode()) as file:
        file.add(RESULT)
    return path


@pytest.mark.parametrize(
    "change",
    [
        "verdict = 'hacked'",
        "exit_code = 99",
        "exit_code = 0, verdict = 'safety'",
        "exit_code = 1",
        "milliseconds = -5",
        "seed = -1",
        "headline = CAST(x'ff' AS TEXT)",
        "fingerprint = char(27) || '[2J'",
    ],
)
def test_a_row_that_no_sweep_writes_is_refused(change, results, capsys):
    """A changed file must not make a campaign pass that did not."""
    connection = sqlite3.connect(results)
    connection.execute(f"UPDATE results SET {change}")
    connection.commit()
    connection.close()

    assert str(results) in refused(capsys, *sweep_of(results))


def test_a_short_file_of_somebody_else_is_not_written_over(tmp_path, capsys):
    """SQLite takes a file of a few bytes for an empty one."""
    path = tmp_path / "notes.txt"
    path.write_bytes(b"x")
    refused(capsys, *sweep_of(path))

    assert path.read_bytes() == b"x"


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: path.symlink_to("/dev/zero")])
def test_results_that_are_no_file_are_refused(make, tmp_path, capsys):
    path = tmp_path / "results.sqlite"
    make(path)

    refused(capsys, *sweep_of(path))


# -- data directories and run directories --------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        os.mkfifo,
        lambda path: path.symlink_to("/dev/zero"),
        lambda path: path.write_bytes(b'{"format": "\xe6"}'),
        lambda path: path.write_bytes(b"[" * 100_000),
    ],
)
def test_a_data_directory_with_a_hostile_manifest_is_refused(make, tmp_path, capsys):
    directory = tmp_path / "data"
    directory.mkdir()
    make(directory / "stampede.json")

    refused(capsys, "run", "calm", "--data-dir", directory, "--runs", tmp_path)


@pytest.mark.parametrize(
    "name", ["genesis.msgpack", "blocks.msgpack", "branches.msgpack", "roots.msgpack", "events.msgpack"]
)
def test_a_damaged_record_with_a_new_manifest_is_refused_before_a_run(name, tmp_path, capsys):
    directory = result_of("calm", SHORT, runs=tmp_path).directory
    content = (directory / name).read_bytes()[:-1]
    (directory / name).write_bytes(content)
    manifest = json.loads((directory / "manifest.json").read_bytes())
    manifest["files"][name] = {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    manifest["digest"] = manifest["files"]["events.msgpack"]["sha256"]
    (directory / "manifest.json").write_text(json.dumps(manifest))

    assert name in refused(capsys, "replay", directory)
