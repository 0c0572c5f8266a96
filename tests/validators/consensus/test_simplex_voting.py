"""Proposals and votes of one engine: what it says, when, and what it then never says.

The engine is validator 0 of 4 unless a test says otherwise; view v is led by v % 4, so that it leads view 4.
"""

import pytest

from tests.support.simplex_bench import (
    GENESIS,
    Bench,
    finalize,
    notarization,
    notarize,
    nullification,
    nullify,
    payload_of,
    proposal_of,
)
from validators.consensus.interface import Append, BlockRef, Build, Judge, Question, Relay, Send
from validators.consensus.simplex import (
    Finalization,
    Finalize,
    Notarization,
    Notarize,
    Nullification,
    Nullify,
    certificate_signers,
)
from validators.consensus.simplex.messages import Proposal
from validators.consensus.simplex.rounds import Round
from validators.events import Entered


class TestProposing:
    """The leader's side of a view."""

    def test_the_leader_of_the_first_view_builds_on_genesis(self):
        """A fresh leader is asked for a payload on view 0."""
        bench = Bench(me=1)
        assert bench.of(Build) == [Build(1, BlockRef(0, GENESIS))]

    def test_the_payload_is_relayed_before_the_notarize_is_durable(self):
        """The relay is requested first, then the vote is appended, then it is sent."""
        bench = Bench(me=1)
        bench.propose(1, payload_of("x"))
        kinds = [type(effect) for effect in bench.step]
        assert kinds.index(Relay) < kinds.index(Append) < kinds.index(Send)
        assert bench.said(Notarize)[0].proposal == Proposal(1, 0, payload_of("x"))

    def test_dropped_propose_emits_nullify_immediately(self):
        """An application that builds nothing costs the view at once."""
        bench = Bench(me=1)
        bench.propose(1, None)
        assert bench.said(Nullify)[0].view == 1
        assert bench.reasons() == ["MissingProposal"]

    def test_no_self_verify_when_proposing(self):
        """The leader never asks the application to judge its own proposal."""
        bench = Bench(me=1)
        bench.propose(1, payload_of("x"))
        assert bench.ever_asked() == []

    def test_certifies_own_proposal_when_proposing(self):
        """Own proposals are certified too, once they are notarized."""
        bench = Bench(me=1)
        bench.propose(1, payload_of("x"))
        proposal = Proposal(1, 0, payload_of("x"))
        bench.hear(notarize(2, proposal))
        bench.hear(notarize(3, proposal))
        assert bench.certifying() == [proposal.ref]

    def test_a_proposal_that_comes_after_the_timeout_is_dropped(self):
        """Once nullified, the view gets no proposal of ours."""
        bench = Bench(me=1)
        bench.fire("leader", 1)
        assert bench.propose(1, payload_of("x")) == []

    def test_drop_our_proposal_on_conflict(self):
        """Another proposal under our own key makes ours void."""
        bench = Bench(me=1)
        bench.hear(notarize(1, proposal_of(1, 0, "by the same key elsewhere")))
        assert bench.propose(1, payload_of("x")) == []

    def test_a_payload_for_a_view_that_has_passed_is_dropped(self):
        """A stale answer of the application does not become a proposal."""
        bench = Bench(me=1)
        bench.hear(nullification(1))
        assert bench.propose(1, payload_of("x")) == []

    def test_stale_propose_does_not_block_replacement_dispatch(self):
        """An unanswered request of an earlier view does not keep the next led view from being asked for."""
        bench = Bench(me=1)
        bench.go_to(5)
        assert bench.building() == [(5, 0)]

    def test_a_leader_builds_on_the_highest_certified_view_below_nullified(self):
        """Parent selection skips what is nullified and stops at what is certified."""
        bench = Bench()
        bench.pass_view(proposal_of(1, 0))
        bench.go_to(4)
        assert bench.building() == [(4, 1)]

    def test_a_leader_prefers_a_certified_view_that_is_nullified_too(self):
        """Both certificates of one view can exist; the certified payload is built on."""
        bench = Bench()
        bench.go_to(3)
        bench.pass_view(proposal_of(2, 0))
        bench.hear(nullification(3))
        assert bench.building() == [(4, 2)]


class TestVerifying:
    """A follower's side of a view."""

    def test_the_leaders_notarize_is_judged_and_then_notarized(self):
        """True from the application becomes our notarize, appended and sent."""
        bench = Bench()
        proposal = proposal_of(1, 0)
        bench.hear(notarize(1, proposal))
        assert bench.of(Judge) == [Judge(Question.VERIFY, proposal.ref, BlockRef(0, GENESIS))]
        assert "leader" in bench.cancelled()
        bench.verify(proposal)
        assert bench.appended(Notarize) == bench.said(Notarize)
        assert bench.said(Notarize)[0].proposal == proposal

    def test_a_notarize_of_somebody_else_is_no_proposal(self):
        """Only the leader's vote fills the slot."""
        bench = Bench()
        bench.hear(notarize(2, proposal_of(1, 0)))
        assert bench.asked() == []
        assert "leader" not in bench.cancelled()

    def test_verification_failure_emits_nullify_immediately(self):
        """False from the application is a nullify at once."""
        bench = Bench()
        proposal = proposal_of(1, 0)
        bench.hear(notarize(1, proposal))
        bench.verify(proposal, False)
        assert bench.said(Nullify)
        assert bench.reasons() == ["InvalidProposal"]

    def test_dropped_verify_emits_nullify_immediately(self):
        """No judgement is a nullify at once, for another reason."""
        bench = Bench()
        proposal = proposal_of(1, 0)
        bench.hear(notarize(1, proposal))
        bench.verify(proposal, None)
        assert bench.said(Nullify)
        assert bench.reasons() == ["IgnoredProposal"]

    @pytest.mark.parametrize("proposal", [Proposal(1, 1, GENESIS), Proposal(1, 7, GENESIS)])
    def test_invalid_ancestry_emits_nullify_immediately(self, proposal):
        """A parent that is not before its child needs no application to be refused."""
        bench = Bench()
        bench.hear(notarize(1, proposal))
        assert bench.asked() == []
        assert bench.reasons() == ["InvalidProposal"]

    def test_a_proposal_for_the_next_view_waits_for_that_view(self):
        """Votes for the next view are kept, and judged on entry."""
        bench = Bench()
        proposal = proposal_of(2, 0)
        bench.hear(notarize(2, proposal))
        assert bench.asked() == []
        bench.hear(nullification(1))
        assert bench.asked() == [proposal.ref]
        assert "leader" not in bench.armed()

    def test_a_verdict_after_the_nullify_is_no_notarize(self):
        """A view that was given up is not notarized any more."""
        bench = Bench()
        proposal = proposal_of(1, 0)
        bench.hear(notarize(1, proposal))
        bench.fire("certification", 1)
        bench.verify(proposal)
        assert bench.said(Notarize) == []

    def test_finalization_cancels_inflight_verification(self):
        """A verdict about a view that has been left changes nothing."""
        bench = Bench()
        proposal = proposal_of(1, 0)
        bench.hear(notarize(1, proposal))
        bench.hear(notarization(proposal))
        bench.certify(proposal)
        assert bench.verify(proposal) == []

    def test_proposal_conflicts_certificate(self):
        """A certificate for another payload replaces the slot, and our votes for the view are withheld."""
        bench = Bench()
        mine, theirs = proposal_of(1, 0, "A"), proposal_of(1, 0, "B")
        bench.hear(notarize(1, mine))
        bench.hear(notarization(theirs))
        assert bench.certifying() == [theirs.ref]
        bench.verify(mine)
        assert bench.said(Notarize) == []
        bench.certify(theirs)
        assert bench.said(Finalize) == []
        assert bench.view == 2

    def test_certificate_conflicts_proposal(self):
        """The leader's late vote for another payload than the notarized one marks the slot equivocated."""
        kept = Round(1, 1)
        kept.hold_notarization(notarization(proposal_of(1, 0, "A")))
        assert not kept.see_proposal(proposal_of(1, 0, "B"))
        assert kept.is_equivocated
        assert kept.proposal == proposal_of(1, 0, "A")

    def test_certificate_verifies_proposal(self):
        """A notarized proposal needs no judgement before certification."""
        bench = Bench()
        proposal = proposal_of(1, 0)
        bench.hear(notarization(proposal))
        assert bench.asked() == []
        assert bench.certifying() == [proposal.ref]
        assert "leader" in bench.cancelled()

    def test_a_second_proposal_of_the_leader_suppresses_our_notarize(self):
        """Equivocation seen while the application is judging withholds the vote."""
        bench = Bench()
        proposal = proposal_of(1, 0, "A")
        bench.hear(notarize(1, proposal))
        bench.hear(notarize(1, proposal_of(1, 0, "B")))
        assert bench.activities() == [("ConflictingNotarize", 1)]
        bench.verify(proposal)
        assert bench.said(Notarize) == []

    def test_a_stale_verification_failure_does_not_nullify_a_replacement(self):
        """A verdict about a payload that is not in the slot any more says nothing about the one that is."""
        bench = Bench()
        first, second = proposal_of(1, 0, "A"), proposal_of(1, 0, "B")
        bench.hear(notarize(1, first))
        bench.hear(notarization(second))
        assert bench.verify(first, False) == []
        assert bench.reasons() == []


class TestCounting:
    """Votes become certificates, and contradictions evidence."""

    def test_a_quorum_of_notarizes_is_assembled_even_where_never_verified(self):
        """Three of four notarizes make a notarization that is appended, sent and certified."""
        bench = Bench()
        proposal = proposal_of(1, 0)
        for signer in (1, 2, 3):
            bench.hear(notarize(signer, proposal))
        assert certificate_signers(bench.said(Notarization)[0]) == [1, 2, 3]
        assert bench.appended(Notarization) == bench.said(Notarization)
        assert bench.certifying() == [proposal.ref]

    def test_notarizes_for_different_payloads_do_not_add_up(self):
        """A quorum is for one proposal."""
        bench = Bench()
        bench.hear(notarize(1, proposal_of(1, 0, "A")))
        bench.hear(notarize(2, proposal_of(1, 0, "A")))
        bench.hear(notarize(3, proposal_of(1, 0, "B")))
        assert bench.ever_said(Notarization) == []

    def test_a_quorum_of_nullifies_enters_the_next_view(self):
        """Own and others' nullifies make the nullification; the view is left with its timers."""
        bench = Bench()
        bench.fire("leader", 1)
        bench.hear(nullify(2, 1))
        bench.hear(nullify(3, 1))
        assert bench.said(Nullification)[0].view == 1
        assert bench.of(Entered) == [Entered(2, 2)]
        assert "retry" in bench.cancelled()

    def test_a_quorum_of_finalizes_finalizes_without_notarization(self):
        """finalization_without_notarization_certificate: votes alone finalize and move on."""
        bench = Bench()
        proposal = proposal_of(1, 0)
        for signer in (1, 2, 3):
            bench.hear(finalize(signer, proposal))
        assert bench.said(Finalization)[0].proposal == proposal
        assert bench.finalized() == [proposal]
        assert (bench.view, bench.engine.finality.digest) == (2, proposal.payload)

    def test_two_finalizes_of_one_signer_are_evidence_and_count_once(self):
        """A contradicting finalize is reported and adds to no quorum."""
        bench = Bench()
        bench.hear(finalize(1, proposal_of(1, 0, "A")))
        bench.hear(finalize(1, proposal_of(1, 0, "B")))
        bench.hear(finalize(2, proposal_of(1, 0, "B")))
        bench.hear(finalize(3, proposal_of(1, 0, "B")))
        assert bench.activities() == [("ConflictingFinalize", 1)]
        assert bench.ever_said(Finalization) == []

    @pytest.mark.parametrize("is_nullify_first", [True, False])
    def test_nullify_and_finalize_of_one_view_are_evidence(self, is_nullify_first):
        """Whichever comes first, the second one convicts, once."""
        bench = Bench()
        votes = [nullify(2, 1), finalize(2, proposal_of(1, 0))]
        for vote in votes if is_nullify_first else reversed(votes):
            bench.hear(vote)
        assert bench.activities() == [("NullifyFinalize", 2)]

    def test_a_certificate_that_was_received_is_not_broadcast_again(self):
        """no_resolver_boomerang: its assembler sent it to all already."""
        bench = Bench()
        bench.hear(nullification(1))
        assert bench.appended(Nullification)
        assert bench.said(Nullification) == []


class TestExclusions:
    """Votes that a validator never sends after another one."""

    def test_may_notarize_and_then_nullify(self):
        """A notarize does not oblige its sender to wait."""
        bench = Bench()
        proposal = proposal_of(1, 0)
        bench.hear(notarize(1, proposal))
        bench.verify(proposal)
        bench.fire("certification", 1)
        assert bench.said(Nullify)

    def test_certification_after_timeout_sends_no_finalize(self):
        """After our nullify the view is entered through certification, but never finalized by us."""
        bench = Bench()
        proposal = proposal_of(1, 0)
        bench.fire("leader", 1)
        bench.pass_view(proposal)
        assert bench.view == 2
        assert bench.said(Finalize) == []

    def test_who_notarized_another_payload_than_the_quorum_sends_no_finalize(self):
        """Its own notarize and a finalize of the other payload would speak for two blocks of one view."""
        bench = Bench()
        own, other = proposal_of(1, 0, "A"), proposal_of(1, 0, "B")
        bench.hear(notarize(1, own))
        bench.verify(own)
        bench.hear(notarization(other))
        bench.certify(other)

        assert bench.ever_said(Notarize) == [notarize(0, own)]
        assert (bench.view, bench.ever_said(Finalize)) == (2, [])

    def test_construct_nullify_blocked_by_finalize(self):
        """After our finalize the view cannot be nullified by us."""
        kept = Round(1, 1)
        kept.own_finalize = finalize(0, proposal_of(1, 0))
        assert not kept.may_nullify()

    def test_construct_finalize_requires_certified_notarization(self):
        """A notarization that the application has not certified is not finalized."""
        kept = Round(1, 1)
        kept.hold_notarization(notarization(proposal_of(1, 0)))
        assert not kept.may_finalize()

    def test_construct_notarize_happens_once(self):
        """A view in which we have notarized is not notarized again."""
        kept = Round(1, 1)
        kept.fill_own(proposal_of(1, 0))
        assert kept.may_notarize()
        kept.own_notarize = notarize(0, proposal_of(1, 0))
        assert not kept.may_notarize()
