"""The votes of one validator in Simplex, signed with its key for whatever a behaviour wants; the leaders' proposals.

Who leads a view is restated here: an adversary asks the engine nothing.
"""

from typing import Final

from network.types import NodeId
from validators.consensus.signing import Scheme
from validators.consensus.simplex import Finalize, Notarize, Nullify, Proposal
from validators.consensus.simplex.messages import EPOCH, encode_proposal, encode_round
from validators.consensus.simplex.signing import FINALIZE_NAMESPACE, NOTARIZE_NAMESPACE, NULLIFY_NAMESPACE
from validators.messages import Message

_VIEWS_KEPT: Final = 64


class SimplexVotes:
    """Signs any vote, and remembers the proposals of the latest views that were sent or heard."""

    def __init__(self, node: NodeId, validators: int, scheme: Scheme) -> None:
        self._node = node
        self._validators = validators
        self._scheme = scheme
        self._proposals: dict[int, dict[bytes, Proposal]] = {}

    def observe(self, message: Message | bytes) -> None:
        """Remember the proposal of a message by which a leader proposes."""
        if isinstance(message, Notarize) and message.signer == self._leader_of(message.proposal.view):
            self.note_proposal(message.proposal)

    def is_leader(self, view: int) -> bool:
        """Whether this validator leads a view."""
        return view >= 1 and self._leader_of(view) == self._node

    def _leader_of(self, view: int) -> NodeId:
        return (EPOCH + max(view, 1)) % self._validators

    def notarize(self, proposal: Proposal) -> Notarize:
        """Sign a vote."""
        return Notarize(self._node, proposal, self._scheme.sign(NOTARIZE_NAMESPACE, encode_proposal(proposal)))

    def finalize(self, proposal: Proposal) -> Finalize:
        """Sign a vote."""
        return Finalize(self._node, proposal, self._scheme.sign(FINALIZE_NAMESPACE, encode_proposal(proposal)))

    def nullify(self, view: int) -> Nullify:
        """Sign a vote."""
        return Nullify(self._node, view, self._scheme.sign(NULLIFY_NAMESPACE, encode_round(view)))

    def note_proposal(self, proposal: Proposal) -> None:
        """Remember a leader's proposal."""
        self._proposals.setdefault(proposal.view, {})[proposal.payload] = proposal
        while len(self._proposals) > _VIEWS_KEPT:
            del self._proposals[next(iter(self._proposals))]

    def proposals(self, view: int) -> list[Proposal]:
        """Return the known proposals of a view's leader, by ascending digest."""
        known = self._proposals.get(view, {})
        return [known[payload] for payload in sorted(known)]
