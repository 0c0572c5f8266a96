"""The votes of one view: who voted for what, which votes make a quorum, and who contradicted itself.

Only verified votes come here. A signer's first vote of a kind counts. A second vote of the kind for another proposal is
evidence against the signer and is not counted, so no signer can be in two certificates of one kind and view. Evidence
is best effort (docs/simplex.md): votes that come after their certificate are not kept.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from network.types import NodeId
from validators.consensus.simplex.messages import Finalize, Notarize, Nullify, Vote

CONFLICTING_NOTARIZE: Final = "ConflictingNotarize"
CONFLICTING_FINALIZE: Final = "ConflictingFinalize"
NULLIFY_FINALIZE: Final = "NullifyFinalize"


@dataclass(slots=True)
class ViewVotes:
    """The verified votes of one view, own votes included."""

    notarizes: dict[NodeId, Notarize] = field(default_factory=dict)
    nullifies: dict[NodeId, Nullify] = field(default_factory=dict)
    finalizes: dict[NodeId, Finalize] = field(default_factory=dict)
    evidence: dict[tuple[str, NodeId], tuple[Vote, Vote]] = field(default_factory=dict)
    """Two signed votes of a signer that exclude each other, by activity and signer."""

    def __len__(self) -> int:
        """Return the number of votes and pieces of evidence."""
        return len(self.notarizes) + len(self.nullifies) + len(self.finalizes) + len(self.evidence)

    def is_news(self, vote: Vote) -> bool:
        """Whether the vote could still count or be evidence; checked before its signature is verified."""
        if isinstance(vote, Nullify):
            return vote.signer not in self.nullifies
        earlier, activity = self._earlier(vote)
        if earlier is None:
            return True
        # A repeated vote is no news; a conflicting vote is, until its evidence is held.
        return earlier.proposal != vote.proposal and (activity, vote.signer) not in self.evidence

    def add(self, vote: Vote) -> tuple[str, ...]:
        """Count a verified vote and return the activities that it newly proves against its signer."""
        if isinstance(vote, Nullify):
            if vote.signer in self.nullifies:
                return ()
            self.nullifies[vote.signer] = vote
            return self._convict(NULLIFY_FINALIZE, vote, self.finalizes.get(vote.signer))
        earlier, activity = self._earlier(vote)
        if earlier is not None:
            return self._convict(activity, vote, earlier) if earlier.proposal != vote.proposal else ()
        if isinstance(vote, Notarize):
            self.notarizes[vote.signer] = vote
            return ()
        self.finalizes[vote.signer] = vote
        return self._convict(NULLIFY_FINALIZE, vote, self.nullifies.get(vote.signer))

    def like(self, vote: Vote, least: int = 0) -> Mapping[NodeId, Vote]:
        """Return the votes that make a certificate together with `vote`, by signer; none if there are under `least`."""
        if isinstance(vote, Nullify):
            return self.nullifies
        kept: Mapping[NodeId, Notarize | Finalize] = self.notarizes if isinstance(vote, Notarize) else self.finalizes
        # Counted before collected: most votes come before their quorum, and each would collect all votes before it.
        if len(kept) < least:
            return {}
        return {signer: each for signer, each in kept.items() if each.proposal == vote.proposal}

    def _earlier(self, vote: Notarize | Finalize) -> tuple[Notarize | Finalize | None, str]:
        if isinstance(vote, Notarize):
            return self.notarizes.get(vote.signer), CONFLICTING_NOTARIZE
        return self.finalizes.get(vote.signer), CONFLICTING_FINALIZE

    def _convict(self, activity: str, vote: Vote, earlier: Vote | None) -> tuple[str, ...]:
        key = (activity, vote.signer)
        if earlier is None or key in self.evidence:
            return ()
        # Kept once for each signer and activity: a flood of conflicting votes must not grow memory or reports.
        self.evidence[key] = (earlier, vote)
        return (activity,)
