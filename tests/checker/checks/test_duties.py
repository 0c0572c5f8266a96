"""Duties of consensus: acts that do not follow where they have to."""

import pytest

from checker.checks.planned import PlannedFault, PlannedRun
from checker.checks.rules.simplex_duties import Duties
from faults.events import Crashed
from network.events import Delivered, Event, Sent
from network.types import SUPERVISOR
from tests.support.checks import finish, make_run, show
from validators.events import BlockFinalized, CertificateHeld, Entered, Halted, Reported, Voted

SECOND = 1_000_000
PLAN = PlannedRun(certification_timeout_us=3 * SECOND)


def at(seconds, body, node=0):
    return Event(int(seconds * SECOND), node, body)


def send(seconds, label, view, to, node=0):
    """Return the sending of a message; one message of each kind and view goes to a peer."""
    return at(seconds, Sent(to, view * 10 + len(label), label, 80, b"one", view), node)


def get(seconds, label, view, peer, *, payload=b"", checksum=b"one"):
    """Return a peer's vote and its coming to validator 0 half a second later."""
    vote = at(seconds - 0.5, Voted(label.lower(), view, payload), peer)
    come = at(seconds, Delivered(peer, view * 10 + len(label), label, 80, checksum))
    return vote, send(seconds - 0.5, label, view, 0, peer), come


def judge(*events, view=5, until=20, **run):
    """Judge validator 0 of four, which enters view 5 of validator 1, or another one."""
    check = Duties(make_run(**{"plan": PLAN, **run}))
    show(check, at(0, Entered(view, view % 4)), *events)
    return finish(check, now_us=until * SECOND)


GAVE_UP = at(1, Reported("TimedOut", 1, 5, "LeaderNullify"))


class TestLeaving:
    """A view is not waited for whose leader has given it up."""

    def test_a_view_whose_leader_gave_it_up_is_left(self):
        result = judge(*get(1, "Nullify", 5, 1))

        assert (result.status, result.exit_class) == ("failed", "liveness")
        assert "did not give up view 5 after its leader, due at 1.000 s" in result.summary

    @pytest.mark.parametrize("end", [GAVE_UP, at(1.1, Entered(6, 2)), at(1, Voted("nullify", 5, b""))])
    def test_giving_it_up_and_leaving_it_pass(self, end):
        assert judge(*get(1, "Nullify", 5, 1), end).status == "passed"

    def test_the_reason_may_have_come_before_the_view(self):
        """Then it is given up as it is entered."""
        before = (*get(2, "Nullify", 5, 1), at(4, Entered(5, 1)))

        assert "due at 4.000 s" in judge(*before, at(4.1, Entered(6, 2)), view=4).summary
        assert judge(*before, at(4, Reported("TimedOut", 1, 5, "LeaderNullify")), view=4).status == "passed"

    @pytest.mark.parametrize(
        "events",
        [get(1, "Nullify", 5, 2), get(1, "Nullify", 9, 1), get(1, "Nullify", 5, 1, checksum=b"two")],
        ids=["not the leader", "too far ahead", "damaged"],
    )
    def test_what_is_no_reason_leads_to_nothing(self, events):
        assert judge(*events).status != "failed"

    def test_what_was_late_stays_a_failure_where_nobody_is_judged_any_more(self):
        gone = [at(9, Halted("invariant"), node) for node in range(4)]

        assert judge(*get(1, "Nullify", 5, 1), *gone).status == "failed"

    def test_a_vote_for_its_finality_bars_it(self):
        assert judge(at(0, Voted("finalize", 5, b"a")), *get(1, "Nullify", 5, 1)).status != "failed"


class TestHelp:
    """A nullify of a view that was left shows that its sender lags."""

    def test_a_peer_that_lags_is_helped(self):
        assert "did not help validator 2 out of view 3" in judge(*get(1, "Nullify", 3, 2)).summary
        assert judge(*get(1, "Nullify", 3, 2), send(1.1, "Nullification", 4, 2)).status == "passed"

    @pytest.mark.parametrize(("view", "status"), [(2, "failed"), (3, "failed"), (4, "passed")])
    def test_a_peer_up_to_the_final_view_is_sent_finality(self, view, status):
        final = at(0.5, CertificateHeld("finalization", 3, b"a", (0, 1, 2)))
        cried, further = (final, *get(1, "Nullify", view, 2)), send(1.1, "Nullification", 4, 2)

        assert judge(*cried, further).status == status
        assert judge(*cried, send(1.1, "Finalization", 3, 2), further).status == "passed"

    def test_finality_alone_does_not_help_a_peer_out_of_its_view(self):
        final = at(0.5, CertificateHeld("finalization", 3, b"a", (0, 1, 2)))
        applied = at(0.6, BlockFinalized(2, 3, b"a", b"r"))
        told = [send(0.6, "Finalization", 3, peer) for peer in (1, 2, 3)]
        cried = (final, applied, *told, *get(1, "Nullify", 3, 2), send(1.1, "Finalization", 3, 2))

        assert "with nothing that leads further" in judge(*cried, send(1.2, "Nullification", 4, 2)).summary
        assert judge(*cried, send(1.1, "Nullification", 4, 2)).status == "passed"

    def test_it_is_helped_once_for_each_view(self):
        helped = (*get(1, "Nullify", 3, 2), send(1.1, "Nullification", 4, 2))

        assert judge(*helped, *get(4, "Nullify", 3, 2)).status == "passed"
        assert judge(*helped, at(3, Entered(6, 2)), *get(4, "Nullify", 3, 2)).status == "failed"
        assert judge(*helped, *get(4, "Nullify", 4, 2)).status == "failed"

    def test_a_copy_that_comes_first_counts_as_the_message(self):
        """The peer is helped when the copy comes, and not once more when the message does."""
        vote, sent, come = get(1, "Nullify", 3, 2)
        copy = at(0.8, Delivered(2, come.body.ordinal + (1 << 48), "Nullify", 80, b"one"))

        assert judge(vote, sent, copy, send(0.8, "Nullification", 4, 2), come).status == "passed"

    def test_a_damaged_nullify_may_have_been_answered(self):
        """A cry is answered before its signature is verified, and not once more when the next one comes whole."""
        damaged, again = get(1, "Nullify", 3, 2, checksum=b"two"), get(4, "Nullify", 3, 2)

        assert judge(*damaged, send(1.1, "Nullification", 4, 2), *again).status != "failed"
        assert judge(*damaged, *again).status == "failed"

    def test_a_nullify_read_after_its_view_was_left_is_answered_in_it(self):
        """It came in time to be no reason for help, and had it all the same."""
        early, again = get(1, "Nullify", 5, 2), get(4, "Nullify", 5, 2)
        left = at(1.1, Entered(6, 2))

        assert judge(*early, left, send(1.2, "Nullification", 5, 2), *again).status != "failed"
        assert judge(*early, left, *again).status == "failed"

    def test_a_repeated_nullify_goes_with_what_leads_into_its_view(self):
        nullify = send(1, "Nullify", 5, 3), send(5, "Nullify", 5, 3)

        assert "repeated its nullify of view 5 at 5.000 s" in judge(*nullify).summary
        assert judge(*nullify, send(5, "Nullification", 4, 3)).status == "passed"
        assert judge(*nullify[:1]).status != "failed"


class TestCertificates:
    """A quorum of equal votes, the own one among them, makes a certificate."""

    votes = (*get(1, "Notarize", 5, 1, payload=b"a"), *get(1, "Notarize", 5, 2, payload=b"a"))
    own = at(1, Voted("notarize", 5, b"a"))

    def test_a_quorum_makes_a_certificate(self):
        assert "made no notarization of view 5 of 3 votes" in judge(*self.votes, self.own).summary

    def test_an_own_vote_of_an_earlier_life_counts(self):
        crash = at(2, Crashed(0, 0), SUPERVISOR)
        again = at(3, Entered(5, 1))
        votes = (*get(4, "Notarize", 5, 1, payload=b"a"), *get(4, "Notarize", 5, 2, payload=b"a"))

        assert judge(self.own, crash, again, *votes).status == "failed"
        assert judge(self.own, crash, again, *votes[:3]).status != "failed"

    @pytest.mark.parametrize("held", ["Notarization", "Finalization"])
    def test_a_certificate_that_is_held_passes(self, held):
        events = at(1.1, CertificateHeld(held.lower(), 5, b"a", ())), *(send(1.1, held, 5, to) for to in (1, 2, 3))

        assert judge(*self.votes, self.own, *events).status == "passed"

    @pytest.mark.parametrize("end", [1.2, 20])
    def test_a_certificate_that_was_made_here_goes_to_all(self, end):
        held = (
            at(1.1, CertificateHeld("notarization", 5, b"a", ())),
            *(send(1.1, "Notarization", 5, to) for to in (1, 3)),
        )
        result = judge(*held, at(end, CertificateHeld("nullification", 5, b"", ())), until=end)

        assert "made a notarization of view 5 at 1.100 s and did not send it to validator 2" in result.summary

    @pytest.mark.parametrize("sent", [(1, 2, 3), (1, 3)])
    def test_beside_a_finalization_it_goes_out_once_its_block_is_applied(self, sent):
        """Found by the swarm: the nullification of view 5 came of a vote in the instant of the finality of view 4."""
        come = send(0.5, "Finalization", 4, 0, 1), at(1, Delivered(1, 52, "Finalization", 80, b"one"))
        held = (
            at(1.1, CertificateHeld("finalization", 4, b"a", ())),
            at(1.1, CertificateHeld("nullification", 5, b"", ())),
        )
        applied = at(1.2, BlockFinalized(3, 4, b"a", b""))
        result = judge(*come, *held, applied, *(send(1.2, "Nullification", 5, to) for to in sent))

        assert ("did not send it to validator 2" in result.summary, "did not send" in result.summary) == (
            (2 not in sent,) * 2
        )

    @pytest.mark.parametrize("brings", ["Notarization", "CertificateResponse", "SnapshotOffer"])
    def test_a_certificate_that_came_goes_nowhere(self, brings):
        come = send(0.5, brings, 5, 0, 1), at(1, Delivered(1, 50 + len(brings), brings, 80, b"one"))

        assert judge(*come, at(1.1, CertificateHeld("notarization", 5, b"a", ()))).status != "failed"

    def test_votes_that_differ_make_none(self):
        assert judge(*self.votes, at(1, Voted("notarize", 5, b"b"))).status != "failed"


def test_a_machine_that_is_slow_and_a_flood_excuse_what_is_late():
    """Work on it may take any time."""
    slow = PlannedFault("slow", 0, 90 * SECOND, (0,), slows=True)

    assert judge(*get(1, "Nullify", 5, 1), plan=PLAN._replace(faults=[slow])).status != "failed"
    assert judge(*get(1, "Nullify", 5, 1), honest=(0, 1, 2)).status != "failed"


class TestWays:
    """The way into the own view goes to one peer alone once for each view that it wants to leave."""

    def judge(self, *cries, times):
        cried = [event for index, view in enumerate(cries) for event in get(1 + index, "Nullify", view, 2)]
        helped = [at(6 + index, Sent(2, 100 + index, "Nullification", 80, b"one", 4), 0) for index in range(times)]
        return judge(*cried, *helped)

    @pytest.mark.parametrize(("cries", "times"), [((3,), 1), ((2, 3), 2)])
    def test_a_certificate_for_each_cry_passes(self, cries, times):
        assert "what leads into view" not in self.judge(*cries, times=times).summary

    @pytest.mark.parametrize(("cries", "times"), [((3,), 2), ((3, 3), 2)])
    def test_more_than_that_fails(self, cries, times):
        summary = self.judge(*cries, times=times).summary

        assert "validator 0 sent validator 2 what leads into view 5 2 times, which cried from 1 views" in summary
