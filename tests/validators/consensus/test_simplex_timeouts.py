"""Timeouts of one engine: when it gives a view up, why, and how it says so again.

The engine is validator 0 of 4 unless a test says otherwise; view v is led by v % 4.
"""

from tests.support.simplex_bench import Bench, notarize, nullification, nullify, proposal_of
from validators.consensus.interface import Build, Send
from validators.consensus.simplex import CertificateRequest, Certification, Finalize, Notarize, Nullification, Nullify


class TestTimeouts:
    """Giving a view up."""

    def test_a_view_arms_leader_and_certification_timer(self):
        """Entering waits for the leader and for a certified proposal."""
        assert Bench().armed() == ["certification", "leader"]

    def test_the_leader_timer_nullifies_once(self):
        """A second timer of the same view says nothing new, and the first reason stands."""
        bench = Bench()
        bench.fire("leader", 1)
        assert bench.appended(Nullify) == bench.said(Nullify)
        assert "retry" in bench.armed()
        bench.fire("certification", 1)
        assert bench.said(Nullify) == []
        assert bench.reasons() == ["LeaderTimeout"]

    def test_proposal_clears_leader_timeout_before_certification_timeout(self):
        """With the proposal here, the leader timer means nothing and the certification timer all."""
        bench = Bench()
        bench.hear(notarize(1, proposal_of(1, 0)))
        assert bench.fire("leader", 1) == []
        bench.fire("certification", 1)
        assert bench.reasons() == ["CertificationTimeout"]

    def test_a_timer_of_an_earlier_view_is_ignored(self):
        """expire_old_round_is_noop: a timer that could not be cancelled in time does nothing."""
        bench = Bench()
        bench.hear(nullification(1))
        assert bench.fire("certification", 1) == []

    def test_retry_repeats_the_nullify_with_the_entry_certificate(self):
        """nullification_notification_omits_floor_but_retry_broadcasts_entry: only the retry carries the certificate."""
        bench = Bench()
        entry = nullification(1)
        bench.hear(entry)
        bench.fire("leader", 2)
        assert bench.said(Nullification) == []
        bench.fire("retry", 2)
        assert bench.said(Nullify)[0].view == 2
        assert bench.said(Nullification) == [entry]
        assert bench.armed() == ["retry"]
        assert bench.appended(Nullify) == []

    def test_the_first_view_is_retried_without_an_entry_certificate(self):
        """Nothing led into view 1."""
        bench = Bench()
        bench.fire("leader", 1)
        bench.fire("retry", 1)
        assert [type(effect.message) for effect in bench.of(Send) if effect.to is None] == [Nullify]

    def test_leader_nullify_timeout_hint_fast_paths_nullify(self):
        """The leader's own nullify ends the wait at once."""
        bench = Bench()
        bench.hear(nullify(1, 1))
        assert bench.said(Nullify)
        assert bench.reasons() == ["LeaderNullify"]

    def test_a_leader_who_nullified_the_next_view_early_is_not_waited_for(self):
        """The hint counts on entry too."""
        bench = Bench()
        bench.hear(nullify(2, 2))
        bench.hear(nullification(1))
        assert bench.reasons() == ["LeaderNullify"]

    def test_next_view_gets_fresh_timeout_after_prior_view_nullifies(self):
        """Both timers are armed anew for the next view."""
        bench = Bench()
        bench.fire("leader", 1)
        bench.hear(nullification(1))
        assert bench.armed() == ["certification", "leader"]

    def test_first_view_progress_without_timeout(self):
        """A view in which everything works causes no timeout."""
        bench = Bench()
        proposal = proposal_of(1, 0)
        bench.hear(notarize(1, proposal))
        bench.verify(proposal)
        bench.hear(notarize(2, proposal))
        bench.certify(proposal)
        assert bench.said(Finalize)
        assert bench.appended(Certification) == [Certification(1, True)]
        assert bench.engine.statistics()["timeouts"] == 0

    def test_a_silent_leader_is_skipped_while_others_speak(self):
        """Inactivity: with enough others active, a leader not heard within skip_timeout is not waited for."""
        bench = Bench()
        for tick in range(1, 6):
            bench.fire("activity", tick)
        bench.hear(nullify(1, 1))
        bench.hear(nullification(1), sender=3)
        assert bench.view == 2
        assert bench.reasons()[-1] == "Inactivity"
        assert bench.said(Nullify)[-1].view == 2

    def test_a_leader_that_only_asks_is_as_good_as_silent(self):
        """Asking for certificates is no work: neither vote nor certificate came of it."""
        bench = Bench()
        for tick in range(1, 6):
            bench.fire("activity", tick)
        bench.hear(CertificateRequest(1), sender=2)
        bench.hear(nullify(1, 1))
        bench.hear(nullification(1), sender=3)
        assert bench.reasons()[-1] == "Inactivity"

    def test_a_leader_heard_within_skip_timeout_is_waited_for(self):
        """Four quarters of skip_timeout are not yet silence."""
        bench = Bench()
        for tick in range(1, 5):
            bench.fire("activity", tick)
        bench.hear(nullify(1, 1))
        bench.hear(nullification(1), sender=3)
        assert "Inactivity" not in bench.reasons()

    def test_a_quiet_network_skips_nobody(self):
        """Fail-open: when hardly anybody was heard, silence says nothing about the leader."""
        bench = Bench()
        for tick in range(1, 8):
            bench.fire("activity", tick)
        bench.hear(nullification(1), sender=3)
        assert "Inactivity" not in bench.reasons()

    def test_inactivity_ignores_a_buffered_proposal(self):
        """A silent leader's proposal that is here already is worth judging."""
        bench = Bench()
        bench.hear(notarize(2, proposal_of(2, 0)))
        for tick in range(1, 6):
            bench.fire("activity", tick)
        bench.hear(nullify(1, 1))
        bench.hear(nullification(1), sender=3)
        assert bench.asked() == [proposal_of(2, 0).ref]
        assert "Inactivity" not in bench.reasons()

    def test_an_observer_follows_and_never_votes(self):
        """It enters views, certifies and finalizes, proposes nothing where it leads, and says nothing of its own."""
        bench = Bench(is_observer=True)
        proposal = proposal_of(1, 0)
        bench.hear(notarize(1, proposal))
        bench.verify(proposal)
        bench.pass_view(proposal)
        bench.fire("leader", 2)
        assert bench.view == 2
        bench.go_to(4)
        assert bench.engine.leader(bench.view) == 0
        assert bench.all_of(Build) == []
        assert bench.ever_said(Notarize) + bench.ever_said(Finalize) + bench.ever_said(Nullify) == []
