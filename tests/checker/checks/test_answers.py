"""Answers: blocks below what a peer has, and snapshots that are old or of no use."""

import hashlib

import pytest

from checker.checks.answers import NeededAnswers
from checker.checks.planned import PlannedFault, PlannedRun
from checker.record.final_blocks import final_block
from network.events import Delivered, Event, Sent
from tests.support.chain_harness import advance, make_engine
from tests.support.checks import finish, make_run, show
from validators.consensus.registry import ENGINES
from validators.events import BlockFinalized, Booted, MessageRefused, SnapshotJoined
from validators.messages import BlockResponse, message_codec

PLAN = PlannedRun(snapshot_gap_blocks=3)
PAUSED = PLAN._replace(faults=(PlannedFault("it", 0, 1, (0,), pauses=True),))


def make_chain(count=5):
    engine = make_engine()
    return [final_block(advance(engine)) for _ in range(count)]


CHAIN = make_chain()


def at(second, body, node=0):
    return Event(second * 1_000_000, node, body)


def reach(node, height):
    return at(1, BlockFinalized(height, height, b"", b""), node)


def ask(label, *, floor):
    """Return what shows that validator 1, which has the chain up to a height, asks validator 0."""
    return reach(1, floor), at(2, Sent(0, 0, label, 40, b"asked"), 1), at(3, Delivered(1, 0, label, 40, b"asked"))


def give(top, count):
    """Return an answer of validator 0 with so many blocks."""
    blocks = tuple(CHAIN[height - 1].encoded for height in range(top, top - count, -1))
    message = message_codec(ENGINES["simplex"]).encode(BlockResponse(blocks))
    checksum = hashlib.blake2b(message, digest_size=8).digest()
    return at(4, Sent(1, 0, "BlockResponse", len(message), checksum, top, top))


def offer(height):
    return at(4, Sent(1, 0, "SnapshotOffer", 400, b"offer", height, height))


GIVEN_UP = at(2, MessageRefused("snapshot", "of validator 0: unanswered"), 1)


def judge(*events, plan=PLAN):
    check = NeededAnswers(make_run(plan=plan, chain=CHAIN))
    show(check, reach(0, 5), *events)
    return finish(check)


@pytest.mark.parametrize(("count", "status"), [(3, "passed"), (2, "passed"), (4, "failed")])
def test_an_answer_ends_above_what_the_peer_has(count, status):
    assert judge(*ask("BlockRequest", floor=2), give(5, count)).status == status


def test_the_blocks_that_were_too_many_are_named():
    result = judge(*ask("BlockRequest", floor=2), give(5, 5))

    assert result.summary == (
        "validator 0 sent 5 blocks from height 5 down to a peer that has those up to height 2, 3 would have been needed"
    )


def test_the_block_that_was_asked_for_may_be_an_old_one():
    assert judge(*ask("BlockRequest", floor=4), give(2, 1)).status == "passed"


@pytest.mark.parametrize(("height", "status"), [(3, "passed"), (2, "failed"), (1, "failed")])
def test_an_offered_snapshot_is_young_and_of_use(height, status):
    assert judge(*ask("SnapshotRequest", floor=1), offer(height)).status == status


def test_an_answer_to_the_request_before_a_refused_one_passes():
    refused = (
        reach(1, 4),
        at(3, Sent(0, 1, "BlockRequest", 40, b"again"), 1),
        at(3, Delivered(1, 1, "BlockRequest", 40, b"again")),
        at(3, MessageRefused("BlockRequest", "AnswerUnderWay")),
    )

    assert judge(*ask("BlockRequest", floor=2), *refused, give(5, 3)).status == "passed"


def test_the_answers_of_a_paused_replica_are_not_judged():
    assert judge(*ask("BlockRequest", floor=2), give(5, 5), plan=PAUSED).compared == 0


@pytest.mark.parametrize(("between", "status"), [((), "failed"), ((reach(1, 10),), "passed")])
def test_a_second_snapshot_is_asked_for_after_a_block(between, status):
    joined, asked = at(1, SnapshotJoined(9, b"", b""), 1), at(2, Sent(0, 0, "SnapshotRequest", 40, b"asked"), 1)

    assert judge(joined, *between, asked).status == status


@pytest.mark.parametrize(("between", "status"), [((), "failed"), ((GIVEN_UP, reach(1, 2)), "passed")])
def test_a_peer_is_asked_three_times_for_a_snapshot(between, status):
    asked = [at(2, Sent(0, ordinal, "SnapshotRequest", 40, b"asked"), 1) for ordinal in range(4)]
    other = at(2, Sent(2, 0, "SnapshotRequest", 40, b"asked"), 1)

    assert judge(*asked[:3], *between, other, asked[3]).status == status


def test_a_life_may_ask_anew():
    asked = [at(2, Sent(0, ordinal, "SnapshotRequest", 40, b"asked"), 1) for ordinal in range(4)]

    assert judge(*asked[:3], at(2, Booted(1, 1, 0, b""), 1), asked[3]).status == "passed"
