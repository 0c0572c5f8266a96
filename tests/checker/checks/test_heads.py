"""Heads of the longest chain: what may be left for a better branch, and whom a replica trusts."""

import pytest

from checker.checks.rules.longest_chain_heads import FollowedHeads
from network.events import Delivered, Event, Sent, WorkFinished
from network.types import SUPERVISOR
from tests.support.checks import make_run, show
from tests.support.events import logged
from validators.events import BlockExecuted, BlockFinalized, HeadAdopted, Reported, StoppedVoting

DEPTH = 4
SLOT_US = 1_000_000


def watch(*events):
    """Return the result for (time, kind, values) of one validator."""
    check = FollowedHeads(make_run(finality_depth=DEPTH))
    for at_us, kind, values in events:
        show(check, logged(at_us, SUPERVISOR if kind in {"crash", "restart"} else 0, kind, *values))
    return check.finish()


def head(view, height, name, *, abandoned=0, at_us=9 * SLOT_US):
    return at_us, "head", (height, view, name * 32, abandoned)


@pytest.mark.parametrize(("abandoned", "status"), [(DEPTH, "passed"), (DEPTH + 1, "failed")])
def test_all_blocks_on_the_final_one_may_be_left_and_no_more(abandoned, status):
    assert watch(head(8, 8, b"b"), head(9, 9, b"c", abandoned=abandoned)).status == status


def names(second, peer, height, to=0):
    """Return a peer's answer to validator 0, or another replica, on its way."""
    at_us = int(second * SLOT_US)
    sent = Event(at_us, peer, Sent(to, 1, "HeadResponse", 99, b"sum", 9, height))
    return [sent, Event(at_us, to, Delivered(peer, 1, "HeadResponse", 99, b"sum"))]


TRUST = Event(8 * SLOT_US, 0, Reported("TrustedOnFirstSight", 2, 5, "final block"))
FINAL = Event(SLOT_US, 0, BlockFinalized(1, 1, bytes(32), bytes(32)))
LOST = Event(SLOT_US, 0, StoppedVoting("the disk holds none"))

ASKS_AGAIN = [Event(2 * SLOT_US, 0, Sent(peer, 2, "HeadRequest", 9, b"sum")) for peer in (1, 2, 3)]

TRUSTED = {
    "the lower number of two as great": ([*names(2, 2, 31), *names(2, 3, 31), TRUST], ""),
    "the higher number of two as great": (
        [*names(2, 1, 31), *names(2, 2, 31), TRUST],
        "and validator 1 named a head as great",
    ),
    "a head named to the question before": (
        [*names(1, 1, 31), *ASKS_AGAIN, *names(2, 2, 30), TRUST],
        "",
    ),
    "a head that may count for the question before": (
        [*names(1.9, 1, 29), *ASKS_AGAIN, *names(2, 1, 31), *names(2, 2, 30), TRUST],
        "",
    ),
    "a lesser head than one that is worked on": (
        [*names(7, 1, 31), Event(7 * SLOT_US, 0, WorkFinished("cpu", 1, 400_000)), *names(2, 2, 30), TRUST],
        "",
    ),
    "the greatest head": ([*names(2, 1, 30), *names(2, 2, 31), TRUST], ""),
    "a lesser head": ([*names(2, 1, 31), *names(2, 2, 30), TRUST], "was of height 30; one of 31 was named"),
    "a lesser head than one that has just come": ([*names(2, 2, 30), *names(8, 1, 31), TRUST], ""),
    "a head beside a final block": ([FINAL, *names(2, 2, 31), TRUST], "and had one of its own"),
    "a head for a lost journal": ([FINAL, LOST, *names(2, 2, 31), TRUST], ""),
}


@pytest.mark.parametrize("name", TRUSTED)
def test_the_greatest_head_is_trusted_where_no_block_was_final(name):
    events, fault = TRUSTED[name]
    check = FollowedHeads(make_run(engine="longest-chain", finality_depth=DEPTH))
    show(check, *events)
    result = check.finish()

    assert (result.status == "failed") == bool(fault), result.summary
    assert fault in result.summary


def test_blocks_below_a_trusted_one_need_no_depth_under_an_older_head():
    """Swarm seed 416242: a start without a final block found seven blocks on its disk, and then trusted height 29."""
    own = [Event(2 * SLOT_US, 0, HeadAdopted(height, height, bytes([height]) * 32, 0)) for height in (1, 2)]
    final = Event(9 * SLOT_US, 0, MADE_FINAL)

    def judge(*events):
        check = FollowedHeads(make_run(engine="longest-chain", finality_depth=DEPTH))
        show(check, *events)
        return check.finish()

    assert judge(*own, *names(2, 2, 31), TRUST, final).status == "passed"
    assert "made height 1 final under a head of height 2" in judge(*own, final).summary


OBSERVER = 4


def by(node, *bodies):
    return [Event(8 * SLOT_US, node, body) for body in bodies]


EXECUTED = BlockExecuted(9, 9, b"b" * 32, bytes(32), "")
FOLLOWED = HeadAdopted(9, 9, b"b" * 32, 0)
MADE_FINAL = BlockFinalized(1, 1, bytes(32), bytes(32))
TRUSTS = Reported("TrustedOnFirstSight", 2, 5, "final block")
HEADS = [*names(2, 1, 30, OBSERVER), *names(2, 2, 31, OBSERVER)]
LESSER = [*names(2, 1, 32, OBSERVER), *names(2, 2, 31, OBSERVER)]

OBSERVED = {
    "by headers": ([*HEADS, *by(OBSERVER, FOLLOWED, MADE_FINAL, EXECUTED, TRUSTS)], ""),
    "by blocks": ([*HEADS, *by(OBSERVER, EXECUTED, FOLLOWED, MADE_FINAL, TRUSTS)], "and had one of its own"),
    "by blocks at first": ([*HEADS, *by(OBSERVER, EXECUTED, FOLLOWED, TRUSTS)], ""),
    "a lesser head": ([*LESSER, *by(OBSERVER, TRUSTS)], "was of height 31; one of 32 was named"),
}


@pytest.mark.parametrize("name", OBSERVED)
def test_an_observer_chooses_whom_it_trusts_by_the_same_rule(name):
    events, fault = OBSERVED[name]
    check = FollowedHeads(make_run(engine="longest-chain", finality_depth=DEPTH))
    show(check, *events)
    result = check.finish()

    assert (result.status == "failed") == bool(fault), result.summary
    assert fault in result.summary


class TestLeading:
    """A validator that has a journal restarts, and seals a block."""

    START = (
        (1 * SLOT_US, "vote", ("propose", 1, bytes(32))),
        (2 * SLOT_US, "crash", (0, 0)),
        (3 * SLOT_US, "restart", (0,)),
        (3 * SLOT_US, "vote", ("propose", 1, bytes(32))),
        (4 * SLOT_US, "boot", (1, 1, 0, bytes(32))),
    )
    WAITED = (5 * SLOT_US, "timer", (("consensus", "join", 1), SLOT_US, 0, 0))
    SEALED = (6 * SLOT_US, "vote", ("propose", 6, bytes(32)))

    def test_it_waits_for_heads_before_it_leads(self):
        assert watch(*self.START, self.WAITED, self.SEALED).status == "passed"

    def test_one_that_did_not_wait_is_named(self):
        result = watch(*self.START, self.SEALED, self.WAITED)

        assert result.summary == "validator 0 sealed a block of slot 6 after its start, and had not waited for heads"

    def test_one_without_a_journal_leads_at_once(self):
        assert watch(*self.START[1:3], self.START[4], self.SEALED).status == "passed"
