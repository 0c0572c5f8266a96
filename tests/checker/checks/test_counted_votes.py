"""The check of HotStuff's duties: what came to a validator has to have its consequence in time."""

import pytest

from checker.checks.rules.hotstuff_chains import CertifiedChains, CertifiedTip
from checker.checks.rules.hotstuff_duties import HotStuffDuties
from faults.events import ClockSet
from network.events import Delivered, Event, Sent
from network.types import SUPERVISOR
from tests.support.checks import finish, make_run, show
from validators.events import BlockExecuted, CertificateHeld, Entered, Voted

SECOND_US = 1_000_000
BLOCK = bytes([7]) * 32


def at(second, body, node=0):
    return Event(second * SECOND_US, node, body)


def gives(second, node, label, view, *, checksum=b"sum"):
    """Return a message to validator 0, as it is signed, sent and delivered."""
    word = {"BlockVote": "vote", "ViewTimeout": "timeout"}[label]
    return [
        at(second, Voted(word, view, BLOCK if word == "vote" else b""), node),
        at(second, Sent(0, view, label, 10, b"sum", view), node),
        at(second, Delivered(node, view, label, 10, checksum)),
    ]


def all_give(second, nodes, label, view, **changes):
    return [event for node in nodes for event in gives(second, node, label, view, **changes)]


BEGUN = at(0, Entered(4, 0))
CERTIFIED = CertificateHeld("quorum-certificate", 4, BLOCK, (1, 2, 3))

CASES = {
    "votes that make a certificate": ([BEGUN, *all_give(1, (1, 2, 3), "BlockVote", 4), at(1, CERTIFIED)], ""),
    "votes that nobody counts": (
        [BEGUN, *all_give(1, (1, 2, 3), "BlockVote", 4)],
        "validator 0 made no certificate of 3 votes of view 4, due at 1.000 s",
    ),
    "two votes and the own one": (
        [BEGUN, *all_give(1, (1, 2), "BlockVote", 4), at(1, Voted("vote", 4, BLOCK))],
        "made no certificate of 3 votes",
    ),
    "votes of a view that is over": ([BEGUN, *all_give(1, (1, 2, 3), "BlockVote", 4), at(1, Entered(6, 0))], ""),
    "damaged votes": (
        [
            BEGUN,
            *all_give(1, (1, 2, 3), "BlockVote", 4, checksum=b"sun"),
            *all_give(2, (1, 2), "ViewTimeout", 5),
            at(2, Entered(5, 0)),
        ],
        "",
    ),
    "timeouts that end a view": ([BEGUN, *all_give(1, (1, 2, 3), "ViewTimeout", 4), at(1, Entered(5, 0))], ""),
    "timeouts that do not": (
        [BEGUN, *all_give(1, (1, 2, 3), "ViewTimeout", 4)],
        "did not leave view 4 by 3 timeouts",
    ),
    "others that are followed": ([BEGUN, *all_give(1, (1, 2), "ViewTimeout", 7), at(1, Entered(7, 0))], ""),
    "others that are not": ([BEGUN, *all_give(1, (1, 2), "ViewTimeout", 7)], "did not follow 2 others to view 7"),
    "a step short of them": (
        [BEGUN, *all_give(1, (1, 2), "ViewTimeout", 7), at(1, Entered(6, 0))],
        "did not follow 2 others to view 7",
    ),
}


def leads(second, view, parent=BLOCK, node=1):
    """Return a leader's block as it comes to validator 0: its leader holds the certificate of the view before."""
    return [
        at(second, CertificateHeld("quorum-certificate", view - 1, parent, (1, 2, 3)), node),
        at(second, Sent(0, 90 + view, "BlockRelay", 10, b"sum", view), node),
        at(second, Delivered(node, 90 + view, "BlockRelay", 10, b"sum")),
    ]


EXECUTED = BlockExecuted(3, 2, BLOCK, bytes(32), "verify")
VOTE = Voted("vote", 3, BLOCK)
FOLLOWER = [at(0, Entered(3, 1)), at(0, EXECUTED)]
LEADER = [at(0, EXECUTED, 1), at(0, CertificateHeld("quorum-certificate", 2, BLOCK, ()), 1)]

TURNS = {
    "a vote for the leader's block": ([*FOLLOWER, *leads(1, 3), at(1, VOTE)], ""),
    "a block that gets no vote": ([*FOLLOWER, *leads(1, 3)], "validator 0 did not vote for the block of its leader in"),
    "a block that came before its view": (
        [at(0, Entered(2, 1)), at(0, EXECUTED), *leads(1, 3), at(1, Entered(3, 1))],
        "did not vote for the block of its leader in view 3, due at 1.000 s",
    ),
    "a view that others ended": ([*FOLLOWER, *leads(1, 3), at(1, Entered(4, 2))], ""),
    "a view that was given up": ([*FOLLOWER, at(0, Voted("timeout", 3, b"")), *leads(1, 3)], "nothing"),
    "a parent that is not here": ([FOLLOWER[0], *leads(1, 3)], "nothing"),
    "a block on an older one": ([*FOLLOWER, *leads(1, 3)[1:]], "nothing"),
    "a block far ahead": (
        [at(0, Entered(1, 0)), at(0, EXECUTED), *leads(1, 30, node=15 % 4), at(1, Entered(30, 3))],
        "nothing",
    ),
    "clocks that are set": ([at(0, ClockSet(2, 5, 0, 0), SUPERVISOR), *FOLLOWER, *leads(1, 3)], "nothing"),
}


@pytest.mark.parametrize("name", TURNS)
def test_a_leaders_block_gets_a_vote(name):
    events, fault = TURNS[name]
    check = HotStuffDuties(make_run(engine="hotstuff", view_retention=9))
    show(check, *events)
    result = finish(check, now_us=9 * SECOND_US)

    assert result.status == ("inconclusive" if fault == "nothing" else "failed" if fault else "passed"), result.summary
    assert fault in result.summary or fault == "nothing"


CHAIN = [event for view in (3, 4, 5) for event in leads(1, view, bytes([view - 1]) * 32, node=2 if view > 3 else 1)]
LAST = [
    at(2, CertificateHeld("quorum-certificate", 5, bytes([5]) * 32, ())),
    at(2, BlockExecuted(5, 5, bytes([5]) * 32, bytes(32), "verify")),
]
FINAL = at(2, CertificateHeld("commit", 3, bytes([3]) * 32, ()))


@pytest.mark.parametrize(
    ("events", "status"),
    [
        ([*CHAIN, *LAST, FINAL], "passed"),
        ([*CHAIN, *LAST], "failed"),
        ([*CHAIN, *reversed(LAST)], "failed"),
        ([*CHAIN, LAST[0]], "inconclusive"),
        ([*CHAIN[3:], *LAST], "failed"),
        ([*CHAIN[:3], *CHAIN[6:], *LAST], "inconclusive"),
    ],
    ids=["final", "never", "a block that came late", "no block", "on any block", "a gap"],
)
def test_three_certified_blocks_on_end_make_the_first_one_final(events, status):
    check = HotStuffDuties(make_run(engine="hotstuff", view_retention=9))
    show(check, at(0, Entered(6, 3)), *events)

    assert finish(check, now_us=9 * SECOND_US).status == status


@pytest.mark.parametrize(
    ("events", "status"),
    [
        ([*LEADER, at(1, Entered(3, 1), 1), at(1, VOTE, 1)], "passed"),
        ([*LEADER, at(1, Entered(3, 1), 1)], "failed"),
        ([at(1, Entered(3, 1), 1), *LEADER], "failed"),
        ([*LEADER, at(1, Entered(4, 2), 1)], "inconclusive"),
        ([at(0, VOTE, 1), *LEADER, at(1, Entered(3, 1), 1)], "inconclusive"),
    ],
    ids=["in time", "never", "once it knows", "of another leader", "in an earlier life"],
)
def test_a_leader_with_the_certificate_proposes(events, status):
    check = HotStuffDuties(make_run(engine="hotstuff", view_retention=9))
    show(check, *([at(0, Entered(1, 0), 1)]), *events)

    assert finish(check, now_us=9 * SECOND_US).status == status


@pytest.mark.parametrize("name", CASES)
def test_the_check_tells_right_from_wrong(name):
    events, fault = CASES[name]
    check = HotStuffDuties(make_run(engine="hotstuff", view_retention=9))
    show(check, *events)
    result = finish(check, now_us=9 * SECOND_US)

    assert result.status == ("failed" if fault else "passed"), result.summary
    assert fault in result.summary


def test_two_votes_of_four_make_nothing():
    check = HotStuffDuties(make_run(engine="hotstuff", view_retention=9))
    show(check, BEGUN, *all_give(1, (1, 2), "BlockVote", 4))

    assert finish(check, now_us=9 * SECOND_US).compared == 0


def blocks(*links):
    """Return views and parents of a chain of blocks, each named by its view; a link is a view and its parent's."""
    chains = CertifiedChains(length=3)
    for view, _ in links:
        chains.executed(bytes([view]), view)
    return chains, {bytes([view]): bytes([parent]) for view, parent in links}


LOW_CHAINS = {
    "below a skipped view": ([(3, 2), (4, 3), (5, 4), (7, 5)], 0, {}, [3]),
    "the highest one": ([(3, 2), (4, 3), (5, 4), (6, 5)], 0, {}, [4]),
    "a gap": ([(3, 2), (5, 3), (6, 5), (8, 6)], 0, {}, []),
    "final already": ([(3, 2), (4, 3), (5, 4), (7, 5)], 3, {}, []),
    "a block that was passed over": ([(3, 2), (4, 3), (5, 4), (7, 5)], 0, {4: None}, []),
}


@pytest.mark.parametrize("name", LOW_CHAINS)
def test_a_chain_below_the_highest_certificate_makes_a_block_final(name):
    links, final_view, passed_over, views = LOW_CHAINS[name]
    chains, parents = blocks(*links)
    chains.note(CertifiedTip(5, 0, bytes([links[-1][0]]), final_view, passed_over))
    chains.made_final(0, 4, 1)
    chains.made_final(0, 9, 4)
    chains.end(0, 20)

    assert [(view, made_us) for _, view, made_us in chains.find_due(parents)] == [(view, 9) for view in views]


def test_a_life_that_ends_makes_nothing_final_any_more():
    chains, parents = blocks((3, 2), (4, 3), (5, 4))
    chains.note(CertifiedTip(5, 0, bytes([5]), 0, {}))
    chains.end(0, 7)
    chains.made_final(0, 9, 3)

    assert [made_us for _, _, made_us in chains.find_due(parents)] == [7]
