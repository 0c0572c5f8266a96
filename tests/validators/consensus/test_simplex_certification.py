"""Certification, ancestry and finality of one engine: what may be built on, and what a certificate brings about.

The engine is validator 0 of 4 unless a test says otherwise; view v is led by v % 4.
"""

from tests.support.simplex_bench import (
    CONFIG,
    GENESIS,
    Bench,
    finalization,
    finalize,
    notarization,
    notarize,
    nullification,
    payload_of,
    proposal_of,
)
from validators.consensus.interface import Append, AskAgain, BlockRef, FloorAdopted, Judge, Question
from validators.consensus.simplex import Certification, Finalization, Finalize, Notarization, Nullify
from validators.consensus.simplex.messages import Proposal
from validators.consensus.simplex.rounds import Certified
from validators.consensus.simplex.views import (
    PARENT_BEFORE_FINALIZED,
    PARENT_NOT_BEFORE_PROPOSAL,
    Certifying,
    Invalid,
    Missing,
    Ready,
    Views,
)


class TestCertification:
    """From a notarization to the next view."""

    def test_certify_true_enters_the_next_view_and_finalizes(self):
        """The result is appended before the finalize, and both before the next view."""
        bench = Bench()
        proposal = proposal_of(1, 0)
        bench.hear(notarization(proposal))
        bench.certify(proposal)
        assert [type(effect.record) for effect in bench.of(Append)] == [Certification, Finalize]
        assert bench.said(Finalize)[0].proposal == proposal
        assert bench.view == 2

    def test_a_notarization_alone_does_not_leave_the_view(self):
        """Only certification does."""
        bench = Bench()
        bench.hear(notarization(proposal_of(1, 0)))
        assert bench.view == 1

    def test_certify_false_nullifies_the_view(self):
        """A failed certification is appended and gives the view up."""
        bench = Bench()
        proposal = proposal_of(1, 0)
        bench.hear(notarization(proposal))
        bench.certify(proposal, False)
        assert bench.appended(Certification) == [Certification(1, False)]
        assert bench.reasons() == ["FailedCertification"]
        assert bench.said(Finalize) == []

    def test_certification_failure_allows_nullify_after_notarize(self):
        """Our own notarize does not keep us in a view whose payload fails."""
        bench = Bench()
        proposal = proposal_of(1, 0)
        bench.hear(notarize(1, proposal))
        bench.verify(proposal)
        bench.hear(notarize(2, proposal))
        bench.certify(proposal, False)
        assert bench.said(Nullify)[0].view == 1

    def test_a_failure_in_a_view_ahead_nullifies_it_on_entry(self):
        """A view whose payload is known to fail is given up as soon as it is entered."""
        bench = Bench()
        ahead = proposal_of(2, 0)
        bench.hear(notarization(ahead))
        bench.certify(ahead, False)
        assert bench.reasons() == []
        bench.hear(nullification(1))
        assert bench.reasons() == ["FailedCertification"]

    def test_pending_certification_nullifies_on_timeout(self):
        """The certification timer stays armed while the application is thinking."""
        bench = Bench()
        bench.hear(notarization(proposal_of(1, 0)))
        assert "certification" not in bench.cancelled()
        bench.fire("certification", 1)
        assert bench.reasons() == ["CertificationTimeout"]

    def test_late_notarization_after_nullification_still_certifies(self):
        """The view is certified although it was nullified, and no finalize is sent for it."""
        bench = Bench()
        proposal = proposal_of(1, 0)
        bench.hear(nullification(1))
        bench.hear(notarization(proposal))
        assert bench.certifying() == [proposal.ref]
        bench.certify(proposal)
        assert bench.appended(Certification) == [Certification(1, True)]
        assert bench.said(Finalize) == []
        assert bench.view == 2

    def test_nullification_does_not_abort_inflight_certification(self):
        """An answer after the nullification still counts, so that the payload can be built on."""
        bench = Bench()
        proposal = proposal_of(1, 0)
        bench.hear(notarization(proposal))
        bench.hear(nullification(1))
        bench.certify(proposal)
        child = proposal_of(2, 1)
        bench.hear(notarize(2, child))
        assert bench.of(Judge) == [Judge(Question.VERIFY, child.ref, BlockRef(1, proposal.payload))]

    def test_certification_cancelled_on_finalization(self):
        """An answer about a view that is final already is ignored."""
        bench = Bench()
        proposal = proposal_of(1, 0)
        bench.hear(notarization(proposal))
        bench.hear(finalization(proposal))
        assert bench.certify(proposal) == []

    def test_what_lies_below_an_adopted_floor_is_asked_no_more(self):
        """A snapshot's finality is journalled and entered like any other; a new state must not judge what is below."""
        bench = Bench()
        bench.hear(notarization(proposal_of(1, 0)))
        floor = finalization(proposal_of(2, 1))
        bench.take(bench.engine.step(FloorAdopted(floor)))
        assert bench.appended(Finalization) == [floor]
        assert bench.view == 3
        bench.take(bench.engine.step(AskAgain()))
        assert bench.certifying() == []

    def test_a_floor_below_the_finalized_view_is_ignored(self):
        """A snapshot may be older than what has become final while it was under way."""
        bench = Bench()
        bench.hear(finalization(proposal_of(2, 0)))
        assert bench.take(bench.engine.step(FloorAdopted(finalization(proposal_of(1, 0))))) == []

    def test_only_finalization_rescues_validator(self):
        """A finalization makes the payload valid even where certification failed."""
        bench = Bench()
        proposal = proposal_of(1, 0)
        bench.hear(notarization(proposal))
        bench.certify(proposal, False)
        bench.hear(finalization(proposal))
        assert bench.finalized() == [proposal]
        child = proposal_of(2, 1)
        bench.hear(notarize(2, child))
        assert bench.asked() == [child.ref]

    def test_an_answer_about_another_payload_is_ignored(self):
        """Only the notarized proposal can be certified."""
        bench = Bench()
        bench.hear(notarization(proposal_of(1, 0, "A")))
        assert bench.certify(proposal_of(1, 0, "B")) == []

    def test_certification_of_an_older_view_still_finalizes_it(self):
        """A view passed by fast-forward is finalized by us when nothing speaks against it."""
        bench = Bench()
        bench.hear(notarization(proposal_of(1, 0)))
        bench.hear(notarization(proposal_of(2, 1)))
        bench.certify(proposal_of(2, 1))
        assert bench.view == 3
        bench.certify(proposal_of(1, 0))
        assert [vote.proposal.view for vote in bench.said(Finalize)] == [1]

    def test_a_future_notarization_is_certified_and_fast_forwards(self):
        """Certificates from any future view are accepted; certification leads there."""
        bench = Bench()
        ahead = proposal_of(40, 39)
        bench.hear(notarization(ahead))
        assert bench.view == 1
        bench.certify(ahead)
        assert bench.view == 41
        assert bench.said(Finalize)[0].proposal == ahead

    def test_a_future_nullification_fast_forwards(self):
        """A nullification far ahead is entry enough."""
        bench = Bench()
        bench.hear(nullification(40))
        assert bench.view == 41


class TestFinality:
    """Finalizations, in order and out of order."""

    def test_a_finalization_of_a_payload_never_seen_moves_on(self):
        """A finalization needs neither proposal nor notarization here."""
        bench = Bench()
        proposal = proposal_of(40, 39)
        bench.hear(finalization(proposal))
        assert bench.finalized() == [proposal]
        assert (bench.view, bench.finalized_view) == (41, 40)

    def test_a_late_finalization_does_not_move_the_view_back(self):
        """View 1 finalizes while we are in view 3."""
        bench = Bench()
        bench.pass_view(proposal_of(1, 0))
        bench.pass_view(proposal_of(2, 1))
        for signer in (1, 2, 3):
            if bench.finalized_view == 0:
                bench.hear(finalize(signer, proposal_of(1, 0)))
        assert bench.said(Finalization)
        assert (bench.view, bench.finalized_view) == (3, 1)

    def test_an_older_finalization_is_stale(self):
        """The finalized view never moves back."""
        bench = Bench()
        bench.hear(finalization(proposal_of(5, 4)))
        assert bench.refusal(finalization(proposal_of(4, 3))) == "stale"
        assert bench.finalized_view == 5

    def test_views_far_below_the_finalized_one_are_dropped(self):
        """Only view_retention views below the finalized one are kept."""
        bench = Bench()
        bench.go_to(40)
        bench.hear(finalization(proposal_of(60, 59)))
        assert bench.engine.statistics()["rounds_kept"] == 1
        bench.go_to(80)
        bench.hear(finalization(proposal_of(80, 60)))
        assert bench.engine.statistics()["rounds_kept"] == CONFIG.view_retention + 1 + 1

    def test_unfinalized_views_are_never_dropped(self):
        """However many views are nullified, the way back to the finalized one stays known."""
        bench = Bench()
        bench.go_to(100)
        bench.hear(notarize(100 % 4, proposal_of(100, 0)), sender=0)
        assert bench.engine.statistics()["rounds_kept"] >= 99


def views_of(*, certified: tuple[int, ...] = (), nullified: tuple[int, ...] = (), finalized: int = 0) -> Views:
    """Return views in which the given ones have certificates; each certified payload is named after its view."""
    views = Views(validators=4, genesis=GENESIS, view_retention=10)
    if finalized:
        views.finalize(finalization(proposal_of(finalized, 0)))
    for view in certified:
        views.round(view).hold_notarization(notarization(proposal_of(view, 0)))
        views.round(view).certified = Certified.PASSED
    for view in nullified:
        views.round(view).nullification = nullification(view)
    return views


class TestParentSelection:
    """Parents on which a leader may build."""

    def test_parent_payload_is_genesis_when_everything_is_nullified(self):
        """Nothing certified: view 0 it is."""
        assert views_of(nullified=(1, 2)).select_parent(3) == Ready(BlockRef(0, GENESIS))

    def test_parent_payload_is_the_certified_parent_covered_by_nullifications(self):
        """The highest certified view with only nullified views above it."""
        found = views_of(certified=(1, 2), nullified=(3, 4)).select_parent(5)
        assert found == Ready(BlockRef(2, payload_of("payload of view 2")))

    def test_parent_payload_missing_nullification(self):
        """A view that is neither certified nor nullified is a gap."""
        assert views_of(certified=(1,), nullified=(3,)).select_parent(4) == Missing(2)

    def test_parent_payload_stops_at_the_finalized_view(self):
        """Below the finalized view nothing is looked at."""
        found = views_of(finalized=7, nullified=(8,)).select_parent(9)
        assert found == Ready(BlockRef(7, payload_of("payload of view 7")))

    def test_a_failed_certification_is_no_parent(self):
        """A notarized view whose certification failed must be nullified to be passed."""
        views = views_of(certified=(1, 2))
        views.round(2).certified = Certified.FAILED
        assert views.select_parent(3) == Missing(2)
        views.round(2).nullification = nullification(2)
        assert views.select_parent(3) == Ready(BlockRef(1, payload_of("payload of view 1")))


class TestAncestry:
    """Proposals whose parent a follower accepts."""

    def test_parent_must_be_before_the_proposal(self):
        """ParentNotBeforeProposal is structural."""
        assert views_of().check_ancestry(proposal_of(3, 3)) == Invalid(PARENT_NOT_BEFORE_PROPOSAL)

    def test_parent_must_not_be_before_the_finalized_view(self):
        """ParentBeforeFinalized is structural."""
        assert views_of(finalized=2).check_ancestry(proposal_of(3, 1)) == Invalid(PARENT_BEFORE_FINALIZED)

    def test_the_lowest_missing_nullification_is_named(self):
        """resolution_first_missing_view: gaps are repaired from below."""
        assert views_of(nullified=(2,)).check_ancestry(proposal_of(5, 0)) == Missing(1)

    def test_a_certified_view_cannot_be_skipped_without_its_nullification(self):
        """Forced inclusion: what is certified and not nullified must be an ancestor."""
        assert views_of(certified=(1, 2)).check_ancestry(proposal_of(3, 1)) == Missing(2)

    def test_an_unknown_parent_is_missing(self):
        """resolution_absent_certificate: the parent's notarization can be asked for."""
        assert views_of(nullified=(2,)).check_ancestry(proposal_of(3, 1)) == Missing(1)

    def test_an_uncertified_parent_is_waited_for(self):
        """A parent under certification is no gap that a peer could fill."""
        views = views_of()
        views.round(1).hold_notarization(notarization(proposal_of(1, 0)))
        assert views.check_ancestry(proposal_of(2, 1)) == Certifying(1)

    def test_a_child_of_a_failed_parent_is_refused_at_once(self):
        """No certificate but the parent's finality would help, so that waiting would only cost the view its timeout."""
        bench = Bench()
        proposal = proposal_of(1, 0)
        bench.hear(notarization(proposal))
        bench.certify(proposal, False)
        bench.hear(nullification(1))
        bench.hear(notarize(2, proposal_of(2, 1)))
        assert (bench.said(Nullify)[0].view, bench.reasons()[-1]) == (2, "InvalidProposal")

    def test_a_child_waits_for_the_certification_of_its_parent_and_no_longer(self):
        """It is refused as soon as the answer is there."""
        bench = Bench()
        proposal = proposal_of(1, 0)
        bench.hear(notarization(proposal))
        bench.hear(nullification(1))
        bench.hear(notarize(2, proposal_of(2, 1)))
        assert bench.reasons() == []
        bench.certify(proposal, False)
        assert (bench.said(Nullify)[0].view, bench.reasons()) == (2, ["InvalidProposal"])

    def test_failed_certification_blocks_direct_descendant_verify(self):
        """A child of a failed payload is not even judged."""
        bench = Bench()
        proposal = proposal_of(1, 0)
        bench.hear(notarization(proposal))
        bench.certify(proposal, False)
        bench.hear(nullification(1))
        bench.hear(notarize(2, proposal_of(2, 1)))
        assert bench.asked() == []

    def test_a_child_is_judged_as_soon_as_its_parent_is_certified(self):
        """certify wakes what waited for it."""
        bench = Bench()
        parent, child = proposal_of(1, 0), proposal_of(2, 1)
        bench.hear(nullification(1))
        bench.hear(notarization(parent))
        bench.hear(notarize(2, child))
        assert bench.asked() == []
        bench.certify(parent)
        assert bench.asked() == [child.ref]

    def test_a_proposal_before_the_finalized_view_is_invalid_at_once(self):
        """The engine gives such a view up without asking the application."""
        bench = Bench()
        bench.hear(finalization(proposal_of(4, 3)))
        bench.hear(notarize(1, Proposal(5, 3, payload_of("fork"))))
        assert bench.asked() == []
        assert bench.reasons() == ["InvalidProposal"]


def test_entry_certificate_priority():
    """A finalization of the view before is best, then its nullification, then its notarization."""
    views = views_of(certified=(2,))
    views.current = 3
    assert isinstance(views.entry_certificate(), Notarization)
    views.round(2).nullification = nullification(2)
    assert views.entry_certificate() == nullification(2)
    views.finalize(finalization(proposal_of(2, 0)))
    assert views.entry_certificate() == finalization(proposal_of(2, 0))
