"""The meaning of a journal: the views, own votes and certification results of an earlier life.

Artifacts at or below the highest finalization of the journal, its floor included, are skipped. The current view becomes
the view after the best certificate, and never a view below an own vote, which stays cast. Own votes count again towards
certificates, because after a power loss of all validators no peer may hold them. Votes of peers were never written
(docs/simplex.md).
"""

from collections.abc import Sequence
from typing import assert_never

from network.types import NodeId
from validators.consensus.interface import CorruptRecordError
from validators.consensus.simplex.artifacts import Artifact, Certification, artifact_view
from validators.consensus.simplex.messages import (
    Finalization,
    Finalize,
    Notarization,
    Notarize,
    Nullification,
    Nullify,
    Vote,
)
from validators.consensus.simplex.rounds import Certified, Round
from validators.consensus.simplex.views import Views


def restore(views: Views, artifacts: Sequence[Artifact], me: NodeId, floor: Finalization | None = None) -> None:
    """Bring fresh `views` to the state of the journal.

    Raises:
        CorruptRecordError: the journal holds a vote of another validator, or contradicts itself.
    """
    finalizations = [artifact for artifact in (floor, *artifacts) if isinstance(artifact, Finalization)]
    if finalizations:
        # First of all, and only the highest finalization: the rest of the journal counts only above it.
        views.finalize(max(finalizations, key=lambda finalization: finalization.proposal.view))
    entered = views.finalized_view + 1
    for artifact in artifacts:
        if artifact_view(artifact) > views.finalized_view:
            _restore_one(views.round(artifact_view(artifact)), artifact, me)
    for kept in views.unfinalized():
        is_left = kept.nullification is not None or kept.certified is Certified.PASSED
        entered = max(entered, kept.view + 1 if is_left else kept.view if kept.has_voted else 0)
    views.current = entered


def own_votes(views: Views) -> list[Vote]:
    """Return the own votes above the finalized view, lowest view first.

    A crash between a vote and the certificate that it completes leaves only the vote in the journal. Where this
    validator alone is a quorum, no peer would ever send a vote that completes it.
    """
    votes = [vote for kept in views.unfinalized() for vote in (kept.own_notarize, kept.own_nullify, kept.own_finalize)]
    return [vote for vote in votes if vote is not None]


def _restore_one(kept: Round, artifact: Artifact, me: NodeId) -> None:
    if isinstance(artifact, Notarize | Nullify | Finalize):
        _restore_vote(kept, artifact, me)
    elif isinstance(artifact, Notarization):
        if kept.notarization is None:
            kept.hold_notarization(artifact)
    elif isinstance(artifact, Nullification):
        kept.nullification = artifact
    elif isinstance(artifact, Certification):
        if kept.notarization is None:
            raise CorruptRecordError(f"view {artifact.view} is certified but was never notarized")
        kept.certified = Certified.PASSED if artifact.ok else Certified.FAILED
    elif not isinstance(artifact, Finalization):  # The highest of all is in the views already.
        assert_never(artifact)


def _restore_vote(kept: Round, vote: Notarize | Nullify | Finalize, me: NodeId) -> None:
    if vote.signer != me:
        raise CorruptRecordError(f"{vote.traced_name} of view {kept.view} is by {vote.signer}, not by {me}")
    # Own votes count again: after a power loss of all validators no peer may hold them.
    kept.votes.add(vote)
    if isinstance(vote, Notarize):
        kept.own_notarize = vote
        if kept.proposal is None:
            kept.fill_own(vote.proposal)
        elif kept.proposal != vote.proposal:
            # Our vote and the quorum's proposal differ: the slot stays suppressed, as in the earlier life.
            kept.is_equivocated = True
    elif isinstance(vote, Nullify):
        kept.own_nullify = vote
    elif isinstance(vote, Finalize):
        kept.own_finalize = vote
    else:
        assert_never(vote)
