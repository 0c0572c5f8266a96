"""The command `show`: what it prints, in lines and in JSON, and what it refuses."""

import json
import shutil

import pytest

from cluster.cli.main import main
from report.block import COLUMNS
from tests.support.cluster_runs import result_of


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return result_of("calm", "run.until_height=4", runs=tmp_path_factory.mktemp("runs")).directory


def say(capsys, *arguments):
    """Run the command in this process; return exit code, standard output and standard error."""
    try:
        code = main(["show", *map(str, arguments)])
    except SystemExit as left:
        code = left.code
    return code, *capsys.readouterr()


def test_lines_have_the_block_from_its_header_to_its_root(run, capsys):
    code, said, complaint = say(capsys, run, 4)

    lines = said.splitlines()
    assert (code, complaint) == (0, "")
    assert lines[0].startswith("height 4 of ")
    assert any(line.startswith("final block ") and line.endswith(": on replicas 0, 1, 2, 3") for line in lines)
    assert lines[-1].startswith("state root ")
    assert "  1   ok         " in said
    assert "handle_timer of pulse/heartbeat-0, due 4, waited 0 slots" in said
    assert max(map(len, lines[1:])) <= COLUMNS


def test_all_shows_what_is_left_out(run, capsys):
    _, cut, _ = say(capsys, run, 4)
    _, whole, _ = say(capsys, run, 4, "--all")

    assert "more; --all shows them" in cut
    assert "more; --all" not in whole
    assert whole.count("TimerFired") == 10 > cut.count("TimerFired")


def test_json_is_one_object_with_everything(run, capsys):
    """Keys are those of the rows; integers are exact, bytes in hexadecimal digits."""
    code, said, _ = say(capsys, run, 4, "--json")
    document = json.loads(said)

    assert code == 0
    assert list(document) == [
        *("run", "scenario", "seed", "verdict", "height", "heights", "view_word", "blocks", "is_agreed", "roots"),
        *("absent", "replica", "block", "comparison", "notes"),
    ]
    block = document["block"]
    assert list(block) == [
        *("header", "executed_as", "source", "root", "refusal", "transactions", "timers", "events", "summary"),
    ]
    assert (len(block["events"]), block["events"][1]["event"]) == (20, "TimerFired")
    fired = block["timers"]["fired"]
    assert [len(row["timer"]) for row in fired] == [64] * 10
    assert fired[0]["burned"] == block["events"][1]["fields"]["burned"] > 700_000
    assert block["transactions"][0]["fee"] == 997_900


@pytest.mark.parametrize("cut", [[], ["--all"]])
def test_json_does_not_depend_on_what_lines_leave_out(run, capsys, cut):
    _, said, _ = say(capsys, run, 4, "--json", *cut)

    assert len(json.loads(said)["block"]["timers"]["waiting"]) == 10


def test_a_replica_is_named(run, capsys):
    code, said, _ = say(capsys, run, 4, "--replica", 2)

    assert code == 0
    assert "replica 2 (finalized)\n  executed block " in said
    assert "  executed    by the code of replica 2, executed again from genesis\n" in said


def test_a_block_is_found_by_its_first_digits(run, capsys):
    _, said, _ = say(capsys, run, 4, "--json")
    digest = json.loads(said)["block"]["header"]["block"]

    assert say(capsys, run, 4, "--block", digest[:5].upper(), "--json")[1] == said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["5"], " has no block at height 5; it has heights 1 to 4\n"),
        (["x"], "argument HEIGHT: 'x' is not a height: a whole number from 1 on (try --help)\n"),
        (["0"], "argument HEIGHT: '0' is not a height: a whole number from 1 on (try --help)\n"),
        (["9" * 5_000], "is not a height: a whole number from 1 on (try --help)\n"),
        (["3", "--replica", "4"], " has no replica 4; it has replicas 0 to 3\n"),
        (
            ["3", "--replica", "-1"],
            "argument --replica: '-1' is not a replica: a whole number from 0 on (try --help)\n",
        ),
        (["3", "--block", "zz"], "'zz' is not the beginning of a digest: 1 to 64 hexadecimal digits (try --help)\n"),
        (["3", "--block", "0" * 64], " at height 3; there: "),
    ],
)
def test_bad_input_says_what_is_allowed(run, capsys, arguments, said):
    code, out, complaint = say(capsys, run, *arguments)

    assert (code, out) == (2, "")
    assert said in complaint
    assert len(complaint.splitlines()) == 1


def test_a_directory_that_is_no_run_is_bad_input(tmp_path, capsys):
    code, out, complaint = say(capsys, tmp_path / "none", 1)

    assert (code, out) == (2, "")
    assert "none: manifest.json: no such run directory" in complaint


def test_a_damaged_record_is_refused(run, tmp_path, capsys):
    copy = tmp_path / "copy"
    shutil.copytree(run, copy)
    blocks = (copy / "blocks.msgpack").read_bytes()
    (copy / "blocks.msgpack").write_bytes(blocks[:-1] + bytes([blocks[-1] ^ 1]))

    code, _, complaint = say(capsys, copy, 1)
    assert code == 2
    assert "blocks.msgpack: SHA-256 is " in complaint


def test_the_help_has_an_example(capsys):
    code, said, _ = say(capsys, "--help")

    assert code == 0
    assert "example: run_cluster.py show runs/calm-0 12 --replica 2" in " ".join(said.split())
