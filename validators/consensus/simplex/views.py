"""The views that one validator keeps: the parent of a proposal, and the ancestry of a peer's proposal.

Invariant: every view above the finalized view that anything is known about is kept, because parent selection and
ancestry may need it. Below the finalized view the last `view_retention` views are kept. The finalized view never moves
back.
"""

from typing import Final, NamedTuple, TypeAlias

from network.types import Digest
from validators.consensus.interface import BlockRef
from validators.consensus.simplex.election import leader_of
from validators.consensus.simplex.messages import Certificate, Finalization, Proposal
from validators.consensus.simplex.rounds import Certified, Round

PARENT_NOT_BEFORE_PROPOSAL: Final = "ParentNotBeforeProposal"
PARENT_BEFORE_FINALIZED: Final = "ParentBeforeFinalized"
PARENT_FAILED_CERTIFICATION: Final = "ParentFailedCertification"


class Ready(NamedTuple):
    """The parent is certified or final, and every view in between is nullified."""

    parent: BlockRef


class Missing(NamedTuple):
    """A certificate of `view` is missing here; a peer may have it."""

    view: int


class Certifying(NamedTuple):
    """The parent of `view` is notarized, and its certification is under way."""

    view: int


class Invalid(NamedTuple):
    """This ancestry cannot become valid, unless a parent that failed certification becomes final nevertheless."""

    reason: str


Ancestry: TypeAlias = Ready | Missing | Certifying | Invalid


class Views:
    """The rounds by view, the current view, and the latest finalization."""

    def __init__(self, *, validators: int, genesis: Digest, view_retention: int) -> None:
        self.validators: Final = validators
        self.view_retention: Final = view_retention
        self._genesis = genesis
        self._rounds: dict[int, Round] = {}
        self.current = 1
        self.finalization: Finalization | None = None

    def __len__(self) -> int:
        return len(self._rounds)

    @property
    def finalized_view(self) -> int:
        """The highest finalized view; 0, which is genesis, is finalized from the start."""
        return self.finalization.proposal.view if self.finalization else 0

    @property
    def finalized_payload(self) -> Digest:
        """The payload of the highest finalized view."""
        return self.finalization.proposal.payload if self.finalization else self._genesis

    def get(self, view: int) -> Round | None:
        """Return a view's round if anything is known about it."""
        return self._rounds.get(view)

    def round(self, view: int) -> Round:
        """Return a view's round; make it if there is none."""
        found = self._rounds.get(view)
        if found is None:
            found = self._rounds[view] = Round(view, leader_of(view, self.validators))
        return found

    def kept(self) -> list[Round]:
        """Return all kept rounds."""
        return list(self._rounds.values())

    def unfinalized(self) -> list[Round]:
        """Return the rounds above the finalized view, lowest first."""
        # Sorted: rounds are made in order of arrival, and the votes and requests that follow from them are traced.
        return [self._rounds[view] for view in sorted(self._rounds) if view > self.finalized_view]

    def finalize(self, finalization: Finalization) -> None:
        """Move the finalized view up and drop views too far below it."""
        # Checked here although the screen refuses older views: replay and floors do not pass the screen.
        assert finalization.proposal.view > self.finalized_view, "the finalized view never moves back"
        self.finalization = finalization
        lowest = self.finalized_view - self.view_retention
        self._rounds = {view: kept for view, kept in self._rounds.items() if view >= lowest}

    def select_parent(self, view: int) -> Ready | Missing:
        """Return the parent of a proposal of `view`: the highest certified view with only nullified views above it.

        A notarized view whose certification is pending counts as missing. It occurs only below a view that was entered
        by a certificate from far ahead, and then peers may hold the nullification that is missing here.
        """
        for candidate in range(view - 1, self.finalized_view, -1):
            parent = self._certified_parent(candidate)
            if parent is not None:
                return Ready(parent)
            # Neither certified nor nullified: building below it could leave out a block that becomes final.
            if not self._is_nullified(candidate):
                return Missing(candidate)
        return Ready(BlockRef(self.finalized_view, self.finalized_payload))

    def check_ancestry(self, proposal: Proposal) -> Ancestry:
        """Return whether the ancestry of a proposal is valid, and if not what is missing, lowest view first."""
        if proposal.parent_view >= proposal.view:
            return Invalid(PARENT_NOT_BEFORE_PROPOSAL)
        # A parent below the finalized view would leave the finalized block out of the chain.
        if proposal.parent_view < self.finalized_view:
            return Invalid(PARENT_BEFORE_FINALIZED)
        parent = self._check_parent(proposal.parent_view)
        if not isinstance(parent, Ready):
            return parent
        # After the parent, so that the parent's certificate is fetched first: without it the rest is useless.
        for skipped in range(proposal.parent_view + 1, proposal.view):
            if not self._is_nullified(skipped):
                return Missing(skipped)
        return parent

    def entry_certificate(self) -> Certificate | None:
        """Return the certificate that lets peers into our current view, the best kind first; none for view 1."""
        before = self.current - 1
        if before >= 1 and before == self.finalized_view:
            return self.finalization
        entered = self._rounds.get(before)
        if entered is None:
            return None
        # A nullification needs no block behind it, so a peer can enter with it alone.
        return entered.nullification or entered.notarization

    def _check_parent(self, view: int) -> Ancestry:
        if view == self.finalized_view:
            return Ready(BlockRef(view, self.finalized_payload))
        parent = self._certified_parent(view)
        if parent is not None:
            return Ready(parent)
        found = self._rounds.get(view)
        if found is None or found.notarization is None:
            return Missing(view)
        is_failed = found.certified is Certified.FAILED
        return Invalid(PARENT_FAILED_CERTIFICATION) if is_failed else Certifying(view)

    def _certified_parent(self, view: int) -> BlockRef | None:
        found = self._rounds.get(view)
        if found is None or found.notarization is None or found.certified is not Certified.PASSED:
            return None
        return found.notarization.proposal.ref

    def _is_nullified(self, view: int) -> bool:
        found = self._rounds.get(view)
        return found is not None and found.nullification is not None
