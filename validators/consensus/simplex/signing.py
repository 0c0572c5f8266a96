"""Bytes that Simplex' votes sign: a namespace for each kind, and the round or the proposal (docs/simplex.md)."""

from typing import Final, assert_never

from validators.consensus.signing import Scheme
from validators.consensus.simplex.messages import (
    Certificate,
    Finalization,
    Finalize,
    Notarization,
    Notarize,
    Nullification,
    Nullify,
    Vote,
    encode_proposal,
    encode_round,
)

APPLICATION_NAMESPACE: Final = b"stampede"
NOTARIZE_NAMESPACE: Final = APPLICATION_NAMESPACE + b"_NOTARIZE"
NULLIFY_NAMESPACE: Final = APPLICATION_NAMESPACE + b"_NULLIFY"
FINALIZE_NAMESPACE: Final = APPLICATION_NAMESPACE + b"_FINALIZE"


def vote_content(vote: Vote | Certificate) -> tuple[bytes, bytes]:
    """Return the namespace and the message that a vote, or each vote of a certificate, signs."""
    if isinstance(vote, (Nullify, Nullification)):
        return NULLIFY_NAMESPACE, encode_round(vote.view)
    if isinstance(vote, (Notarize, Notarization)):
        return NOTARIZE_NAMESPACE, encode_proposal(vote.proposal)
    if isinstance(vote, (Finalize, Finalization)):
        return FINALIZE_NAMESPACE, encode_proposal(vote.proposal)
    assert_never(vote)


def verify_vote(scheme: Scheme, vote: Vote) -> bool:
    """Whether a vote's signature is that of the signer it names."""
    namespace, message = vote_content(vote)
    return scheme.verify(vote.signer, namespace, message, vote.signature)
