"""The check of a message before the state machine sees it: form first, use second, signatures last.

Nothing expensive is done for a message that cannot change anything: a late vote, a certificate that is already held, a
vote too far ahead. These messages are *stale*, which blames no sender. Any other refusal means that the sender broke a
rule.
"""

from typing import Final

from network.types import NodeId
from validators.consensus.interface import STALE, MessageCheck
from validators.consensus.signing import Scheme
from validators.consensus.simplex.certificates import find_certificate_fault, verify_certificate
from validators.consensus.simplex.election import LeaderActivity
from validators.consensus.simplex.messages import (
    CERTIFICATES,
    PAYLOAD_BYTES,
    VIEW_LIMIT,
    VOTES,
    Certificate,
    CertificateRequest,
    CertificateResponse,
    ConsensusMessage,
    Finalization,
    Notarization,
    Nullification,
    Nullify,
    Proposal,
    Vote,
    view_of,
)
from validators.consensus.simplex.resolver import Helper
from validators.consensus.simplex.signing import verify_vote
from validators.consensus.simplex.views import Views

_USUAL: Final = {
    (reason, verified): MessageCheck(ok=not reason, reason=reason, signatures_verified=verified)
    for reason, verified in (("", 0), ("", 1), (STALE, 0))
}
"""The results of nearly every check, made once."""


class Screen:
    """Checks messages against one validator's data; only the `LeaderActivity` is changed."""

    def __init__(
        self, *, validators: int, scheme: Scheme, views: Views, activity: LeaderActivity, helper: Helper
    ) -> None:
        self._validators = validators
        self._scheme = scheme
        self._views = views
        self._activity = activity
        self._helper = helper

    def check(self, sender: NodeId, message: ConsensusMessage) -> MessageCheck:
        """Return whether a message is sound and of use, and the cost of the check."""
        is_validator = 0 <= sender < self._validators
        if not is_validator and (sender < 0 or not isinstance(message, CertificateRequest)):
            # A replica that is no validator may send requests only.
            return MessageCheck(ok=False, reason="unknown sender", signatures_verified=0)
        # Counted by the scheme, so that a refusal after the third signature costs three and not all.
        before = self._scheme.verified
        reason = self._find_fault(sender, message)
        if is_validator and reason in ("", STALE) and not isinstance(message, CertificateRequest):
            # A leader that only sends requests does no work: waiting for it would cost each of its views a timeout.
            self._activity.hear(sender)
        verified = self._scheme.verified - before
        if verified <= 1 and (known := _USUAL.get((reason, verified))) is not None:
            return known
        return MessageCheck(ok=not reason, reason=reason, signatures_verified=verified)

    def is_wanted(self, message: Vote | Certificate) -> bool:
        """Whether a sound vote or certificate would still change anything here."""
        if isinstance(message, CERTIFICATES):
            return self._is_certificate_wanted(message)
        return self._is_vote_wanted(message)

    def _find_fault(self, sender: NodeId, message: ConsensusMessage) -> str:
        if isinstance(message, CertificateRequest):
            return "" if 1 <= message.view < VIEW_LIMIT else "view out of range"
        if isinstance(message, CertificateResponse):
            message = message.certificate
        if isinstance(message, VOTES):
            return self._find_vote_fault(sender, message)
        return self._find_certificate_fault(message)

    def _find_vote_fault(self, sender: NodeId, vote: Vote) -> str:
        if vote.signer != sender:
            return "signer is not the sender"
        fault = _find_content_fault(vote)
        if fault:
            return fault
        # Before the signature: a late vote changes nothing, and verifying it costs more than everything else here.
        if not self._is_vote_wanted(vote):
            is_cry = isinstance(vote, Nullify) and self._helper.is_due(sender, vote.view, self._views)
            return "" if is_cry else STALE
        return "" if verify_vote(self._scheme, vote) else "invalid signature"

    def _find_certificate_fault(self, certificate: Certificate) -> str:
        fault = _find_content_fault(certificate) or find_certificate_fault(certificate, self._validators)
        if fault:
            return fault
        # Before the signatures: each assembler sends the same certificate, and only the first is needed.
        if not self._is_certificate_wanted(certificate):
            return STALE
        is_valid = verify_certificate(self._scheme, certificate, self._validators)
        return "" if is_valid else "invalid certificate"

    def _is_vote_wanted(self, vote: Vote) -> bool:
        view = view_of(vote)
        if not self._views.finalized_view < view <= self._views.current + 1:
            return False
        known = self._views.get(view)
        return known is None or (not known.is_decided(vote) and known.votes.is_news(vote))

    def _is_certificate_wanted(self, certificate: Certificate) -> bool:
        view = view_of(certificate)
        if view <= self._views.finalized_view:
            return False
        known = self._views.get(view)
        if known is None or isinstance(certificate, Finalization):
            return True
        held = known.notarization if isinstance(certificate, Notarization) else known.nullification
        return held is None


def _find_content_fault(message: Vote | Certificate) -> str:
    """Return the fault of view or payload, even in a message that the codec has admitted."""
    if not 1 <= view_of(message) < VIEW_LIMIT:
        return "view out of range"
    if isinstance(message, (Nullify, Nullification)):
        return ""
    return _find_proposal_fault(message.proposal)


def _find_proposal_fault(proposal: Proposal) -> str:
    if proposal.parent_view < 0:
        return "view out of range"
    return "" if len(proposal.payload) == PAYLOAD_BYTES else "payload length"
