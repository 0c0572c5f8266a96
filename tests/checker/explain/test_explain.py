"""The explanation of a failed run: the place, the sides, the key, the timer, the write and the cause."""

import json
import shutil
from dataclasses import replace

import pytest

from checker.explain.cause import cause_of
from checker.explain.divergence import Divergence
from checker.explain.executions import ExecutionGroup, Executions, Outcome
from checker.mutants.mutant import Swaps
from checker.results import CheckResult
from cluster.cli.main import main
from cluster.runtime.cluster import Cluster
from scheduler.policies import fifo
from tests.support.bad_validators import SlowHeart, make_slow_hearted
from tests.support.cluster_runs import result_of
from tests.support.explained import SHORT, explained
from tests.support.mutation import WITH_CATALOGUE
from validators.actors import PROGRAMS
from validators.execution import Block
from validators.settings import ValidatorFactory, make_engine
from validators.state import Batch

STORM = """
name = "dead"
title = "forty timers are due together, and most of them die before the lane comes to them"

[workload.storm]
kind = "storm"
actors = 4
timers_per_actor = 10
start_ms = 1_500
first_slot = 4
spread_slots = 1
ttl_slots = 1

[chain.timers]
lane_timer_cycles = 20_000
max_cycles_per_fire = 20_000

[run]
until_height = 8
time_limit_ms = 9_000

[mutants]
expiry-a-slot-late = {validators}
"""


def storm_with_late_expiry(directory, validators):
    path = directory / "dead.toml"
    path.write_text(STORM.replace("{validators}", str(validators)))
    return str(path)


def around(*swaps):
    swapped = Swaps(list(swaps))
    return ValidatorFactory(around=lambda: swapped)


@pytest.fixture(scope="module")
def slow_hearted():
    return explained("calm", *SHORT, factories={1: ValidatorFactory(layer=make_slow_hearted)})


def test_a_handler_that_writes_another_value_is_named_with_its_key(slow_hearted):
    """The key is the handler's, and so are timer, actor and receipt; fees do not stand before it."""
    first = slow_hearted.keys[0]

    assert first.name.startswith(f"storage {slow_hearted.actor} key ")
    assert '"beats"' in first.name
    assert first.values == ["0000000000000001", "0000000000000002"]
    assert len(slow_hearted.timer) == 64
    assert slow_hearted.handler == "handle_timer"
    assert slow_hearted.receipt is not None
    assert f"TimerFired timer_id={slow_hearted.timer}" in slow_hearted.write


def test_place_and_sides_are_those_of_the_first_block_that_differs(slow_hearted):
    """The oracle stands with those who are right."""
    sides = [(side.validators, side.has_oracle) for side in slow_hearted.sides]

    assert sorted(sides[0][0]) == [0, 2, 3]
    assert [oracle for _, oracle in sides] == [True, False]
    assert sides[1][0] == [1]
    assert slow_hearted.height is not None
    assert slow_hearted.cause == "execution"


def test_the_chain_of_events_leads_from_the_submission_to_the_roots(slow_hearted):
    """Submitted, proposed, executed by each, scheduled, fired, written, and two roots."""
    chain = slow_hearted.chain
    places = [
        next(place for place, line in enumerate(chain) if text in line)
        for text in ("workload submitted", "TimerScheduled", "TimerFired", "writes storage", slow_hearted.sides[0].root)
    ]
    assert places == sorted(places)
    assert any(slow_hearted.sides[1].root in line for line in chain)
    assert any("validator 1 refused" in line for line in chain)


def test_an_expiry_that_comes_late_is_a_matter_of_clean_up(tmp_path):
    found = explained(storm_with_late_expiry(tmp_path, [2]))

    assert (found.cause, found.sides[1].validators) == ("clean-up", [2])
    assert f"TimerExpired timer_id={found.timer}" in found.write
    assert f"validator 2: TimerFired timer_id={found.timer}" in found.write


def test_what_all_validators_do_wrong_is_held_against_the_oracle(tmp_path):
    """They agree with one another; the oracle alone stands on the right side."""
    found = explained(storm_with_late_expiry(tmp_path, [0, 1, 2, 3]))

    assert [side.who for side in found.sides] == ["the oracle", "validators 0, 1, 2, 3"]
    assert found.cause == "clean-up"


def test_timers_taken_in_another_order_are_a_matter_of_order():
    classify = fifo.classify

    def last_first(waiting, **rest):
        classes = classify(waiting, **rest)
        return replace(classes, candidates=classes.candidates[::-1])

    found = explained("calm", *SHORT, factories={3: around((fifo, "classify", last_first))})

    assert (found.cause, found.sides[1].validators) == ("order", [3])


def test_another_root_of_the_same_operations_is_a_matter_of_hashing():
    root_of = Batch.canonical_root.fget
    altered = property(lambda batch: bytes([root_of(batch)[0] ^ 1]) + root_of(batch)[1:])

    found = explained("calm", *SHORT, factories={0: around((Batch, "canonical_root", altered))})

    assert (found.cause, found.keys) == ("hashing", [])
    assert "the operations of the log are equal" in found.notes[-1]


def test_what_a_dropped_block_leaves_behind_is_a_matter_of_clean_up():
    """The validator's code is right as long as it has dropped nothing: a fresh engine with it shows that."""

    def make_haunted(*arguments):
        programs = dict(PROGRAMS)
        engine = make_engine(*arguments, programs=programs)
        finalize = engine.finalize

        def finalize_and_remember(digest):
            finalization = finalize(digest)
            if finalization.dropped:
                programs["heartbeat"] = SlowHeart
            return finalization

        engine.finalize = finalize_and_remember
        return engine

    found = explained(
        "certified-split",
        "run.until_height=11",
        "run.time_limit_ms=31_000",
        factories={2: ValidatorFactory(layer=make_haunted)},
    )

    assert (found.cause, found.sides[1].validators) == ("clean-up", [2])
    assert any("validator 2 rolled-back" in line for line in found.chain)


def test_another_log_of_the_same_values_is_named_by_its_operation():
    """A raise of the floor that moves one operation less: no key differs, the root does."""
    found = explained("calm", *SHORT, WITH_CATALOGUE, "mutants.floor-one-step-short=[3]")

    assert (found.cause, found.keys, found.sides[1].validators) == ("order", [], [3])
    assert found.write.startswith("operation ")
    assert "update of " in found.write
    assert "validator 3: end of the batch" in found.write


NOTHING = Outcome((), bytes(32), (), {}, ())


@pytest.mark.parametrize(
    ("other", "cause"),
    [
        (NOTHING._replace(transactions=(b"another",), changes={b"key": b"other"}), "input"),
        (NOTHING._replace(operations=(b"operation",), root=bytes([1] * 32)), "order"),
        (NOTHING._replace(changes={b"key": b"value"}, operations=(b"operation",)), "order"),
        (NOTHING._replace(changes={b"key": b"other"}, operations=(b"operation",)), "execution"),
        (NOTHING._replace(root=bytes([1] * 32)), "hashing"),
    ],
)
def test_the_cause_is_what_differs_first_in_the_making_of_a_root(other, cause):
    """Bytes, then values, then the log, then the hashes; writing what was there already is no other value."""
    groups = (ExecutionGroup(NOTHING, [0]), ExecutionGroup(other, [1]))
    block = Block(None, ())
    divergence = Divergence(
        digest=b"", block=block, groups=groups, refusal="", before={b"key": b"value"}, now=1, past=()
    )

    assert cause_of(divergence, is_from_the_past=False) == cause


def test_a_transaction_that_only_the_oracle_refuses_is_a_matter_of_input():
    """It does not fit what is left of the block's cycles."""
    tight = ("chain.block_cycles=30_000", "mutants.block-limits-unchecked=[0,1,2,3]")
    found = explained("calm", *SHORT, *tight)

    assert (found.cause, len(found.sides), len(found.transaction)) == ("input", 1, 64)
    assert "cycles_limit is above" in found.write


def test_two_final_blocks_at_one_height_are_a_matter_of_input(slow_hearted, monkeypatch):
    """Whatever states they lead to, it was not the same input."""
    add_final = Executions.add_final

    def add_another(self, node, height, digest):
        add_final(self, node, height, bytes(32) if node == 3 and height == 2 else digest)

    monkeypatch.setattr(Executions, "add_final", add_another)
    found = explained("calm", *SHORT)

    assert (found.cause, found.height) == ("input", 2)
    assert [side.block == "00" * 32 for side in found.sides].count(True) == 1


def test_two_final_blocks_do_not_hide_that_one_of_them_was_split(slow_hearted, monkeypatch):
    """Under the longest chain, who comes to another state refuses what others build on theirs, and ends alone."""
    add_final, height = Executions.add_final, slow_hearted.height

    def add_another(self, node, at, digest):
        add_final(self, node, at, bytes(32) if node == 3 and at == height else digest)

    monkeypatch.setattr(Executions, "add_final", add_another)
    found = explained("calm", *SHORT, factories={1: ValidatorFactory(layer=make_slow_hearted)})

    assert (found.cause, found.height, found.write) == ("execution", height, slow_hearted.write)


def test_a_failure_not_about_state_comes_with_the_events_of_its_view():
    """A double vote is explained by the votes of its view."""
    evidence = (("validator", 1), ("view", 3))
    check = CheckResult("no-double-vote", "failed", "safety", "validator 1 sent two votes in view 3", evidence, 1)

    found = explained("calm", *SHORT, checks=[check])

    assert (found.check, found.cause, found.height) == ("no-double-vote", None, None)
    assert any("validator 1 vote notarize 3" in line for line in found.chain)
    assert not any("vote notarize 2" in line for line in found.chain)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Return the directories of a run that passed, of one that did not, and of one that cannot be repeated."""
    directory = tmp_path_factory.mktemp("runs")
    passed = result_of("calm", "run.until_height=4", runs=directory).directory
    late = result_of(storm_with_late_expiry(directory, [2]), runs=directory).directory
    factories = {1: ValidatorFactory(layer=make_slow_hearted)}
    strange = result_of(
        "calm", "run.until_height=3", "run.time_limit_ms=6_000", seed=1, runs=directory, factories=factories
    )
    return passed, late, strange.directory


@pytest.mark.soak
def test_explain_prints_the_report_of_a_recorded_run(runs, capsys):
    code = main(["explain", str(runs[1])])

    reported = capsys.readouterr().out
    assert code == 0
    for text in (
        "hold the record against its run:",
        "first difference: height",
        "keys that differ",
        "made by: timer ",
        "cause: clean-up",
    ):
        assert text in reported, reported


@pytest.mark.soak
def test_one_run_is_enough_to_judge_a_record_and_to_explain_it(runs, monkeypatch, capsys):
    made, run = [], Cluster.run
    monkeypatch.setattr(Cluster, "run", lambda cluster: made.append(cluster) or run(cluster))

    assert (main(["explain", str(runs[1])]), len(made)) == (0, 1)


def test_explain_says_that_there_is_nothing_to_explain(runs, capsys):
    assert main(["explain", str(runs[0])]) == 0
    assert capsys.readouterr().out.startswith("passed: nothing went wrong")


@pytest.mark.soak
def test_a_run_that_cannot_be_repeated_has_an_exit_code_of_its_own(runs, capsys):
    """The record was made with a part that its scenario does not tell of."""
    code = main(["explain", "--json", str(runs[2])])

    reported = json.loads(capsys.readouterr().out)
    assert code == 5
    assert reported["difference"]["first"] != reported["difference"]["second"]
    assert (reported["cause"], reported["height"] >= 1) == ("input", True)
    assert [side["who"] for side in reported["sides"]] == ["the recorded run", "the repeated run"]


def test_a_run_that_does_not_pass_says_how_to_explain_it(tmp_path, capsys):
    code = main(
        ["run", "calm", "--set", "run.until_height=2", "--set", "run.time_limit_ms=1_500", "--runs", str(tmp_path)]
    )

    last = capsys.readouterr().out.splitlines()[-1]
    assert code == 3
    assert last.startswith("explain with: ")
    assert last.endswith(f" explain {next(tmp_path.glob('*-0'))}")


@pytest.mark.soak
def test_diff_knows_a_run_again(runs, capsys):
    assert main(["diff", str(runs[0]), str(runs[0])]) == 0
    assert capsys.readouterr().out.startswith("the same run")


def test_diff_names_the_first_event_and_height_that_differ(runs, capsys):
    code = main(["diff", "--no-verify", "--json", str(runs[0]), str(runs[2])])

    reported = json.loads(capsys.readouterr().out)
    assert code == 1
    assert reported["settings"]["seed"] == ["0", "1"]
    assert reported["event"]["index"] > 0
    assert reported["height"] >= 1
    assert reported["figures"]


def test_a_liveness_failure_comes_with_what_each_validator_did_last():
    check = CheckResult("finality-regained", "failed", "liveness", "validator 0 finalized nothing new", (), 1)

    found = explained("calm", *SHORT, checks=[check])

    assert found.cause is None
    assert all(any(f"validator {node} finalized 4 " in line for line in found.chain) for node in range(4))


def test_text_of_a_record_is_shown_on_one_line_and_without_controls():
    """The text may come from a foreign file, and so may an invalid key."""
    check = CheckResult("live-values", "failed", "safety", "a\nb\x1b[2Jc", (("key", "03"),), 1)

    found = explained("calm", *SHORT, checks=[check])

    assert (found.summary, found.cause) == ("a b [2Jc", "clean-up")


@pytest.mark.parametrize("command", ["explain", "diff"])
def test_a_damaged_directory_is_refused_in_one_line(runs, tmp_path, capsys, command):
    damaged = tmp_path / "damaged"
    shutil.copytree(runs[1], damaged)
    (damaged / "events.msgpack").write_bytes(b"\x93")
    others = [str(runs[0])] if command == "diff" else []

    code = main([command, *others, str(damaged)])

    reported = capsys.readouterr()
    assert (code, reported.out, reported.err.count("\n")) == (2, "", 1)
