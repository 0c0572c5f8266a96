"""The command `reorgs`: its table, its exit codes, and what it refuses."""

import json

import pytest

from cluster.cli import main
from cluster.cli.commands.runs.reorgs import parse_depths, parse_policies


def test_table_has_a_row_for_each_fork(capsys):
    code = main.main(["reorgs", "--depths", "1..2", "--policy", "fifo", "--pivot", "6"])

    lines = capsys.readouterr().out.splitlines()
    assert code == 0
    assert lines[0].split()[:4] == ["policy", "depth", "fresh", "drop"]
    assert [line.split()[:3] for line in lines[1:3]] == [["fifo", "1", "="], ["fifo", "2", "="]]
    assert lines[-1] == "2 of 2 forks came to one state on all of 8 roads"


@pytest.mark.soak
def test_json_is_one_object_with_every_finding(capsys):
    main.main(["reorgs", "--depths", "1", "--policy", "fifo", "--pivot", "6", "--json"])

    answer = json.loads(capsys.readouterr().out)
    (fork,) = answer["forks"]
    assert (fork["policy"], fork["depth"], fork["pivot"]) == ("fifo", 1, 6)
    assert {finding["status"] for finding in fork["findings"]} == {"equal"}


def test_a_fork_that_shows_nothing_is_inconclusive(capsys):
    idle = [word for name in ("pulse", "payments") for word in ("--set", f"workload.{name}.enabled=false")]

    code = main.main(["reorgs", "deep-rewind", "--depths", "1", "--policy", "fifo", *idle])

    assert code == 3
    assert "no timer fires on the abandoned branch" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--depths", "0"], "'0' is not A..B or A, separated by commas, with whole numbers from 1 to 512"),
        (["--depths", "3..1"], "'3..1' is not A..B"),
        (["--pivot", "x"], "'x' is not a whole number from 1 to 100,000"),
        (["--policy", "lifo"], "there is no policy 'lifo'; there are fifo"),
        (["--policy", "eip1559>fifo"], "fifo cannot follow eip1559"),
        (["no-such-scenario"], "no-such-scenario"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(capsys, arguments, reason):
    try:
        code = main.main(["reorgs", *arguments])
    except SystemExit as exit_:
        code = exit_.code

    error = capsys.readouterr().err
    assert code == 2
    assert reason in error
    assert error.count("\n") == 1


def test_depths_are_ascending_and_each_once():
    assert parse_depths("8,1..3,2") == (1, 2, 3, 8)


def test_pairs_are_those_that_may_follow():
    pairs = parse_policies("pairs")

    assert "fifo>eip1559" in pairs
    assert "eip1559>fifo" not in pairs
