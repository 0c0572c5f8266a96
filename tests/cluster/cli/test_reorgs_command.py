"""The command `reorgs`: its table, its exit codes, and what it refuses."""

import json
import shlex
import sys

import pytest

from cluster.cli import main
from cluster.cli.commands.runs.reorgs import parse_depths, parse_policies
from cluster.outside.new import EXAMPLES
from tests.support.applications import bad_command

LEDGER = shlex.join([sys.executable, str(EXAMPLES / "python" / "ledger.py")])


def bad_command_line(name):
    """Return the command line of the Python ledger with a bug."""
    return shlex.join(bad_command(name))


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
        (["--application", "no-such-program"], "PATH has no program 'no-such-program'"),
        (["--application", "sleep 0"], "request 1, `hello`: it ended with exit status 0"),
        (["--application", LEDGER, "--policy", "fifo"], "--policy: speaks of this project's own chain"),
        (["--application", LEDGER, "--set", "chain.policy=fifo"], "--set: speaks of this project's own chain"),
        (["calm", "--application", LEDGER], "SCENARIO: speaks of this project's own chain"),
        (["--framing", "json"], "--framing: has no meaning without --application"),
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


def test_an_application_has_a_row_for_each_depth(capsys):
    code = main.main(["reorgs", "--application", bad_command_line("forward"), "--depths", "1", "--pivot", "4"])

    assert code == 0
    assert [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()] == [
        "rewind is not asked: the application lacks forks",
        "rewrite is not asked: the application lacks forks",
        "application depth fresh drop snapshot restart cold-replay",
        "ledger 1 = = = = =",
        "1 of 1 forks came to one state on all of 5 roads",
    ]


def test_an_application_that_differs_ends_with_1(capsys):
    command = bad_command_line("keeps-counter")
    code = main.main(["reorgs", "--application", command, "--depths", "1", "--pivot", "4", "--json"])

    answer = json.loads(capsys.readouterr().out)
    (fork,) = answer["forks"]
    assert code == 1
    assert (answer["application"], answer["name"], "policy" in fork) == (command, "ledger", False)
    assert [each["road"] for each in fork["findings"] if each["status"] == "differs"] == [
        "rewind",
        "rewrite",
        "snapshot",
    ]


def test_an_application_without_transactions_says_so(capsys):
    code = main.main(["reorgs", "--application", bad_command_line("bare"), "--depths", "1", "--pivot", "4"])

    shown = capsys.readouterr().out
    assert code == 3
    assert "all blocks are empty: the application lacks transactions" in shown
    assert "both branches have one root at height 5: their blocks are empty" in shown


def test_depths_are_ascending_and_each_once():
    assert parse_depths("8,1..3,2") == (1, 2, 3, 8)


def test_pairs_are_those_that_may_follow():
    pairs = parse_policies("pairs")

    assert "fifo>eip1559" in pairs
    assert "eip1559>fifo" not in pairs
