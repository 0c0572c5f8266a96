"""The check `vote-rules`: each entry of a journal is allowed by those before it, over all lives."""

from pathlib import Path

import msgspec
import pytest
from nacl.signing import SigningKey

from checker.checks.vote_rules import VoteRules
from cluster.swarm.generator import draw_scenario
from network.events import Event
from tests.support.checks import make_run, show
from tests.support.cluster_runs import check_named, result_of
from tests.support.cluster_runs import judge as judge_run
from tests.support.keystones import third_of
from validators.consensus.signing import signed_bytes
from validators.consensus.simplex import (
    Certification,
    Finalization,
    Finalize,
    Notarization,
    Notarize,
    Nullification,
    Nullify,
    Proposal,
)
from validators.consensus.simplex.certificates import assemble
from validators.consensus.simplex.kind import SIMPLEX
from validators.consensus.simplex.signing import vote_content
from validators.events import EvidenceReported
from validators.messages import message_codec

SIGNATURE = b"\x02" * 64
QUORUM = (b"\x07", (SIGNATURE,) * 3)


def block(view, parent_view):
    return Proposal(view, parent_view, bytes([view]) * 32)


def notarize(view, parent_view, signer=0):
    return Notarize(signer, block(view, parent_view), SIGNATURE)


def nullify(view):
    return Nullify(0, view, SIGNATURE)


def finalize(view, parent_view):
    return Finalize(0, block(view, parent_view), SIGNATURE)


def notarized(view, parent_view):
    return Notarization(block(view, parent_view), *QUORUM)


def nullified(view):
    return Nullification(view, *QUORUM)


def finalized(view, parent_view):
    return Finalization(block(view, parent_view), *QUORUM)


PASSED_1 = [notarize(1, 0), notarized(1, 0), Certification(1, ok=True)]
"""View 1 is certified, and the next one is entered."""

FINAL_1 = [*PASSED_1, finalize(1, 0), finalized(1, 0)]

SOUND = {
    "views that become final": [*FINAL_1, notarize(2, 1), notarized(2, 1), Certification(2, ok=True), finalize(2, 1)],
    "a notarized view that is nullified": [notarize(1, 0), nullify(1), nullified(1), notarize(2, 0)],
    "a certified block above a skipped view": [*PASSED_1, nullify(2), nullified(2), notarize(3, 1)],
    "a view that is certified after it was nullified": [nullified(1), notarized(1, 0), Certification(1, ok=True)],
    "a jump by a certificate from ahead": [nullified(7), nullify(8)],
    "a finality that is learnt late": [nullified(7), finalized(3, 2), nullify(8)],
}

FAULTS = {
    "a notarize after a nullify": [nullify(1), notarize(1, 0)],
    "a second notarize": [notarize(1, 0), Notarize(0, Proposal(1, 0, b"\x09" * 32), SIGNATURE)],
    "a nullify after a finalize": [*PASSED_1[:2], Certification(1, ok=False), finalize(1, 0), nullify(1)],
    "a second nullify": [nullify(1), nullify(1)],
    "a finalize after a nullify": [nullify(1), *PASSED_1[1:], finalize(1, 0)],
    "a finalize of what was nullified": [nullified(1), *PASSED_1[1:], finalize(1, 0)],
    "a finalize of what was not certified": [*PASSED_1[:2], finalize(1, 0)],
    "a finalize of what was refused": [*PASSED_1[:2], Certification(1, ok=False), finalize(1, 0)],
    "a finalize of what was not notarized": [finalize(1, 0)],
    "a notarize of a view that was left": [nullified(1), notarize(1, 0)],
    "a nullify of a view that was left": [*PASSED_1, nullify(1)],
    "a notarize of a view that was not entered": [notarize(2, 0)],
    "a vote of another validator": [notarize(1, 0, signer=1)],
    "a parent that was not certified": [notarized(1, 0), nullified(2), notarize(3, 1)],
    "a parent below the final block": [*FINAL_1, nullified(2), notarize(3, 0)],
    "a parent that is not below": [notarize(1, 1)],
    "a skipped view that was not nullified": [nullified(2), notarize(3, 0)],
    "a certification of what was not notarized": [Certification(1, ok=True)],
    "a second certification": [*PASSED_1, Certification(1, ok=True)],
    "a certificate that was held": [*PASSED_1, notarized(1, 0)],
    "a certificate that finality has passed": [*FINAL_1, nullified(1)],
}


def judge(journal):
    rules = VoteRules(make_run(view_retention=2))
    rules.audit(0).read(journal)
    return rules.finish()


@pytest.mark.parametrize("name", SOUND)
def test_what_the_entries_before_allow_passes(name):
    assert judge(SOUND[name]).status == "passed"


@pytest.mark.parametrize("name", FAULTS)
def test_what_they_do_not_allow_fails(name):
    assert judge(FAULTS[name]).status == "failed"


def test_a_failure_names_validator_view_and_reason():
    assert judge([nullified(1), notarize(1, 0)]).summary == ("validator 0 wrote a notarize of view 1: it was in view 2")


def test_a_journal_told_again_at_a_start_counts_once():
    rules = VoteRules(make_run(view_retention=2))
    for _ in range(2):
        rules.audit(0).begin_anew()
        rules.audit(0).read(FAULTS["a second nullify"])

    result = rules.finish()
    assert (result.compared, result.summary) == (
        2,
        "validator 0 wrote a nullify of view 1: it had voted to nullify or finalize that view",
    )


def test_a_start_does_not_make_an_earlier_vote_forgotten():
    rules = VoteRules(make_run(view_retention=2))
    audit = rules.audit(0)
    audit.read([nullify(1)])
    audit.begin_anew()
    audit.read([nullify(1)])
    audit.read([notarize(1, 0)])

    assert rules.finish().status == "failed"


def test_validators_are_judged_apart():
    rules = VoteRules(make_run(view_retention=2))
    rules.audit(0).read([nullify(1)])
    rules.audit(1).read([Nullify(1, 1, SIGNATURE)])

    assert rules.finish().status == "passed"


KEYS = [SigningKey(bytes([node]) * 32) for node in range(4)]


def signed(signer, vote):
    """Return a vote with its true signature by `signer`, whomever it names."""
    return type(vote)(vote.signer, vote.view, KEYS[signer].sign(signed_bytes(*vote_content(vote))).signature)


def judge_signed(entry):
    rules = VoteRules(make_run(public_keys=[bytes(key.verify_key) for key in KEYS], view_retention=2))
    rules.audit(0).read([entry])
    return rules.finish()


@pytest.mark.parametrize(("forger", "status"), [(2, "passed"), (3, "failed")])
def test_a_certificate_whose_signature_is_another_validators_fails(forger, status):
    votes = {node: signed(forger if node == 2 else node, Nullify(node, 1, b"")) for node in (0, 1, 2)}

    result = judge_signed(assemble(votes, 4))

    assert result.status == status
    assert status == "passed" or "2 has not signed that" in result.summary


@pytest.mark.parametrize(("forger", "status"), [(0, "passed"), (1, "failed")])
def test_a_vote_whose_signature_is_another_validators_fails(forger, status):
    assert judge_signed(signed(forger, Nullify(0, 1, b""))).status == status


def test_an_entry_that_is_none_fails():
    rules = VoteRules(make_run(view_retention=2))
    rules.audit(0).read([nullify(1)])
    rules.audit(0).refuse("tag 9")

    assert rules.finish().summary == "validator 0 wrote what is neither vote nor certificate: tag 9"


FINALS = [entry for view in range(1, 7) for entry in (notarized(view, view - 1), finalized(view, view - 1))]
"""Six views, each finalized before it is certified; a journal with the floor 6 keeps views 4, 5 and 6."""


class TestPruning:
    """A journal that was pruned is read again from its floor; the check remembers what went."""

    def judge(self, before, floor, after):
        rules = VoteRules(make_run(view_retention=2))
        audit = rules.audit(0)
        audit.read(before)
        audit.begin_anew(floor, carried=len(after))
        audit.read(after)
        audit.end_rereading()
        return rules.finish()

    def test_what_lies_below_the_retention_may_go(self):
        result = self.judge(FINALS, finalized(6, 5), [*FINALS[6:], notarize(7, 6)])

        assert (result.status, result.compared) == ("passed", 13)

    def test_a_floor_one_too_high_is_seen(self):
        result = self.judge(FINALS, finalized(6, 5), FINALS[8:])

        assert result.summary == (
            "validator 0 lost the notarization of view 4 from its journal, whose floor is view 6 (and 1 more)"
        )

    def test_an_entry_above_the_floor_that_went_is_seen(self):
        before = [*FINALS, notarize(7, 6)]

        result = self.judge(before, finalized(6, 5), FINALS[6:])
        assert "lost the notarize of view 7" in result.summary

    def test_a_vote_against_one_that_was_pruned_is_seen(self):
        before = [notarize(1, 0), *FINALS]

        result = self.judge(before, finalized(6, 5), [*FINALS[6:], nullify(1), notarize(1, 0)])
        assert result.status == "failed"
        assert "wrote a nullify of view 1: it was in view 7" in result.summary

    def test_a_second_vote_of_a_pruned_view_counts_in_a_lost_journal_too(self):
        rules = VoteRules(make_run(view_retention=2))
        rules.audit(0).read([notarize(1, 0)])
        rules.audit(0).forget()
        rules.audit(0).read([notarize(1, 0)])

        assert rules.finish().summary == "validator 0 wrote a notarize of view 1: it had voted in that view"

    def test_a_floor_that_was_no_finality_is_seen(self):
        result = self.judge(FINALS[:8], finalized(6, 5), FINALS[6:8])

        assert "has the floor view 6, a finality that it had not" in result.summary

    def test_a_pruning_that_was_not_due_is_seen(self):
        result = self.judge(FINALS[6:], finalized(6, 5), FINALS[6:])

        assert "the floor view 6, and was pruned although its oldest entry is of view" in result.summary

    def test_a_floor_that_moves_back_is_seen(self):
        rules = VoteRules(make_run(view_retention=2))
        audit = rules.audit(0)
        audit.read(FINALS)
        audit.begin_anew(finalized(6, 5))
        audit.begin_anew(finalized(5, 4))

        assert "has the floor view 5, below the one before, view 6" in rules.finish().summary

    @pytest.mark.parametrize(("given_up", "after", "status"), [(5, FINALS, "passed"), (5, FINALS[:9], "failed")])
    def test_a_pruning_may_be_given_up_with_all_entries_back(self, given_up, after, status):
        """Both copies differ, and the disk shows a start the older one alone."""
        rules = VoteRules(make_run(view_retention=1))
        audit = rules.audit(0)
        audit.read(FINALS)
        audit.begin_anew(finalized(5, 4), carried=6)
        audit.read(FINALS[6:])
        audit.begin_anew(finalized(6, 5), carried=4)
        audit.read(FINALS[8:])
        audit.given_up_view = given_up
        audit.begin_anew(finalized(5, 4), carried=6)
        audit.read(after[6:])
        audit.end_rereading()

        assert rules.finish().status == status

    def test_a_pruning_that_a_stale_read_hides_from_the_start_is_given_up(self):
        result = result_of(str(Path(__file__).with_name("given-up-pruning.toml")), seed=456)

        assert check_named(result, "vote-rules").status == "passed"

    @pytest.mark.parametrize("seed", third_of([411042, 411101]))
    def test_a_repair_that_the_disk_refuses_half_way_loses_nothing(self, seed):
        """One copy has a part of its entries again, and the other one all; found by the swarm."""
        result = judge_run(draw_scenario(seed), seed=seed)

        assert check_named(result, "vote-rules").status == "passed"

    def test_a_journal_that_another_process_pruned_is_judged_above_its_floor(self):
        """Entries that led to the floor are gone; those above follow from the floor and from each other."""
        above = [notarize(7, 6), notarized(7, 6), Certification(7, ok=True)]

        sound = self.judge([], finalized(6, 5), [*FINALS[6:], *above])
        assert (sound.status, sound.compared) == ("passed", 9)
        wrong = self.judge([], finalized(6, 5), [*FINALS[6:], *above, nullify(7)])
        assert "wrote a nullify of view 7: it was in view 8" in wrong.summary


class TestEvidence:
    """Evidence convicts its signer by itself, whoever that is."""

    def judge(self, activity, first, second, *, signer=3, view=1):
        rules = VoteRules(make_run(public_keys=[bytes(key.verify_key) for key in KEYS], view_retention=2))
        encode = message_codec(SIMPLEX).encode
        show(rules, Event(0, 0, EvidenceReported(activity, signer, view, "", encode(first), encode(second))))
        return rules.finish()

    def vote(self, kind, mark=1, *, signer=3, signed_by=None, view=1):
        content = (
            kind(signer, view, b"") if kind is Nullify else kind(signer, Proposal(view, 0, bytes([mark]) * 32), b"")
        )
        by = signer if signed_by is None else signed_by
        signature = KEYS[by].sign(signed_bytes(*vote_content(content))).signature
        return msgspec.structs.replace(content, signature=signature)

    def test_two_signed_votes_that_exclude_each_other_convict(self):
        assert self.judge("ConflictingNotarize", self.vote(Notarize), self.vote(Notarize, 2)).status == "passed"
        assert self.judge("NullifyFinalize", self.vote(Nullify), self.vote(Finalize)).status == "passed"

    def test_one_vote_twice_convicts_nobody(self):
        result = self.judge("ConflictingNotarize", self.vote(Notarize), self.vote(Notarize))

        assert result.summary == (
            "validator 0 holds no evidence for ConflictingNotarize of validator 3 in view 1: they are the same vote"
        )

    def test_votes_of_another_kind_or_view_convict_nobody(self):
        assert self.judge("NullifyFinalize", self.vote(Nullify), self.vote(Notarize)).status == "failed"
        later = self.vote(Notarize, 2, view=2)
        assert self.judge("ConflictingNotarize", self.vote(Notarize), later).status == "failed"

    def test_a_vote_that_the_accused_has_not_signed_convicts_nobody(self):
        forged = self.vote(Notarize, 2, signed_by=2)
        assert self.judge("ConflictingNotarize", self.vote(Notarize), forged).status == "failed"
        others = self.vote(Notarize, 2, signer=2)
        assert self.judge("ConflictingNotarize", self.vote(Notarize), others).status == "failed"
