"""Explanations of executions that break off, of genesis, of logs that cannot be opened, and of memory."""

import pytest

from checker.explain.divergence import AgreedBlock, Divergence
from checker.explain.executions import ExecutionGroup, Executions, Outcome, as_changes
from checker.explain.origins import origin_in_input, origin_of_break
from checker.results import CheckResult
from cluster.inspect.explain_run import explain_run
from cluster.scenario.load import load_scenario
from scheduler import TimerScheduled
from tests.support.explained import SHORT, explained
from tests.support.mutation import WITH_CATALOGUE
from validators.execution import Block
from validators.execution.blocks import Header
from validators.execution.receipts import TimerReceipt, encode_receipt
from validators.restored import EMPTY_LOG
from validators.settings import ValidatorFactory, make_engine
from validators.state import CorruptLog

FIVE = ("run.until_height=6", "run.time_limit_ms=15_000")


def test_an_execution_that_breaks_off_stands_alone_with_its_timer():
    """A timer that left waits on: nothing lies where it was, and the validator stops over it."""
    found = explained("calm", *FIVE, WITH_CATALOGUE, "mutants.removed-timers-wait-on=[1]")

    assert found.cause == "clean-up"
    assert [side.validators for side in found.sides if side.root.startswith("none: ")] == [[1]]
    assert found.sides[0].has_oracle
    assert "aborts: AssertionError: no timer lies at " in found.write
    assert found.timer_record.startswith("no longer in the state; last receipt: Timer")


def test_a_genesis_that_one_validator_changes_is_the_first_difference():
    found = explained("calm", *SHORT, "mutants.created-keys-as-written=[2]")

    assert (found.height, found.cause, found.leader) == (0, "order", None)
    assert [side.validators for side in found.sides][1] == [2]
    assert found.write.startswith("operation ")


def make_forgetful(genesis, verify, log=EMPTY_LOG):
    """An engine that refuses every log that holds a block."""
    if log.entries:
        raise CorruptLog("it is not to its liking")
    return make_engine(genesis, verify, log)


def test_a_sound_log_of_which_no_state_is_made_is_a_matter_of_hashing():
    crash = 'faults={it={kind="crash", validator=2, at_ms=3_500, restart_ms=4_500}}'
    halted = CheckResult("agreement", "failed", "safety", "validator 2 halted", (("validator", 2),), 1)
    found = explained("calm", *FIVE, crash, factories={2: ValidatorFactory(layer=make_forgetful)}, checks=[halted])

    assert found.cause == "hashing"
    assert (found.sides[0].who, found.sides[1].validators) == ("the log on the disk of validator 2", [2])
    assert found.height == int(found.write.split(" operations of ")[1].split()[0])


def memory(name):
    return CheckResult(name, "failed", "safety", "it is off", (("validator", 2), ("height", 3)), 1)


@pytest.mark.soak
def test_memory_that_is_wrong_after_an_undo_is_a_matter_of_clean_up():
    settings = ("run.until_height=11", "run.time_limit_ms=31_000")
    scenario = load_scenario("certified-split", settings)
    found = explain_run(scenario, 0, [memory("bitmap")]).explanation

    assert (found.cause, found.height, len(found.block)) == ("clean-up", 3, 64)
    assert [side.who for side in found.sides] == ["the operation log of validator 2", "validator 2"]


def test_memory_that_is_off_without_that_has_the_cause_of_its_check():
    assert explained("calm", *SHORT, checks=[memory("bitmap")]).cause == "hashing"


HEADER = Header(
    version=1,
    height=2,
    consensus_epoch=0,
    view=2,
    parent=bytes(32),
    proposer=0,
    slot=2,
    timestamp_ms=2_000,
    state_root=bytes(32),
    tx_root=bytes(32),
    receipts_root=bytes(32),
)
FIRST, SECOND = bytes(32), bytes([1] * 32)


def divergence(right, wrong, past=()):
    return Divergence(
        digest=bytes(32),
        block=Block(HEADER, right.transactions),
        groups=(ExecutionGroup(right, [0], has_oracle=True), ExecutionGroup(wrong, [1])),
        refusal="",
        before={},
        now=2,
        past=past,
    )


def test_a_misread_value_counts_and_not_the_value_written_after_it():
    """The state that it began from has another value of one key, and lacks another."""
    broken = Outcome((), b"", (), {SECOND: b"written"}, (), broken="it fell", begun={FIRST: b"old"})
    outcome = as_changes(broken, {FIRST: b"new", SECOND: b"there"})

    assert outcome.misread == (FIRST, SECOND)
    assert outcome.changes == {FIRST: b"old", SECOND: None}


def test_a_block_with_other_input_is_named_by_its_first_transaction():
    right = Outcome((b"same", b"one"), SECOND, (), {}, ())
    origin = origin_in_input(
        divergence(right, right._replace(transactions=(b"same",), root=b"", broken="not the body"))
    )

    assert origin.what == "transaction 1 of the block"
    assert origin.reported[1] == "no transaction"


def test_a_timer_looked_for_in_vain_is_found_where_it_was_scheduled():
    event = TimerScheduled(SECOND, bytes(20), 5, 3, bytes(20), 1, 9)
    past = AgreedBlock(FIRST, Block(HEADER, ()), (encode_receipt(TimerReceipt(event)),))
    right = Outcome((), SECOND, (), {}, ())
    wrong = right._replace(root=b"", broken="AssertionError: no timer lies at 5, 3")

    assert origin_of_break(divergence(right, wrong, (past,))).timer == SECOND


def test_the_blocks_of_a_log_are_known_by_its_operations():
    executions = Executions()
    for height, operations in ((1, (b"a", b"b")), (2, (b"c",))):
        digest = bytes([height] * 32)
        executions.add(0, digest, Block(HEADER, ()), Outcome((), digest, (), {}, operations))
        executions.add_final(0, height, digest)

    found = [executions.sound_height_of(log) for log in ([b"a", b"b"], [b"a", b"b", b"c"], [b"a"], [b"x"], [])]
    assert found == [1, 2, None, None, None]


@pytest.mark.soak
def test_blocks_that_a_liar_forges_are_no_difference():
    """Everybody refuses them alike, the oracle too."""
    found = explain_run(load_scenario("forged-root"), 0, ()).explanation

    assert (found.height, found.sides, found.cause) == (None, [], None)
