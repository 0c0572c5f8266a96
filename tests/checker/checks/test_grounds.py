"""Grounds for giving a view up: reasons that the trace does not show, and leaders that are waited for in vain."""

import pytest

from checker.checks.planned import PlannedFault, PlannedRun
from checker.checks.rules.simplex_insistence import Insistence
from faults.events import Crashed
from network.events import Delivered, Event, Sent, TimerElapsed
from network.types import SUPERVISOR
from tests.support.checks import finish, make_run, show
from validators.events import Booted, CertificateHeld, Entered, MessageRefused, Reported, Uncertified, Voted

SECOND = 1_000_000
LONG_US = 1_000 * SECOND
PLAN = PlannedRun(
    certification_timeout_us=LONG_US, timeout_retry_us=LONG_US, regossip_us=LONG_US, skip_timeout_us=4 * SECOND
)


def at(seconds, body, node=0):
    return Event(int(seconds * SECOND), node, body)


def judge(*events, view=5, plan=PLAN, **run):
    """Judge validator 0 of four, which enters view 5 of validator 1, or another one, and has a tick each second."""
    check = Insistence(make_run(plan=plan, **run))
    ticks = [at(second, TimerElapsed(("consensus", "activity", second), SECOND)) for second in range(1, 20)]
    timed = sorted([*ticks, *events], key=lambda event: event.at_us)
    show(check, at(0, Booted(0, view, 0, b"")), at(0, Entered(view, view % 4)), *timed)
    return finish(check, now_us=19 * SECOND)


def leave(seconds, reason, view=5):
    return at(seconds, Reported("TimedOut", view % 4, view, reason))


def elapse(seconds, name, view=5):
    return at(seconds, TimerElapsed(("consensus", name, view), SECOND))


def get(seconds, label, view=5, peer=1, checksum=b"one"):
    """Return a peer's message and its coming to validator 0 half a second later."""
    sent = at(seconds - 0.5, Sent(0, view, label, 80, b"one", view), peer)
    return sent, at(seconds, Delivered(peer, view, label, 80, checksum))


def ask(seconds):
    return at(seconds, Sent(1, 900, "SnapshotRequest", 3, b""))


class TestReasons:
    """Each reason has its ground before it."""

    @pytest.mark.parametrize(
        ("reason", "ground"),
        [
            ("LeaderNullify", get(1, "Nullify")),
            ("LeaderTimeout", (elapse(1, "leader"),)),
            ("CertificationTimeout", (elapse(1, "certification"),)),
            ("FailedCertification", (at(1, Uncertified(5, b"a")),)),
            ("InvalidProposal", get(1, "Notarize")),
            ("IgnoredProposal", (*get(1, "Notarize"), ask(2))),
        ],
    )
    def test_a_reason_without_its_ground_fails(self, reason, ground):
        left, onward = leave(2, reason), at(3, Entered(6, 2))

        assert judge(*ground, left, onward).status == "passed"
        result = judge(left, onward)
        assert result.summary.startswith(f"validator 0 gave up view 5 of leader 1 ({reason}): ")

    @pytest.mark.parametrize(
        "events",
        [
            get(1, "Nullify", view=6, peer=2),
            get(1, "Nullify", view=9),
            get(1, "Nullify", peer=2),
            get(1, "Nullify", checksum=b"two"),
            (*get(1, "Nullify"), at(1.5, Crashed(0, 0), SUPERVISOR)),
        ],
        ids=["of the next view", "of its later view", "of another", "damaged", "of an earlier life"],
    )
    def test_another_nullify_is_no_ground(self, events):
        assert "no Nullify of this view had come from its leader" in judge(*events, leave(2, "LeaderNullify")).summary

    def test_a_timer_of_another_view_is_no_ground(self):
        assert "that timer had not run out" in judge(elapse(1, "leader", 4), leave(2, "LeaderTimeout")).summary

    def test_a_refusal_is_the_ground_from_then_on(self):
        """The journal has it for the next life, in which it is the reason as well."""
        refused, crash = at(1, Uncertified(5, b"a")), at(2, Crashed(0, 0), SUPERVISOR)
        result = judge(refused, elapse(2, "certification"), leave(2, "CertificationTimeout"))

        assert "had refused to certify its block" in result.summary
        assert judge(refused, crash, leave(3, "FailedCertification")).status == "passed"

    def test_a_proposal_is_ignored_only_beside_a_snapshot(self):
        """The request may follow in the same instant."""
        ignored = *get(1, "Notarize"), leave(2, "IgnoredProposal")

        assert judge(*ignored, ask(2), at(3, Entered(6, 2))).status == "passed"
        assert "it asked for no snapshot" in judge(*ignored, at(3, Entered(6, 2))).summary

    def test_the_own_nullify_may_be_the_last_that_a_view_took(self):
        """Found by the swarm: the next view is entered in the instant in which a proposal is ignored."""
        ignored = *get(1, "Notarize"), leave(2, "IgnoredProposal"), at(2, Entered(6, 2))

        assert judge(*ignored, ask(2), at(3, Entered(7, 3))).status == "passed"
        assert "it asked for no snapshot" in judge(*ignored, at(3, Entered(7, 3))).summary

    @pytest.mark.parametrize(
        ("view", "before", "deed"),
        [
            (4, (), ""),
            (5, (), "it is not its own"),
            (4, (at(1, Sent(1, 0, "BlockRelay", 80, b"one", 4)),), "its block had left"),
            (4, (at(1, Voted("notarize", 4, b"a")),), "had voted for its block"),
        ],
    )
    def test_only_a_leader_without_a_block_misses_its_proposal(self, view, before, deed):
        result = judge(*before, leave(2, "MissingProposal", view), view=view)

        assert (result.status == "failed") == bool(deed)
        assert deed in result.summary

    def test_a_view_is_given_up_once_in_a_life(self):
        left = *get(1, "Nullify"), leave(2, "LeaderNullify")

        assert "had given it up" in judge(*left, leave(3, "LeaderNullify")).summary

    @pytest.mark.parametrize(("seen_in", "status"), [(3, "failed"), (4, "passed"), (5, "passed")])
    def test_a_byzantine_nullify_counts_from_the_view_before(self, seen_in, status):
        """A vote of a Byzantine validator shows no view, and is of no use more than one view ahead."""
        come = at(1, Delivered(1, 5, "Nullify", 80, b"one"))
        events = come, at(2, Entered(5, 1)), leave(2, "LeaderNullify")

        assert judge(*events, view=seen_in, honest=(0, 2, 3)).status == status


class TestSilence:
    """A leader is skipped if it alone was silent for the skip timeout, which is four ticks."""

    def skip(self, *events, leader=(1,), others=(8,), **run):
        heard = [come for second in leader for come in get(second, "Notarize", view=1)]
        heard += [come for second in others for peer in (2, 3) for come in get(second, "Finalize", 3, peer)]
        return judge(*heard, *events, at(9.5, Entered(9, 1)), leave(9.5, "Inactivity", 9), **run)

    def test_a_leader_that_was_silent_is_skipped(self):
        assert self.skip().status == "passed"

    @pytest.mark.parametrize(("second", "status"), [(4.5, "passed"), (5.5, "failed")])
    def test_a_leader_that_was_heard_since_may_not_be_skipped(self, second, status):
        result = self.skip(leader=(second,))

        assert result.status == status
        assert ("it had been silent for 4 ticks only" in result.summary) == (status == "failed")

    def test_a_quiet_network_skips_nobody(self):
        assert "only 0 others were heard" in self.skip(others=(1,)).summary

    def test_a_leader_whose_block_is_notarized_may_not_be_skipped(self):
        held = at(9, CertificateHeld("notarization", 9, b"a", (1, 2, 3)))

        assert "its block is notarized here" in self.skip(held).summary
        assert self.skip(held, honest=(0, 2, 3)).status == "passed"

    def test_a_request_and_a_refused_message_are_not_heard(self):
        request = get(7, "CertificateRequest", view=2)
        refused = (*get(8, "Notarize", view=2), at(8, MessageRefused("Notarize", "invalid signature")))

        assert self.skip(*request, *refused).status == "passed"

    def test_a_refusal_of_one_of_two_messages_leaves_both_open(self):
        two = (*get(8.5, "Notarize", view=2), *get(8.5, "Notarize", 3, peer=2))

        assert self.skip(*two, at(8.5, MessageRefused("message", "MALFORMED"))).status == "passed"
        assert self.skip(*two).status == "failed"

    def test_a_validator_that_is_paused_is_not_judged_by_it(self):
        plan = PLAN._replace(faults=(PlannedFault("it", 0, 1, (0,), pauses=True),))

        assert self.skip(leader=(8,), plan=plan).status == "passed"

    @pytest.mark.parametrize(
        ("leader", "others", "status"), [(1, 8, "failed"), (4.5, 8, "failed"), (5.5, 8, "passed"), (1, 4.5, "passed")]
    )
    def test_a_leader_that_was_silent_is_not_waited_for(self, leader, others, status):
        heard = [*get(leader, "Notarize", view=1)]
        heard += [come for peer in (2, 3) for come in get(others, "Finalize", 3, peer)]
        waited = at(9.5, Entered(9, 1)), elapse(10, "leader", 9), leave(10, "LeaderTimeout", 9)

        assert judge(*heard, *waited).status == status
