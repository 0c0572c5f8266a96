"""Votes that a crash may have kept from leaving: the next life sends them first."""

import pytest

from checker.checks.observations import DiskFaults
from checker.checks.rules.kept_votes import KeptVotes
from faults.events import Restarted
from network.events import Event, Sent
from network.types import SUPERVISOR
from tests.support.checks import finish, make_run, show
from validators.events import DamageFound, Entered, SnapshotJoined, StoppedVoting, Voted

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


class TestOfHotStuff:
    """Validator 2 has voted in view 5, whose votes go to validator 3, and comes back in a view."""

    VOTED = Event(1, 2, Voted("vote", 5, b"p"))

    def judge(self, view, *events, last=VOTED, **facts):
        check = KeptVotes(make_run(engine="hotstuff", **facts))
        show(check, last, Event(2, SUPERVISOR, Restarted(2)), Event(3, 2, Entered(view, 1)), *events)
        return finish(check)

    @pytest.mark.parametrize("view", [5, 6])
    def test_the_last_vote_goes_first(self, view):
        assert self.judge(view, sent("ViewTimeout", 7), sent("BlockVote", 5)).status == "passed"
        assert self.judge(view, sent("BlockVote", 7)).summary == (
            "validator 2 restarted after its vote in view 5 and sent a BlockVote of view 7 first"
        )

    def test_a_vote_that_only_the_journal_knows_may_go_in_its_place(self):
        """The crash came between its sync and its sending."""
        recorded = [Event(2, 2, Voted("vote", view, b"p")) for view in (5, 6)]
        events = (self.VOTED, Event(2, SUPERVISOR, Restarted(2)), *recorded, Event(3, 2, Entered(6, 1)))

        for view, status in ((5, "passed"), (6, "passed"), (7, "failed")):
            check = KeptVotes(make_run(engine="hotstuff"))
            show(check, *events, sent("BlockVote", view))
            assert finish(check).status == status

    def test_nothing_is_owed_where_the_block_may_be_gone(self):
        destroyed = DiskFaults(destroyed=[2])
        joined = Event(3, 2, SnapshotJoined(9, b"", b""))

        assert self.judge(7, sent("BlockVote", 7)).compared == 0
        assert self.judge(6, sent("BlockVote", 7), disk_faults=destroyed).compared == 0
        assert self.judge(6, joined, sent("BlockVote", 7)).compared == 0

    def test_a_vote_to_itself_does_not_leave(self):
        own = Event(1, 2, Voted("vote", 3, b"p"))

        assert self.judge(4, sent("BlockVote", 4), last=own).compared == 0

    def test_a_vote_to_itself_that_only_the_journal_knows_replaces_the_last(self):
        """Validator 2 leads views 4 and 5: the vote of view 3, which no peer has seen, is counted at the start."""
        last, recorded = (Event(at, 2, Voted("vote", view, b"p")) for at, view in ((1, 2), (4, 3)))

        assert self.judge(3, sent("BlockVote", 6), last=last).status == "failed"
        assert self.judge(3, recorded, sent("BlockVote", 6), last=last).compared == 0

    def test_a_vote_for_itself_is_counted_first(self):
        """Validator 2 leads views 4 and 5, and has voted in view 3."""
        voted, again = (Event(at, 2, Voted("vote", 3, b"p")) for at in (1, 4))
        later = Event(5, 2, Voted("vote", 6, b"q"))

        assert self.judge(4, again, later, last=voted).status == "passed"
        assert self.judge(4, later, last=voted).summary == (
            "validator 2 restarted after its vote in view 3, which it had to count, and voted in view 6 first"
        )

    def test_a_damaged_disk_need_not_give_the_block_back(self):
        damage = Event(3, 2, DamageFound("blocks", 7, "damaged record"))

        assert self.judge(5, damage, sent("BlockVote", 7)).compared == 0

    def test_a_block_that_is_damaged_before_the_first_view_need_not_come_back(self):
        damage = Event(2, 2, DamageFound("blocks", 7, "input/output error"))
        restarted, entered = Event(2, SUPERVISOR, Restarted(2)), Event(3, 2, Entered(5, 1))
        other = Event(2, 2, DamageFound("votes", 7, "damaged record"))

        for found, compared in ((damage, 0), (other, 1)):
            check = KeptVotes(make_run(engine="hotstuff"))
            show(check, self.VOTED, restarted, found, entered, sent("BlockVote", 7))
            assert finish(check).compared == compared
