"""Records of runs with an application, read by the commands: what they show is right, or they say why they cannot."""

import json
import shlex
from collections import Counter

import pytest

from checker.checks.suite import Suite
from checker.record.run_directory import RecordReader
from cluster.cli.main import main
from cluster.exports.parquet import tables_of
from cluster.inspect.told_events import ToldEvents, told_blocks, told_events_of
from cluster.outside.frames import FRAMINGS
from cluster.outside.hosting.calls import FORMAT, CallRecord
from cluster.timers.told_lives import ToldTimerLives
from tests.support.applications import LEDGER, bad_command, small_application_run
from tests.support.cluster_runs import check_named, judge
from tests.support.protobuf import decode
from validators.execution.blocks import decode_block


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Runs of a sound application with few and with many transactions, and of an application that dies."""
    place = tmp_path_factory.mktemp("runs")
    scenarios = {
        "few": small_application_run(),
        "many": small_application_run(LEDGER, "workload.calls.every_ms=100"),
        "dies": small_application_run(bad_command("dies"), "name=dying"),
    }
    return {name: judge(scenario, runs=place / name) for name, scenario in scenarios.items()}


@pytest.fixture
def say(capsys):
    """Return a function that gives the exit code and the output of a command."""

    def run(*arguments):
        code = main([str(each) for each in arguments])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


class TestExports:
    """Tables, traces and logs."""

    def test_timers_are_those_that_the_checks_have_counted(self, runs):
        evidence = dict(check_named(runs["many"], "told-timers").evidence)
        refusals = []
        tables = {name: list(rows) for name, rows in tables_of(runs["many"].directory, refusals).items()}
        exits = Counter(row["exit"] for row in tables["timers"])

        assert evidence["fired"] > 0
        assert (exits["fired"], exits[""], sum(exits.values())) == (
            evidence["fired"],
            evidence["waiting"],
            evidence["set"],
        )
        for row in tables["blocks"]:
            fired = [each for each in tables["timers"] if each["exit_height"] == row["height"] and each["exit"]]
            begun = [each for each in tables["timers"] if each["scheduled_height"] == row["height"]]
            assert (row["fired"], row["scheduled"]) == (len(fired), len(begun))
        assert refusals == []

    def test_told_events_are_a_table_of_plain_values(self, runs):
        tables = {name: list(rows) for name, rows in tables_of(runs["few"].directory, []).items()}

        assert all(json.loads(row["values"])["event"] == row["event"] for row in tables["told"])
        assert {tuple(map(type, row.values())) for row in tables["told"]} == {(int, int, str, str, int, str)}
        assert {type(value) for row in tables["timers"] for value in row.values()} == {int, str}

    def test_a_record_without_answers_ends_the_timers_with_a_reason(self, runs, monkeypatch):
        empty = ToldEvents(CallRecord(FORMAT, {}, [], {}), FRAMINGS["json"])
        monkeypatch.setattr("cluster.exports.parquet.told_events_of", lambda _reader: empty)
        refusals = []

        assert list(tables_of(runs["few"].directory, refusals)["timers"]) == []
        assert refusals == ["height 1: no recorded answer has the block's root"]

    def test_a_lost_application_is_an_instant_and_an_event(self, runs, say, tmp_path):
        place = runs["dies"].directory
        for form in ("perfetto", "shiviz"):
            assert say("export", place, form, "--out", tmp_path / form)[0] == 0
        packets = [decode(packet) for packet in decode((tmp_path / "perfetto").read_bytes())[1]]
        titles = [title for packet in packets if 11 in packet for title in decode(packet[11][0]).get(23, [])]
        lost = [event for event in RecordReader(place).events() if event.kind == "application-lost"]

        assert sum(title.startswith(b"application lost: execute: it ended") for title in titles) == len(lost) >= 2
        assert any(title.startswith(b"executed 4 ") for title in titles)
        assert (tmp_path / "shiviz").read_text().count(" application-lost ") == len(lost)


class TestToldTimers:
    """The lives of timers by the five kinds of events."""

    def test_a_life_has_its_heights_and_its_exit(self):
        lives = ToldTimerLives()
        due, moved = {"event": "timer-set", "timer": "a", "due": 3}, {"event": "timer-moved", "timer": "a", "due": 9}
        deferred = {"event": "timer-deferred", "timer": "b"}
        assert list(lives.take(1, [due, {**due, "timer": "b"}, {"event": "paid"}])) == []
        assert list(lives.take(3, [moved, deferred])) == []
        gone = {"event": "timer-removed", "timer": "b", "why": "expired"}
        (left,) = lives.take(4, [deferred, gone, {"event": "timer-fired", "timer": "c"}])
        (waits,) = lives.waiting()

        assert (left.timer_id, left.due, left.deferred_height, left.exit_height, left.exit) == ("b", 3, 3, 4, "expired")
        assert (waits.timer_id, waits.due, waits.sequence, waits.exit) == ("a", 9, 1, "")


class TestDiff:
    """Two runs, set beside each other."""

    def test_the_first_event_that_was_told_otherwise_is_named(self, runs, say):
        code, said, _ = say("diff", runs["few"].directory, runs["many"].directory, "--no-verify")

        assert code == 1
        assert "values are not compared: they are those of an application" in said
        assert "event 2 of its application: A none, B timer-set due=" in said
        assert "values that differ there" not in said

    def test_a_repeated_run_is_the_same(self, runs, say):
        code, said, _ = say("diff", runs["few"].directory, runs["few"].directory)

        assert (code, said) == (0, f"the same run: digest {runs['few'].digest.hex()}\n")


def test_events_of_a_block_are_those_of_the_root_that_is_final(runs):
    reader = RecordReader(runs["few"].directory)
    told = told_events_of(reader)
    record = next(reader.blocks())

    assert told.of(record.digest, bytes(32)) is None
    assert [height for height, _ in told_blocks(reader, told)] == list(range(len(list(reader.blocks())) + 1))


def test_an_interrupted_run_keeps_what_was_asked(tmp_path, monkeypatch, say):
    def interrupted(*_arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(Suite, "finish", interrupted)
    command = ("--application", shlex.join(LEDGER), "--set", "run.until_height=2")
    code, _, said = say("run", "application/outage", *command, "--quiet", "--runs", tmp_path)
    (place,) = tmp_path.glob("*-unfinished")

    assert (code, "interrupted" in said) == (130, True)
    assert told_events_of(RecordReader(place)) is not None
    assert say("show", place, "1")[0] == 0


class TestShow:
    """A block as the application told it."""

    def test_a_block_has_its_transactions_events_and_root(self, runs, say):
        reader = RecordReader(runs["few"].directory)
        record = list(reader.blocks())[3]
        _, said, _ = say("show", runs["few"].directory, 4, "--replica", 2)
        answer = json.loads(say("show", runs["few"].directory, 4, "--json")[1])

        assert answer["told"]["events"] == list(told_events_of(reader).of(record.digest, record.root)) != []
        assert answer["told"]["transactions"] == [each.hex() for each in decode_block(record.block).transactions] != []
        assert (answer["block"], answer["told"]["root"]) == (None, record.root.hex())
        assert "told        by the application of replica 2" in said
        assert "\n  timer-set due=" in said
        assert said.endswith(f"\nstate root {record.root.hex()}\n")

    def test_a_height_without_a_final_block_says_where_to_look(self, runs, say):
        code, _, said = say("show", runs["dies"].directory, 5)

        assert code == 2
        assert "it has heights 1 to 4; of an application a record has final blocks alone, and `explain` tells" in said

    def test_no_key_is_proven(self, runs, say):
        code, _, said = say("prove", runs["few"].directory, 3, "burned")

        assert code == 2
        assert said.endswith("an application, which alone can prove them: `show` has its blocks and roots\n")
