"""The journal: what a restarted engine knows, repeats, and never contradicts.

The engine is validator 0 of 4 unless a test says otherwise; view v is led by v % 4.
"""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.simplex_bench import (
    Bench,
    finalization,
    finalize,
    notarization,
    notarize,
    nullification,
    nullify,
    payload_of,
    proposal_of,
)
from validators.consensus.interface import Build, CorruptRecordError, Finalized, Send
from validators.consensus.simplex import (
    Certification,
    Finalize,
    Notarize,
    Nullification,
    Nullify,
    decode_artifact,
    encode_artifact,
)
from validators.consensus.simplex.messages import Proposal
from validators.events import Entered

ONE_OF_EACH = [
    notarize(0, proposal_of(1, 0)),
    notarization(proposal_of(1, 0)),
    Certification(1, True),
    nullify(0, 2),
    nullification(2),
    finalize(0, proposal_of(1, 0)),
    finalization(proposal_of(1, 0)),
]


class TestRestart:
    """A second life on the first one's journal."""

    def test_a_restart_enters_the_view_after_the_best_certificate(self):
        """Certified, nullified and finalized views are behind us; notarized ones are not."""
        bench = Bench()
        bench.pass_view(proposal_of(1, 0))
        bench.hear(nullification(2))
        bench.hear(notarization(proposal_of(3, 1)))
        assert bench.restarted().all_of(Entered) == [Entered(3, 3)]

    def test_no_recertification_after_replay(self):
        """successful_certification_replayed_after_restart: a certified view is not certified again, nor finalized."""
        bench = Bench()
        bench.pass_view(proposal_of(1, 0))
        again = bench.restarted()
        assert again.view == 2
        assert again.certifying() == []
        assert again.ever_said(Finalize) == []

    def test_cancelled_certification_recertifies_after_restart(self):
        """A certification that never got its answer is asked for again."""
        bench = Bench()
        proposal = proposal_of(1, 0)
        bench.hear(notarization(proposal))
        again = bench.restarted()
        assert again.certifying() == [proposal.ref]
        again.certify(proposal)
        assert again.said(Finalize)

    def test_failed_certification_replayed_after_restart(self):
        """A failure stays a failure: not asked again, descendants refused, the nullify repeated."""
        bench = Bench()
        proposal = proposal_of(1, 0)
        bench.hear(notarization(proposal))
        bench.certify(proposal, False)
        again = bench.restarted()
        assert again.certifying() == []
        assert again.said(Nullify) == bench.ever_said(Nullify)
        again.hear(nullification(1))
        again.hear(notarize(2, proposal_of(2, 1)))
        assert again.asked() == []

    def test_failed_certification_without_its_nullify_is_given_up_on_restart(self):
        """A journal torn between the result and the vote leads to the same vote."""
        bench = Bench()
        proposal = proposal_of(1, 0)
        bench.hear(notarization(proposal))
        bench.certify(proposal, False)
        again = Bench(journal=bench.journal[:-1])
        assert again.said(Nullify) == bench.ever_said(Nullify)

    @pytest.mark.parametrize("kept", [1, 2, 3, 4, 5])
    def test_a_lone_validators_journal_may_end_at_each_entry(self, kept):
        """It alone is a quorum: whatever vote is the last entry, the certificate that it completes follows it."""
        bench = Bench(validators=1)
        bench.propose(1, payload_of("x"))
        bench.certify(Proposal(1, 0, payload_of("x")))
        again = Bench(validators=1, journal=bench.journal[:kept])
        if kept < 3:
            again.certify(Proposal(1, 0, payload_of("x")))
        assert again.view > 1
        assert again.finalized_view == int(kept != 3), "a certified view is not finalized after a restart"

    def test_a_lone_validators_journal_may_end_with_its_nullify(self):
        """A lone validator has no peer to send the vote that completes the certificate."""
        bench = Bench(validators=1)
        bench.fire("certification", 1)
        again = Bench(validators=1, journal=bench.journal[:1])
        assert [type(decode_artifact(record)) for record in again.journal] == [Nullify, Nullification]
        assert again.view == 2
        assert again.building() == [(2, 0)]

    def test_certifies_own_proposal_after_restart(self):
        """The leader's own notarized proposal is certified in the next life."""
        bench = Bench(me=1)
        bench.propose(1, payload_of("x"))
        proposal = Proposal(1, 0, payload_of("x"))
        again = bench.restarted(me=1)
        again.hear(notarize(2, proposal))
        again.hear(notarize(3, proposal))
        assert again.certifying() == [proposal.ref]

    def test_no_self_propose_or_verify_after_restart(self):
        """A leader that had notarized neither proposes nor judges again; it repeats the same vote."""
        bench = Bench(me=1)
        bench.propose(1, payload_of("x"))
        again = bench.restarted(me=1)
        again.hear(notarize(2, Proposal(1, 0, payload_of("x"))))
        assert again.all_of(Build) + again.ever_asked() == []
        assert again.ever_said(Notarize) == bench.ever_said(Notarize)
        assert again.reasons() == []

    def test_nullify_after_crash_in_propose_window(self):
        """A leader that may have relayed a payload before the crash nullifies instead of proposing another."""
        bench = Bench()
        bench.go_to(4)
        assert bench.building() == [(4, 0)]
        again = bench.restarted()
        assert again.all_of(Build) == []
        assert again.reasons() == ["MissingProposal"]
        assert [vote.view for vote in again.said(Nullify)] == [4]

    def test_a_leader_proposes_again_in_later_views_after_a_restart(self):
        """Only the slot that was open at the crash is given up."""
        bench = Bench()
        bench.go_to(4)
        again = bench.restarted()
        again.go_to(8)
        assert again.building() == [(8, 0)]

    def test_a_first_boot_proposes(self):
        """An empty journal is no restart."""
        assert Bench(me=1, journal=[]).building() == [(1, 0)]

    def test_a_follower_does_not_notarize_another_payload_after_restart(self):
        """The journalled notarize fills the slot, so that an equivocating leader gets no second vote."""
        bench = Bench()
        proposal = proposal_of(1, 0, "A")
        bench.hear(notarize(1, proposal))
        bench.verify(proposal)
        again = bench.restarted()
        again.hear(notarize(1, proposal_of(1, 0, "B")))
        again.verify(proposal_of(1, 0, "B"))
        assert again.ever_asked() == []
        assert [vote.proposal for vote in again.ever_said(Notarize)] == [proposal]

    def test_recovered_proposal_clears_leader_timeout_before_certification(self):
        """With the proposal recovered only certification is waited for."""
        bench = Bench()
        proposal = proposal_of(1, 0)
        bench.hear(notarize(1, proposal))
        bench.verify(proposal)
        assert bench.restarted().armed() == ["certification"]

    def test_nullify_and_nullification_replayed_after_restart(self):
        """A nullified view is behind us, its own vote is not repeated, and it is still not finalized by us."""
        bench = Bench()
        bench.fire("leader", 1)
        bench.hear(nullification(1))
        again = bench.restarted()
        assert again.view == 2
        assert again.ever_said(Nullify) == []
        proposal = proposal_of(1, 0)
        again.pass_view(proposal)
        assert again.said(Finalize) == []

    def test_a_replayed_nullify_is_repeated_at_once_and_not_appended(self):
        """After a blackout no other validator holds it: the vote is sent again, with its retry timer."""
        bench = Bench()
        bench.fire("leader", 1)
        again = bench.restarted()
        assert again.said(Nullify) == bench.ever_said(Nullify)
        assert again.appended(Nullify) == []
        assert again.armed() == ["retry"]

    def test_a_replayed_nullify_forbids_the_finalize_of_the_next_life(self):
        """Certified after the restart, the view is entered through but not finalized by us."""
        bench = Bench()
        bench.fire("leader", 1)
        again = bench.restarted()
        again.pass_view(proposal_of(1, 0))
        assert again.said(Finalize) == []
        assert again.view == 2

    def test_a_replayed_finalize_forbids_the_nullify_of_the_next_life(self):
        """Even with nothing but the vote left of the journal, the view is not nullified by us."""
        again = Bench(journal=[encode_artifact(finalize(0, proposal_of(1, 0)))])
        assert again.view == 1
        again.fire("certification", 1)
        assert again.ever_said(Nullify) == []

    def test_own_replayed_votes_count_towards_the_quorum(self):
        """After a blackout three restarted validators are enough, our own recovered vote being one of three."""
        bench = Bench()
        bench.fire("leader", 1)
        again = bench.restarted()
        again.hear(nullify(1, 1))
        again.hear(nullify(2, 1))
        assert again.said(Nullification)

    def test_replay_skips_what_is_at_or_below_the_floor(self):
        """voter_restart_older_floor: the finalized view comes back, older views do not."""
        bench = Bench()
        bench.pass_view(proposal_of(1, 0))
        bench.pass_view(proposal_of(2, 1))
        bench.hear(finalization(proposal_of(2, 1)))
        again = bench.restarted()
        assert (again.view, again.finalized_view) == (3, 2)
        assert again.engine.finality.digest == proposal_of(2, 1).payload
        assert again.all_of(Finalized) == []
        assert again.engine.statistics()["rounds_kept"] == 1

    def test_replay_floor_is_the_highest_finalization_whatever_the_order(self):
        """Finalizations are journalled in the order in which they came, not of their views."""
        records = [encode_artifact(finalization(proposal_of(view, view - 1))) for view in (3, 7, 5)]
        assert Bench(journal=records).finalized_view == 7

    def test_a_restart_never_goes_below_an_own_vote(self):
        """Even with its certificates lost, a view in which we voted is not entered from below."""
        again = Bench(journal=[encode_artifact(nullify(0, 6))])
        assert again.view == 6
        assert [vote.view for vote in again.said(Nullify)] == [6]

    def test_two_restarts_in_a_row_say_the_same(self):
        """A restart that appends nothing leaves the next one as it was."""
        bench = Bench()
        bench.pass_view(proposal_of(1, 0))
        bench.fire("leader", 2)
        first = bench.restarted()
        second = first.restarted()
        assert first.all_of(Send) == second.all_of(Send)
        assert first.journal == second.journal


class TestArtifacts:
    """Journal records."""

    @pytest.mark.parametrize("artifact", ONE_OF_EACH, ids=lambda artifact: type(artifact).__name__)
    def test_an_artifact_comes_back_as_it_was(self, artifact):
        """Encoding and decoding are inverse, with the tag as the first byte."""
        assert decode_artifact(encode_artifact(artifact)) == artifact

    def test_tags_are_those_of_the_specification(self):
        """Notarize, Notarization, Certification, Nullify, Nullification, Finalize, Finalization are 0 to 6."""
        assert [encode_artifact(artifact)[0] for artifact in ONE_OF_EACH] == [0, 1, 2, 3, 4, 5, 6]

    @given(st.binary(max_size=80))
    def test_any_bytes_are_an_artifact_or_a_named_refusal(self, record):
        """Nothing else than CorruptRecordError comes out of garbage."""
        try:
            artifact = decode_artifact(record)
        except CorruptRecordError:
            return
        assert type(artifact) in {type(known) for known in ONE_OF_EACH}

    @pytest.mark.parametrize(
        "record",
        [
            b"",
            b"\x07\x90",
            b"\x03\x90",
            b"\x02" + msgspec.msgpack.encode([1, "yes"]),
            encode_artifact(ONE_OF_EACH[0]) + b"\0",
        ],
    )
    def test_a_damaged_record_is_refused(self, record):
        """Nothing, an unknown tag, too few fields, a wrong type, trailing bytes."""
        with pytest.raises(CorruptRecordError):
            decode_artifact(record)

    def test_a_journal_of_somebody_else_is_refused(self):
        """Votes of another validator cannot be ours."""
        with pytest.raises(CorruptRecordError, match="Nullify of view 1 is by 2, not by 0"):
            Bench(journal=[encode_artifact(nullify(2, 1))])

    def test_a_certification_without_its_notarization_is_refused(self):
        """The journal's order makes that impossible, so that it is damage."""
        with pytest.raises(CorruptRecordError, match="view 1 is certified but was never notarized"):
            Bench(journal=[encode_artifact(ONE_OF_EACH[2])])
