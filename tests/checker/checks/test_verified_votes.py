"""The check of votes that come to an idle replica: each that is of use begins a piece of work at once."""

import pytest

from checker.checks.rules.verified_votes import VerifiedVotes
from network.events import Delivered, Event, Sent, TimerElapsed, WorkFinished
from tests.support.checks import finish, make_run, show
from validators.events import CertificateHeld, Entered

SECOND_US = 1_000_000
VERIFY_US = 200


def at(second, body, node=0, more_us=0):
    return Event(second * SECOND_US + more_us, node, body)


def comes(second, label, view, source=1, checksum=b"sum"):
    """Return a message of another validator, on its way to validator 0."""
    sent = Sent(0, second, label, 99, b"sum", view)
    return [at(second, sent, source), at(second, Delivered(source, second, label, 99, checksum))]


def works(second, more_us=VERIFY_US, base_us=VERIFY_US):
    """Return a piece of work that ends so long after a second."""
    return at(second, WorkFinished("cpu", 1, base_us, 0), more_us=more_us)


BEGUN = [at(0, Entered(4, 0))]
LATER = works(5)

CASES = {
    "a vote that is verified": ([*comes(1, "Notarize", 5), works(1)], ""),
    "a vote that is not": (
        [*comes(1, "Notarize", 5), LATER],
        "validator 0 did not verify the Notarize of view 5 of validator 1, which came at 1.000 s",
    ),
    "a vote of the present view": ([*comes(1, "Nullify", 4), LATER], "did not verify the Nullify of view 4"),
    "a vote that came in the midst of work": ([*comes(1, "Notarize", 5), works(1, 100), LATER], "nothing"),
    "a vote of the view after the next": ([*comes(1, "Notarize", 6), LATER], "nothing"),
    "a vote of a view before": ([*comes(1, "Notarize", 3), LATER], "nothing"),
    "a damaged vote": ([*comes(1, "Notarize", 5, checksum=b"sun"), LATER], "nothing"),
    "a second vote": ([*comes(1, "Notarize", 5), works(1), *comes(2, "Notarize", 5, source=2), LATER], ""),
    "a vote that comes again": ([*comes(1, "Notarize", 5), works(1), *comes(2, "Notarize", 5), LATER], ""),
    "a vote that is verified again": (
        [*comes(1, "Notarize", 5), works(1), *comes(2, "Notarize", 5), works(2)],
        "validator 0 verified the Notarize of view 5 of validator 1 again, which came at 2.000 s",
    ),
    "a vote that comes again beside another message": (
        [*comes(1, "Notarize", 5), works(1), *comes(2, "TransactionGossip", 0), *comes(2, "Notarize", 5), works(2)],
        "",
    ),
    "a vote that comes again before a timer": (
        [*comes(1, "Notarize", 5), works(1), *comes(2, "Notarize", 5), at(2, TimerElapsed("pace", 1)), works(2)],
        "",
    ),
    "a nullify that comes again": ([*comes(1, "Nullify", 5), works(1), *comes(2, "Nullify", 5), works(2)], ""),
    "a vote that came too early": ([*comes(1, "Notarize", 6), *comes(2, "Notarize", 6), works(2)], "nothing"),
    "a vote after its certificate": ([*comes(1, "Nullification", 5), *comes(2, "Nullify", 5), LATER], "nothing"),
    "a vote after a certificate of the journal": (
        [at(1, CertificateHeld("notarization", 5, b"", ())), at(1, Entered(5, 0)), *comes(2, "Notarize", 5), LATER],
        "nothing",
    ),
    "a vote after an answer": ([*comes(1, "CertificateResponse", 5), *comes(2, "Nullify", 5), LATER], "nothing"),
    "a vote of a view that is over by the end of a sync": (
        [*comes(1, "Notarize", 5), at(1, CertificateHeld("finalization", 5, b"", ()), more_us=9), LATER],
        "",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_check_tells_right_from_wrong(name):
    events, fault = CASES[name]
    check = VerifiedVotes(make_run())
    show(check, *BEGUN, *events)
    is_asked, result = not check.not_asked(), finish(check)

    assert is_asked == (fault != "nothing")
    if is_asked:
        assert result.status == ("failed" if fault else "passed"), result.summary
        assert fault in result.summary


@pytest.mark.parametrize(("source", "status"), [(2, "failed"), (1, "passed")])
def test_a_leaders_block_has_brought_its_vote_in_hotstuff(source, status):
    check = VerifiedVotes(make_run(engine="hotstuff"))
    others = [*comes(3, "BlockVote", 4, source=3), works(3)]
    show(
        check,
        *BEGUN,
        *others,
        *comes(1, "BlockRelay", 4, source),
        works(1),
        *comes(2, "BlockVote", 4, source=2),
        works(2),
    )

    assert finish(check).status == status


def test_the_leaders_own_vote_comes_with_its_block_in_hotstuff():
    check = VerifiedVotes(make_run(engine="hotstuff"))
    show(check, *BEGUN, *comes(1, "BlockVote", 4, source=2), LATER)

    assert check.not_asked()
