"""The rules of HotStuff's journals, entry by entry: what may follow what, in both profiles."""

from hashlib import sha256

import pytest

from checker.checks.rules.hotstuff import HotStuffJournal
from tests.support.hotstuff_harness import header_of
from validators.consensus.hotstuff.finality import Commit
from validators.consensus.hotstuff.journal import CastVote, Lock
from validators.consensus.hotstuff.messages import (
    BlockVote,
    QuorumCertificate,
    TimeoutCertificate,
    ViewTimeout,
)

BLOCK, OTHER = bytes([7]) * 32, bytes([8]) * 32


def vote(view, parent_view, signer=0):
    return CastVote(BlockVote(signer, view, BLOCK, b""), parent_view)


def certificate(view, digest=BLOCK):
    return QuorumCertificate(view, digest, b"\x07", (b"",) * 3)


def timeouts(view, *high_views):
    return TimeoutCertificate(view, b"\x07", high_views, (b"",) * 3)


def left(view, high_view, entry=None):
    return ViewTimeout(0, view, certificate(high_view), entry, b"")


def commit(*views, gap=b""):
    headers, parent = [], bytes(32)
    for height, view in enumerate(views, 1):
        headers.append(header_of(view, height, parent, 0))
        parent = gap or sha256(headers[-1]).digest()
    return Commit(tuple(headers), certificate(views[-1], sha256(headers[-1]).digest()))


def fault_of(*journal):
    """Return what is wrong with the last entry, where those before are allowed."""
    rules = HotStuffJournal(0)
    for entry in journal[:-1]:
        assert rules.find_fault(entry) == ""
        rules.take_in(entry)
    return rules.find_fault(journal[-1])


ALLOWED = {
    "a vote on the certified block of the view before": [certificate(1), vote(2, 1)],
    "a vote on the locked block after views that were given up": [
        certificate(1),
        certificate(2),
        Lock(1, BLOCK),
        vote(5, 1),
    ],
    "a vote on a certified block whose parent is locked": [
        commit(1, 2, 3),
        certificate(5),
        Lock(2, BLOCK),
        vote(7, 5),
        certificate(7),
        Lock(5, BLOCK),
        vote(8, 7),
    ],
    "a vote on the other block of a leader's two, whose parent is locked": [
        commit(1, 2, 3),
        Lock(2, BLOCK),
        vote(5, 3),
        certificate(5, OTHER),
        vote(6, 5),
    ],
    "two-chain: a vote on what the timeouts show": [commit(1, 2), left(3, 2), timeouts(3, 2, 2, 0), vote(4, 2)],
    "two-chain: a vote by other timeouts of the view than its own": [
        commit(1, 2),
        certificate(3),
        timeouts(4, 3, 2, 2),
        timeouts(4, 2, 2, 2),
        vote(5, 2),
    ],
    "two-chain: a timeout that shows how the view was entered": [
        certificate(1),
        timeouts(2, 1, 1, 0),
        left(3, 1, timeouts(2, 1, 1, 0)),
    ],
    "a view that is given up after its vote": [certificate(1), vote(2, 1), left(2, 1)],
    "three blocks of consecutive views": [commit(1, 2, 3)],
    "two-chain: two of them": [commit(1, 2)],
}

REFUSED = {
    "a second vote in a view": ([certificate(1), vote(2, 1), vote(2, 1)], "it had voted in view 2"),
    "a vote below an earlier one": ([certificate(1), vote(4, 1), vote(3, 1)], "it had voted in view 4"),
    "a vote in a view that was left": ([certificate(1), left(2, 1), vote(2, 1)], "it had given up view 2"),
    "two-chain: a vote after its timeout": ([certificate(1), left(2, 1), vote(2, 1)], "it had given up view 2"),
    "a vote of another": ([certificate(1), vote(2, 1, signer=3)], "it is by 3"),
    "a vote on a parent without certificate": ([vote(3, 2)], "the parent, of view 2, had no certificate"),
    "a vote below the lock": ([certificate(3), Lock(2, BLOCK), vote(4, 1)], "the lock was at view 2"),
    "two-chain: a vote past a view without its timeouts": (
        [commit(1, 2), timeouts(3, 2, 2, 2), vote(5, 2)],
        "no timeout certificate of view 4 was there",
    ),
    "two-chain: a vote below what timeouts show": (
        [commit(1, 2), certificate(4), timeouts(5, 4, 2, 2), vote(6, 2)],
        "and a timeout shows view 4",
    ),
    "two-chain: a timeout that does not": (
        [certificate(1), timeouts(2, 1, 1, 0), left(3, 1)],
        "it shows no timeout certificate of view 2, and had one",
    ),
    "a view given up twice": ([certificate(1), left(2, 1), left(2, 1)], "it had given up view 2"),
    "a view given up with an old certificate": (
        [certificate(1), certificate(2), left(3, 1)],
        "its highest was of view 2",
    ),
    "a certificate that is no higher": ([certificate(2), certificate(2)], "its highest certificate was of view 2"),
    "timeouts of an earlier view": ([timeouts(3, 0, 0, 0), timeouts(2, 0, 0, 0)], "it had a later one"),
    "a lock that moves back": (
        [certificate(3), Lock(2, BLOCK), Lock(1, BLOCK)],
        "the lock was at view 2, and moves back",
    ),
    "a lock of the certified block itself": ([certificate(2), Lock(2, BLOCK)], "its highest certificate was of view 2"),
    "a vote on a certified block whose parent is not locked": (
        [commit(1, 2, 3), Lock(2, BLOCK), vote(5, 3), certificate(5), vote(6, 5)],
        "the certificate of view 5 locks view 3, and the lock was at view 2",
    ),
    "a vote without the lock of a proof": (
        [commit(1, 2, 3), vote(5, 3)],
        "a proof of finality locks view 2, and the lock was at view 0",
    ),
    "a block final below a final one": ([commit(2, 3, 4), commit(1, 2, 3)], "view 2 was final"),
    "a gap between views": ([commit(1, 2, 4)], "which do not follow each other"),
    "blocks that are no chain": ([commit(1, 2, 3, gap=b"?" * 32)], "its blocks are no chain"),
    "two blocks where there are locks": ([certificate(2), Lock(1, BLOCK), commit(2, 3)], "three-chain takes 3"),
    "a certificate of another block": (
        [Commit(commit(1, 2, 3).headers, certificate(3))],
        "its certificate is of 070707070707 and not of the last block",
    ),
}


@pytest.mark.parametrize("name", ALLOWED)
def test_an_entry_is_allowed(name):
    assert fault_of(*ALLOWED[name]) == ""


@pytest.mark.parametrize("name", REFUSED)
def test_an_entry_is_refused_with_its_reason(name):
    journal, reason = REFUSED[name]
    assert reason in fault_of(*journal)
