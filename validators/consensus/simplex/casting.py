"""A validator's own votes: made only where the round allows them, and recorded in the round at once.

Invariant: an own vote is set once. A second notarize, or a nullify beside a finalize, cannot be made: the guards of
`Round` are checked first, and the vote is in the round before anybody can see it.
"""

from network.types import NodeId
from validators.consensus.signing import Scheme
from validators.consensus.simplex.messages import Finalize, Notarize, Nullify, encode_proposal, encode_round
from validators.consensus.simplex.rounds import Round
from validators.consensus.simplex.signing import FINALIZE_NAMESPACE, NOTARIZE_NAMESPACE, NULLIFY_NAMESPACE


class Caster:
    """Signs the votes of validator `me`; an observer, None, makes no votes."""

    def __init__(self, me: NodeId | None, scheme: Scheme) -> None:
        self._me = me
        self._scheme = scheme
        self.votes_cast = 0

    def notarize(self, found: Round) -> Notarize | None:
        """Return our new vote for the verified proposal of the view, if it may be cast."""
        if self._me is None or not found.may_notarize():
            return None
        assert found.proposal is not None, "what is verified is known"
        signature = self._scheme.sign(NOTARIZE_NAMESPACE, encode_proposal(found.proposal))
        # Stored in the round before it is returned, because the guards of the next call must see it.
        found.own_notarize = Notarize(self._me, found.proposal, signature)
        self.votes_cast += 1
        return found.own_notarize

    def nullify(self, found: Round) -> Nullify | None:
        """Return our new vote to leave the view, if it may be cast."""
        if self._me is None or not found.may_nullify():
            return None
        signature = self._scheme.sign(NULLIFY_NAMESPACE, encode_round(found.view))
        found.own_nullify = Nullify(self._me, found.view, signature)
        self.votes_cast += 1
        return found.own_nullify

    def finalize(self, found: Round) -> Finalize | None:
        """Return our new vote for the finality of the certified proposal, if it may be cast."""
        if self._me is None or not found.may_finalize():
            return None
        assert found.notarization is not None, "what is certified is notarized"
        proposal = found.notarization.proposal
        signature = self._scheme.sign(FINALIZE_NAMESPACE, encode_proposal(proposal))
        found.own_finalize = Finalize(self._me, proposal, signature)
        self.votes_cast += 1
        return found.own_finalize
