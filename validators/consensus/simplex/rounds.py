"""A view as one validator knows it: the proposal, own votes, certificates, and the result of certification.

The proposal slot is that of the public implementation: empty, unverified, verified. In addition, it is *equivocated* as
soon as two payloads of the leader in this view are known, by vote or by certificate. An equivocated slot stays
equivocated. It suppresses our notarize and finalize, but neither certification nor the way to the next view.
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
    """One view. Own votes are set once and never replaced: this validator must not contradict them."""

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
        """Note that the leader voted for `proposal`; return True when this filled the empty slot."""
        if self.proposal is None:
            self.proposal = proposal
            self.proposal_state = ProposalState.UNVERIFIED
            return True
        if self.proposal != proposal:
            self.is_equivocated = True
        return False

    def count(self, vote: Vote) -> list[Effect]:
        """Count a verified vote, and report the evidence that it gives against its signer."""
        return [
            ReportActivity(activity, vote.signer, self.view, "", self.votes.evidence[activity, vote.signer])
            for activity in self.votes.add(vote)
        ]

    def fill_own(self, proposal: Proposal) -> None:
        """Put our own proposal, or a proposal that we voted for in an earlier life, into the slot."""
        assert self.proposal in (None, proposal), f"view {self.view} has another proposal already"
        self.proposal = proposal
        self.proposal_state = ProposalState.VERIFIED

    def is_certifying(self, ref: BlockRef) -> bool:
        """Whether the application was asked to certify exactly this block and has not answered."""
        is_asked = self.certified is Certified.PENDING
        return is_asked and self.notarization is not None and self.notarization.proposal.ref == ref

    def hold_notarization(self, notarization: Notarization) -> None:
        """Note that a quorum voted for a proposal, which replaces the content of the slot."""
        assert self.notarization is None, f"view {self.view} is notarized already"
        if self.proposal is not None and self.proposal != notarization.proposal:
            self.is_equivocated = True
        self.notarization = notarization
        # Even if another proposal came first: only the quorum's proposal can be certified and built on.
        self.proposal = notarization.proposal
        self.proposal_state = ProposalState.VERIFIED

    def is_decided(self, vote: Vote) -> bool:
        """Whether the certificate that needs the vote is held already; a finalization may always come."""
        is_notarized = isinstance(vote, Notarize) and self.notarization is not None
        return is_notarized or (isinstance(vote, Nullify) and self.nullification is not None)

    def may_propose(self) -> bool:
        """Whether no vote or proposal, ours or under our name, prevents a proposal."""
        # A proposal in the slot may come from a twin under our key or an earlier life: a second would be equivocation.
        return not self.has_voted and self.proposal is None and self.notarization is None

    def may_notarize(self) -> bool:
        """Whether our notarize would be of use and would contradict none of our votes."""
        is_free = self.own_notarize is None and self.own_nullify is None and not self.is_equivocated
        return is_free and self.notarization is None and self.proposal_state is ProposalState.VERIFIED

    def may_nullify(self) -> bool:
        """Whether we have sent neither nullify nor finalize; a notarize does not prevent it."""
        return self.own_nullify is None and self.own_finalize is None

    def may_finalize(self) -> bool:
        """Whether the view is certified and nothing prevents its finality.

        A nullification rules out a finalization, so our vote would then be useless.
        """
        # Never beside our nullify: the view could then be both nullified and final.
        is_free = self.own_finalize is None and self.own_nullify is None and not self.is_equivocated
        return is_free and self.certified is Certified.PASSED and self.nullification is None
