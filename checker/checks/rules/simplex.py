"""The rules of Simplex: the order of entries in a journal, and the meaning of votes and certificates.

Restated from the specification and not from the engine, of which only the types of messages and records come in.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from checker.checks.journals import Said
from checker.checks.observations import short
from checker.checks.planned import PlannedRun
from checker.checks.rules.engine_rules import EngineRules, Proposed, Signed
from validators.consensus.interface import Finality
from validators.consensus.signing import signed_bytes
from validators.consensus.simplex import (
    Artifact,
    CertificateResponse,
    Certification,
    Finalization,
    Finalize,
    Notarization,
    Notarize,
    Nullification,
    Nullify,
    Proposal,
    SimplexConfig,
    artifact_view,
    certificate_signers,
)
from validators.consensus.simplex.kind import SIMPLEX
from validators.consensus.simplex.signing import vote_content
from validators.consensus.simplex.timeouts import TimeoutReason
from validators.events import Voted
from validators.messages import message_codec

_HELD: Final = "it had that already"

_EPOCH: Final = 0
"""The consensus epoch of every block: the validators never change."""

_FINALITY_VIEWS_MAX: Final = 20
"""A block is final in the view after its own; the others are for leaders that are away and views that overlap."""


class _Book(NamedTuple):
    """The certificates and certifications that one validator holds, by view."""

    notarized: dict[int, Proposal]
    nullified: dict[int, None]
    certified: dict[int, bool]


class _OwnVotes(NamedTuple):
    """The views in which one validator has voted, over all lives, by kind of vote."""

    notarize: dict[int, None]
    nullify: dict[int, None]
    finalize: dict[int, None]


class SimplexJournal:
    """One validator's journal: its certificates, its own votes over all lives, and the view that they lead to."""

    def __init__(self, node: int) -> None:
        self._node = node
        self._own = _OwnVotes({}, {}, {})
        self.forget()

    def forget(self) -> None:
        """Note the loss of the journal with all certificates; votes stay cast."""
        self._view = 1
        self._finalized_view = 0
        self._book = _Book({}, {}, {})

    def begin_after(self, floor: Finality) -> None:
        """Begin with a floor alone: the journal comes from a process that was not watched."""
        self._view, self._finalized_view = floor.view + 1, floor.view

    def find_fault(self, artifact: Artifact) -> str:  # noqa: PLR0911 - one line per kind of entry
        """Return the rule that an entry here breaks, or an empty string."""
        match artifact:
            case Notarize(signer=signer, proposal=proposal):
                return self._find_notarize_fault(signer, proposal)
            case Nullify(signer=signer, view=view):
                return self._find_nullify_fault(signer, view)
            case Finalize(signer=signer, proposal=proposal):
                return self._find_finalize_fault(signer, proposal)
            case Notarization(proposal=proposal):
                return self._find_news_fault(proposal.view, is_held=proposal.view in self._book.notarized)
            case Nullification(view=view):
                return self._find_news_fault(view, is_held=view in self._book.nullified)
            case Finalization(proposal=proposal):
                return self._find_news_fault(proposal.view, is_held=False)
            case Certification(view=view):
                return self._find_certification_fault(view)

    def take_in(self, artifact: Artifact) -> None:
        """Note an entry, allowed or not."""
        view = artifact_view(artifact)
        match artifact:
            case Notarize():
                self._own.notarize[view] = None
            case Nullify():
                self._own.nullify[view] = None
            case Finalize():
                self._own.finalize[view] = None
            case Notarization(proposal=proposal):
                self._book.notarized.setdefault(view, proposal)
            case Nullification():
                self._book.nullified[view] = None
                self._view = max(self._view, view + 1)
            case Finalization():
                self._finalized_view = max(self._finalized_view, view)
                self._view = max(self._view, view + 1)
            case Certification(ok=ok):
                self._book.certified[view] = ok
                self._view = max(self._view, view + 1) if ok else self._view

    def _find_news_fault(self, view: int, *, is_held: bool) -> str:
        """Return the rule that a new certificate breaks: each is held once, and only of views above finality."""
        passed = f"view {self._finalized_view} was final" if view <= self._finalized_view else ""
        return passed or (_HELD if is_held else "")

    def _find_vote_fault(self, signer: int, view: int) -> str:
        """Return the rule that a vote to notarize or nullify breaks: such a vote is for the current view alone."""
        if signer != self._node:
            return f"it is by {signer}"
        return f"it was in view {self._view}" if view != self._view else ""

    def _find_notarize_fault(self, signer: int, proposal: Proposal) -> str:
        view, book, own = proposal.view, self._book, self._own
        if fault := self._find_vote_fault(signer, view):
            return fault
        if view in own.nullify or view in own.notarize:
            return "it had voted in that view"
        parent = proposal.parent_view
        if parent >= view or parent < self._finalized_view:
            return f"the parent is of view {parent}, and view {self._finalized_view} was final"
        if parent != self._finalized_view and not book.certified.get(parent):
            return f"the parent, of view {parent}, was not certified"
        gap = next((skipped for skipped in range(parent + 1, view) if skipped not in book.nullified), None)
        return "" if gap is None else f"view {gap} lies between it and its parent and was not nullified"

    def _find_nullify_fault(self, signer: int, view: int) -> str:
        if fault := self._find_vote_fault(signer, view):
            return fault
        is_said = view in self._own.nullify or view in self._own.finalize
        return "it had voted to nullify or finalize that view" if is_said else ""

    def _find_finalize_fault(self, signer: int, proposal: Proposal) -> str:
        view, book, own = proposal.view, self._book, self._own
        if signer != self._node:
            return f"it is by {signer}"
        if view in own.nullify or view in own.finalize:
            return "it had voted to nullify or finalize that view"
        if book.notarized.get(view) != proposal:
            return f"{short(proposal.payload)} was not notarized"
        if not book.certified.get(view):
            return f"{short(proposal.payload)} was not certified"
        return "that view was nullified" if view in book.nullified else ""

    def _find_certification_fault(self, view: int) -> str:
        if view not in self._book.notarized:
            return "nothing was notarized"
        if view in self._book.certified:
            return _HELD
        return f"view {self._finalized_view} was final" if view <= self._finalized_view else ""


def _said_by(artifact: Artifact) -> Said:
    payload = artifact.proposal.payload if hasattr(artifact, "proposal") else b""
    return Said(artifact.traced_name.lower(), artifact_view(artifact), payload)


def _signatures_of(artifact: Artifact) -> list[Signed]:
    if isinstance(artifact, Certification):
        return []
    signed = signed_bytes(*vote_content(artifact))
    if isinstance(artifact, Notarize | Nullify | Finalize):
        return [Signed(artifact.signer, signed, artifact.signature)]
    pairs = zip(certificate_signers(artifact), artifact.signatures, strict=False)
    return [Signed(signer, signed, signature) for signer, signature in pairs]


def _find_next_view(journal: Sequence[Artifact]) -> int:
    """Return the view after the best certificate, but none below a vote; a notarization alone leads nowhere."""
    finalized = max((artifact_view(each) for each in journal if isinstance(each, Finalization)), default=0)
    views = [finalized + 1]
    for artifact in journal:
        view = artifact_view(artifact)
        if view > finalized and not isinstance(artifact, Notarization):
            is_left = isinstance(artifact, Nullification) or (isinstance(artifact, Certification) and artifact.ok)
            views.append(view + 1 if is_left else view)
    return max(views)


def _leader_of(view: int, validators: int, _plan: PlannedRun) -> int:
    """Return the leader by the rotation."""
    return (_EPOCH + view) % validators


def _finality_gap_max_us(config: SimplexConfig, down: int) -> int:
    """Each of those that are down may lead a view in a row, and none lasts longer than its certification may take."""
    return (down + 1) * config.certification_timeout_us


def _accepts_block(vote: Voted) -> bool:
    return vote.vote == "notarize"


def _proposal_of(artifact: Artifact) -> Proposed | None:
    if not isinstance(artifact, Notarize | Notarization | Finalization):
        return None
    return Proposed(artifact.proposal.view, artifact.proposal.payload, artifact.proposal.parent_view)


def _needed_by(vote: Voted) -> list[Said]:
    # Without it a second life would wait for the view, and could nullify what it has voted to finalize.
    return [Said("certification", vote.view, b"")] if vote.vote == "finalize" else []


def _makes_final(vote: Voted) -> bool:
    return vote.vote == "finalize"


def _read_vote(encoded: bytes) -> Artifact | None:
    vote = message_codec(SIMPLEX).decode(encoded)
    return vote if isinstance(vote, Notarize | Nullify | Finalize) else None


def _describe_vote(encoded: bytes) -> str:
    vote = message_codec(SIMPLEX).decode(encoded)
    kind = vote.traced_name.lower()
    return f"{kind} {short(vote.proposal.payload)}" if isinstance(vote, Notarize | Finalize) else kind


def _find_answer_fault(journal: Sequence[Artifact], message: object) -> str:
    """Return why an answer may not be given: a notarization is handed out once it is certified, and no sooner."""
    if not isinstance(message, CertificateResponse) or not isinstance(message.certificate, Notarization):
        return ""
    view = message.certificate.proposal.view
    return (
        ""
        if Certification(view, ok=True) in journal
        else f"gave a notarization of view {view} that it has not certified"
    )


SIMPLEX_RULES: Final = EngineRules(
    name=SIMPLEX.name,
    finality="finalization",
    is_final_by_votes=True,
    journal=SimplexJournal,
    said_by=_said_by,
    signatures_of=_signatures_of,
    find_next_view=_find_next_view,
    leader_of=_leader_of,
    finality_views_max=_FINALITY_VIEWS_MAX,
    finality_gap_max_us=_finality_gap_max_us,
    accepts_block=_accepts_block,
    proposal_of=_proposal_of,
    needed_by=_needed_by,
    certified_by="notarization",
    makes_final=_makes_final,
    reasons=tuple(reason.value for reason in TimeoutReason),
    find_answer_fault=_find_answer_fault,
    evidence={
        "ConflictingNotarize": ("notarize", "notarize"),
        "ConflictingFinalize": ("finalize", "finalize"),
        "NullifyFinalize": ("finalize", "nullify"),
    },
    read_vote=_read_vote,
    describe_vote=_describe_vote,
)
