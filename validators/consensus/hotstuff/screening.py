"""The check of a message before the state machine sees it: form first, use second, signatures last."""

from typing import Final

from network.types import NodeId
from validators.consensus.hotstuff.certificates import find_block_certificate_fault, find_timeout_certificate_fault
from validators.consensus.hotstuff.messages import (
    TIMEOUT_NAMESPACE,
    VIEW_LIMIT,
    VOTE_NAMESPACE,
    BlockVote,
    HotStuffMessage,
    ViewTimeout,
    timeout_bytes,
    vote_bytes,
)
from validators.consensus.hotstuff.tally import TimeoutTally, VoteTally
from validators.consensus.interface import STALE, MessageCheck
from validators.consensus.signing import Scheme

VIEWS_AHEAD_MAX: Final = 64
"""Most views ahead for which votes are kept: a leader that gets further forms its certificate from later votes."""


class MessageScreen:
    """Checks messages against what a validator has counted; changes nothing."""

    def __init__(self, *, validators: int, scheme: Scheme, votes: VoteTally, timeouts: TimeoutTally) -> None:
        self._validators = validators
        self._scheme = scheme
        self._votes = votes
        self._timeouts = timeouts

    def check(self, sender: NodeId, message: HotStuffMessage, view: int) -> MessageCheck:
        """Return whether a message is sound and of use in a view, and the cost of the check."""
        before = self._scheme.verified
        if not 0 <= sender < self._validators:
            reason = "unknown sender"
        elif message.signer != sender:
            reason = "signer is not the sender"
        elif not 1 <= message.view < VIEW_LIMIT:
            reason = "view out of range"
        elif isinstance(message, BlockVote):
            reason = self._find_vote_fault(message, view)
        else:
            reason = self._find_timeout_fault(message, view)
        return MessageCheck(ok=not reason, reason=reason, signatures_verified=self._scheme.verified - before)

    def _find_vote_fault(self, vote: BlockVote, view: int) -> str:
        # Before the signature: a late vote changes nothing, and verifying it costs more than everything else here.
        if not view - 1 <= vote.view <= view + VIEWS_AHEAD_MAX or not self._votes.is_news(vote):
            return STALE
        message = vote_bytes(vote.view, vote.digest)
        is_signed = self._scheme.verify(vote.signer, VOTE_NAMESPACE, message, vote.signature)
        return "" if is_signed else "invalid signature"

    def _find_timeout_fault(self, message: ViewTimeout, view: int) -> str:
        if message.high.view >= message.view:
            return "view out of range"
        if message.view < view or not self._timeouts.is_news(message):
            return STALE
        signed = timeout_bytes(message.view, message.high.view)
        if not self._scheme.verify(message.signer, TIMEOUT_NAMESPACE, signed, message.signature):
            return "invalid signature"
        return find_block_certificate_fault(self._scheme, message.high, self._validators) or self._find_entry_fault(
            message
        )

    def _find_entry_fault(self, message: ViewTimeout) -> str:
        entry = message.entry
        if entry is None:
            return ""
        if entry.view != message.view - 1 or entry.high_view > message.high.view:
            return "timeout of another view"
        return find_timeout_certificate_fault(self._scheme, entry, self._validators)
