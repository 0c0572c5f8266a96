"""One view as one validator knows it: the proposal, own votes, certificates, and the result of certification.

The proposal slot is that of the public implementation: empty, unverified, verified; besides, it is
*equivocated* as soon as two payloads of one leader and view are known, by vote or by certificate. An equivocated slot
stays so and suppresses our notarize and finalize, but neither certification nor the way to the next view.
"""

from dataclasses import dataclass, field
from enum import Enum

from network.types import NodeId
from validators.consensus.interface import BlockRef, Effect, ReportActivity
from validators.consensus.simplex.messages import (
    Finalize,
    Notarization,
    Notarize,
    Nullification,
    Nullify,
    Proposal,
    Vote,
)
from validators.consensus.simplex.votes import ViewVotes


class ProposalState(Enum):
    """Progress of the verification of the proposal in the slot."""

    EMPTY = "empty"
    UNVERIFIED = "unverified"
    VERIFYING = "verifying"
    VERIFIED = "verified"


class Certified(Enum):
    """Progress of the certification of the notarized proposal."""

    UNASKED = "unasked"
    PENDING = "pending"
    PASSED = "passed"
    FAILED = "failed"


@dataclass(slots=True)
class Round:
    """One view. Own votes are set once and never replaced: they are what this validator must not contradict."""

    view: int
    leader: NodeId
    votes: ViewVotes = field(default_factory=ViewVotes)
    proposal: Proposal | None = None
    proposal_state: ProposalState = ProposalState.EMPTY
    is_equivocated: bool = False
    requested_parent: int | None = None
    """The parent view of the proposal that the application is building for us."""

    timeout_reason: str = ""
    own_notarize: Notarize | None = None
    own_nullify: Nullify | None = None
    own_finalize: Finalize | None = None
    notarization: Notarization | None = None
    nullification: Nullification | None = None
    certified: Certified = Certified.UNASKED

    @property
    def has_voted(self) -> bool:
        """Whether any own vote of this view exists."""
        return bool(self.own_notarize or self.own_nullify or self.own_finalize)

    def see_proposal(self, proposal: Proposal) -> bool:
        """The leader voted for `proposal`; True when this filled the empty slot."""
        if self.proposal is None:
            self.proposal = proposal
            self.proposal_state = ProposalState.UNVERIFIED
            return True
        if self.proposal != proposal:
            self.is_equivocated = True
        return False

    def count(self, vote: Vote) -> list[Effect]:
        """Count a verified vote, and report what it proves against its signer."""
        return [
            ReportActivity(activity, vote.signer, self.view, "", self.votes.evidence[activity, vote.signer])
            for activity in self.votes.add(vote)
        ]

    def fill_own(self, proposal: Proposal) -> None:
        """Put our own proposal, or one we voted for in an earlier life, into the slot."""
        assert self.proposal in (None, proposal), f"view {self.view} has another proposal already"
        self.proposal = proposal
        self.proposal_state = ProposalState.VERIFIED

    def is_certifying(self, ref: BlockRef) -> bool:
        """Whether the application was asked to certify exactly this block and has not answered."""
        is_asked = self.certified is Certified.PENDING
        return is_asked and self.notarization is not None and self.notarization.proposal.ref == ref

    def hold_notarization(self, notarization: Notarization) -> None:
        """A quorum stands behind a proposal: it replaces whatever the slot had."""
        assert self.notarization is None, f"view {self.view} is notarized already"
        if self.proposal is not None and self.proposal != notarization.proposal:
            self.is_equivocated = True
        self.notarization = notarization
        # Even where we saw another one first: the quorum's is the one that can be certified and built on.
        self.proposal = notarization.proposal
        self.proposal_state = ProposalState.VERIFIED

    def is_decided(self, vote: Vote) -> bool:
        """Whether the certificate that the vote would help to make is held; a finalization may always come."""
        is_notarized = isinstance(vote, Notarize) and self.notarization is not None
        return is_notarized or (isinstance(vote, Nullify) and self.nullification is not None)

    def may_propose(self) -> bool:
        """Whether nothing of ours, and nothing under our name, stands in the way of a proposal."""
        # A proposal in the slot may be one under our key from a twin or an earlier life: a second would be
        # equivocation.
        return not self.has_voted and self.proposal is None and self.notarization is None

    def may_notarize(self) -> bool:
        """Whether our notarize would be of use and contradict none of our votes."""
        is_free = self.own_notarize is None and self.own_nullify is None and not self.is_equivocated
        return is_free and self.notarization is None and self.proposal_state is ProposalState.VERIFIED

    def may_nullify(self) -> bool:
        """Whether we have sent neither nullify nor finalize; a notarize is no hindrance."""
        return self.own_nullify is None and self.own_finalize is None

    def may_finalize(self) -> bool:
        """Whether the view is certified and nothing speaks against its finality.

        A nullification makes a finalization impossible, so that our vote would only be noise.
        """
        # Never beside our nullify: a view could be nullified and final then.
        is_free = self.own_finalize is None and self.own_nullify is None and not self.is_equivocated
        return is_free and self.certified is Certified.PASSED and self.nullification is None
