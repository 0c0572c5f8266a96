"""Block times: a block that is not later than its parent, a slot that is another's, and who let the time run ahead."""

import msgspec
import pytest
from msgspec.structs import replace

from faults.events import ClockSet
from network.events import Event, read_event
from tests.support.checker_history import write_history
from validators.events import Entered, Voted
from validators.execution.blocks import Block, decode_block, encode_block, header_digest


def judge(history):
    return history.judge()["block-times"]


def with_header(history, height, **fields):
    """Give the first application of a block another header; its digest stays, as no check here reads it."""
    first = next(step for step in history.steps if getattr(step, "height", 0) == height)
    header = msgspec.structs.replace(decode_block(first.block).header, **fields)
    history.alter_applied(first.node, height, block=encode_block(Block(header, ())), digest=header_digest(header))


def test_blocks_that_go_on_in_time_pass():
    result = judge(write_history())

    assert result.status == "passed"
    assert dict(result.evidence)["votes"] > 0


@pytest.mark.parametrize(("timestamp_ms", "slot"), [(1_000, 1), (999, 0)])
def test_a_block_that_is_not_later_than_its_parent_fails(timestamp_ms, slot):
    history = write_history()
    with_header(history, 2, timestamp_ms=timestamp_ms, slot=slot)

    result = judge(history)

    assert result.status == "failed"
    assert f"height 2 has timestamp {timestamp_ms:,} ms; expected more than its parent's 1,000 ms" in result.summary


def test_a_slot_that_is_not_the_timestamps_fails():
    history = write_history()
    with_header(history, 3, timestamp_ms=4_000)

    assert "height 3 has slot 3; expected slot 4 by its timestamp 4,000 ms" in judge(history).summary


def test_a_vote_for_a_block_beyond_the_skew_of_a_true_clock_fails():
    """The last block says 5,000 ms; its votes are sent in the first hundred milliseconds."""
    result = judge(write_history_with(max_skew_ms=4_000))

    assert result.status == "failed"
    assert "validator 1 voted for the block of height 4 with timestamp 5,000 ms" in result.summary


def test_the_leaders_own_vote_is_not_judged():
    """Its clock may be behind the parent's."""
    history = write_history_with(max_skew_ms=4_000)
    kept = [step for step in history.steps if not is_notarize(step) or step.node == 0]
    history.steps = kept

    assert judge(history).status == "passed"


def is_notarize(step):
    return isinstance(step, Event) and (vote := read_event(step, Voted)) and vote.vote == "notarize"


@pytest.mark.parametrize(
    ("setting", "status"),
    [
        ((1_000_000, 0, 0), "passed"),
        ((800_000, 0, 0), "failed"),
        ((800_000, 9_000_000, 0), "passed"),
        ((0, 0, 1_000_000), "passed"),
        ((-1_000_000, 0, 1_000_000), "failed"),
    ],
)
def test_a_clock_that_was_ahead_lets_a_validator_vote_for_what_is_ahead(setting, status):
    """By its offset, by what it drifted since, or by its strobe."""
    history = write_history_with(max_skew_ms=4_000)
    history.steps = [step for step in history.steps if not is_notarize(step) or step.node in {0, 1}]
    place = history.position(1, "vote", "notarize", 1)
    history.steps.insert(place, replace(history.steps[place], node=-1, body=ClockSet(1, *setting)))

    assert judge(history).status == status


def test_a_clock_that_was_set_right_again_counts_with_what_it_had_shown():
    """The block was judged some time before the vote left."""
    history = write_history_with(max_skew_ms=4_000)
    history.steps = [step for step in history.steps if not is_notarize(step) or step.node in {0, 1}]
    place = history.position(1, "vote", "notarize", 1)
    step = history.steps[place]
    for values in ((1, 0, 0, 0), (1, 1_000_000, 0, 0)):
        history.steps.insert(place, replace(step, node=-1, body=ClockSet(*values)))

    assert judge(history).status == "passed"


def write_history_with(max_skew_ms):
    history = write_history()
    history.max_skew_ms = max_skew_ms
    return history


@pytest.mark.parametrize(
    ("entered_ms", "voted_ms", "status"),
    [
        (4_900, 5_100, "passed"),
        (5_000, 5_000, "passed"),
        (5_001, 5_100, "failed"),
        (4_900, 4_999, "failed"),
        (2_000, 2_100, "failed"),
    ],
)
def test_a_leader_with_a_right_clock_dates_its_block_when_it_proposes(entered_ms, voted_ms, status):
    assert judge(history_with_leader(entered_ms, voted_ms)).status == status


def test_a_leader_behind_its_parent_dates_its_block_right_after_it():
    history = history_with_leader(2_000, 2_100)
    with_header(history, 4, timestamp_ms=3_001, slot=3)

    assert judge(history).status == "passed"


def test_a_leader_whose_clock_was_touched_is_not_asked_what_it_showed():
    history = history_with_leader(2_000, 2_100)
    history.steps.insert(0, replace(history.steps[0], node=-1, body=ClockSet(0, 0, 0, 0)))

    assert judge(history).status == "passed"


def test_a_view_entered_again_after_the_vote_is_not_checked():
    """Another process may have told of the vote and not of the entering."""
    assert judge(history_with_leader(6_000, 2_100)).status == "passed"


def history_with_leader(entered_ms, voted_ms):
    """The last block, of 5,000 ms, is proposed by validator 0 in view 5; it enters that and votes at these times."""
    history = write_history()
    enter, vote = history.position(0, "enter", 5), history.position(0, "vote", "notarize", 5)
    history.steps[enter] = replace(history.steps[enter], at_us=entered_ms * 1_000, body=Entered(5, 0))
    history.steps[vote] = replace(history.steps[vote], at_us=voted_ms * 1_000)
    return history
