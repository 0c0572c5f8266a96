"""Votes that a crash may have kept from leaving: the next life sends them first."""

import pytest

from checker.checks.rules.simplex_restart import KeptVotes
from faults.events import Restarted
from network.events import Event, Sent
from network.types import SUPERVISOR
from tests.support.checks import finish, make_run, show
from validators.events import Entered, StoppedVoting, Voted

NOTARIZED = Event(1, 2, Voted("notarize", 5, b"p"))
BACK = (Event(2, SUPERVISOR, Restarted(2)), Event(3, 2, Entered(5, 1)))


def sent(vote, view):
    return Event(4, 2, Sent(0, 0, vote, 80, b"", view))


def judge(*events):
    check = KeptVotes(make_run())
    show(check, *events)
    return finish(check)


def test_the_kept_vote_goes_first():
    result = judge(NOTARIZED, *BACK, sent("Notarize", 5), sent("Nullify", 5))

    assert (result.status, result.compared) == ("passed", 1)


@pytest.mark.parametrize("other", [("Nullify", 5), ("Notarize", 6)])
def test_another_vote_first_is_named(other):
    result = judge(NOTARIZED, *BACK, sent(*other))

    assert result.status == "failed"
    assert f"sent a {other[0]} of view {other[1]} first" in result.summary


@pytest.mark.parametrize(
    "events",
    [
        (*BACK, sent("Nullify", 5)),
        (NOTARIZED, BACK[0], Event(3, 2, Entered(6, 2)), sent("Nullify", 6)),
        (NOTARIZED, *BACK, Event(3, 2, StoppedVoting("lost")), sent("Nullify", 5)),
        (NOTARIZED, BACK[1], sent("Nullify", 5)),
    ],
    ids=["no vote", "another view", "no journal", "no restart"],
)
def test_nothing_is_owed_otherwise(events):
    assert judge(*events).status != "failed"
