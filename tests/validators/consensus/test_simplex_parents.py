"""Simplex' parent choice over arbitrary certificates in any order, against a choice recomputed from all of them."""

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tests.support.properties import examples
from tests.support.simplex_bench import finalization, notarization, nullification, payload_of, proposal_of
from validators.consensus.interface import BlockRef
from validators.consensus.simplex.rounds import Certified
from validators.consensus.simplex.views import Certifying, Invalid, Missing, Ready, Views

VIEWS = 9
VIEW = st.integers(1, VIEWS)
LABEL = st.sampled_from(("", "other"))
GENESIS = payload_of("genesis")


class ParentChoice(RuleBasedStateMachine):
    """Leaders propose once or twice, certificates come in any order; the model keeps every fact and recomputes all."""

    def __init__(self):
        super().__init__()
        self.views = Views(validators=4, genesis=GENESIS, view_retention=2)
        self.notarized = {}
        self.nullified = []
        self.certified = {}
        self.final = BlockRef(0, GENESIS)

    def is_open(self, view):
        return view > self.final.view

    @rule(view=VIEW, parent=st.integers(0, VIEWS), label=LABEL)
    def propose(self, view, parent, label):
        """A proposal that is only heard of, be it the second one of its leader, is nothing to build on."""
        if self.is_open(view):
            self.views.round(view).see_proposal(proposal_of(view, min(parent, view - 1), label))

    @rule(view=VIEW, parent=st.integers(0, VIEWS), label=LABEL)
    def notarize(self, view, parent, label):
        if self.is_open(view) and view not in self.notarized:
            proposal = proposal_of(view, min(parent, view - 1), label)
            self.notarized[view] = proposal
            self.views.round(view).hold_notarization(notarization(proposal))

    @precondition(lambda self: self.notarized)
    @rule(which=st.integers(0, VIEWS), answer=st.sampled_from((Certified.PENDING, Certified.PASSED, Certified.FAILED)))
    def certify(self, which, answer):
        view = list(self.notarized)[which % len(self.notarized)]
        if self.is_open(view) and self.certified.get(view) in {None, Certified.PENDING}:
            self.certified[view] = self.views.round(view).certified = answer

    @rule(view=VIEW)
    def nullify(self, view):
        if self.is_open(view) and view not in self.nullified:
            self.nullified.append(view)
            self.views.round(view).nullification = nullification(view)

    @rule(view=VIEW, label=LABEL)
    def finalize(self, view, label):
        """A final block may be one that was never seen here."""
        if self.is_open(view) and view < VIEWS and view not in self.nullified:
            proposal = self.notarized.get(view, proposal_of(view, view - 1, label))
            self.final = BlockRef(view, proposal.payload)
            self.views.finalize(finalization(proposal))

    def parent_at(self, view):
        """Return the block of a view that may be built on, None where there is none."""
        if view == self.final.view:
            return self.final
        return self.notarized[view].ref if self.certified.get(view) is Certified.PASSED else None

    def is_skipped(self, views):
        return all(view in self.nullified for view in views)

    @invariant()
    def builds_on_the_highest_parent_above_which_all_is_nullified(self):
        for view in range(self.final.view + 1, VIEWS + 2):
            below = range(self.final.view, view)
            sound = [each for each in below if self.parent_at(each) and self.is_skipped(range(each + 1, view))]
            unknown = [each for each in below if not self.parent_at(each) and each not in self.nullified]
            expected = Ready(self.parent_at(max(sound))) if sound else Missing(max(unknown))
            assert self.views.select_parent(view) == expected

    @invariant()
    def takes_a_proposal_on_what_may_be_built_on(self):
        for view in range(1, VIEWS + 2):
            for parent in range(view + 1):
                found = self.views.check_ancestry(proposal_of(view, parent))
                assert found == self.ancestry(view, parent), (view, parent)

    def ancestry(self, view, parent):
        """Return what all facts together say of a proposal."""
        if parent == view:
            return Invalid("ParentNotBeforeProposal")
        if parent < self.final.view:
            return Invalid("ParentBeforeFinalized")
        ref = self.parent_at(parent)
        if ref is None and parent not in self.notarized:
            return Missing(parent)
        if ref is None:
            is_failed = self.certified.get(parent) is Certified.FAILED
            return Invalid("ParentFailedCertification") if is_failed else Certifying(parent)
        gaps = [each for each in range(parent + 1, view) if each not in self.nullified]
        return Missing(gaps[0]) if gaps else Ready(ref)


TestParentChoice = ParentChoice.TestCase
TestParentChoice.settings = examples(60, stateful_step_count=40)
