"""Certificates: a quorum of equal votes as a signer bitmap and the signatures in signer order.

Invariant: a certificate has one encoding for a given set of votes, and `verify_certificate` accepts no other encoding.
The bitmap has exactly the bytes that n validators need and no bit beyond them. There is one signature for each bit.
"""

from collections.abc import Mapping

from network.types import NodeId
from validators.consensus.quorum import decode_signers, encode_signers, quorum_of
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
)
from validators.consensus.simplex.signing import vote_content


def certificate_signers(certificate: Certificate) -> list[NodeId]:
    """Return the signers' indexes in ascending order."""
    return decode_signers(certificate.signers)


def assemble(votes: Mapping[NodeId, Vote], validators: int) -> Certificate:
    """Return the certificate of verified votes.

    Args:
        votes: At least a quorum of votes by signer, all of one kind and for one view or proposal.
        validators: The number of validators.
    """
    assert len(votes) >= quorum_of(validators), f"{len(votes)} votes, quorum {quorum_of(validators)}"
    # Sorted by signer, not by arrival: a set of votes must have one encoding.
    ordered = [votes[signer] for signer in sorted(votes)]
    bitmap = encode_signers((vote.signer for vote in ordered), validators)
    signatures = tuple(vote.signature for vote in ordered)
    first = ordered[0]
    if isinstance(first, Nullify):
        return Nullification(first.view, bitmap, signatures)
    kind = Notarization if isinstance(first, Notarize) else Finalization
    assert isinstance(first, Notarize | Finalize)
    return kind(first.proposal, bitmap, signatures)


def find_certificate_fault(certificate: Certificate, validators: int) -> str:
    """Return the fault of a certificate's form, "" without one; checks no signature."""
    if len(certificate.signers) != (validators + 7) // 8:
        return "bitmap length"
    # Counted, not listed: each assembler sends the certificate to all, and most copies are not checked further.
    bits = int.from_bytes(certificate.signers, "little")
    # Bits beyond the last validator would give a certificate several encodings.
    if bits.bit_length() > validators:
        return "stray bits"
    if bits.bit_count() < quorum_of(validators):
        return "no quorum"
    if len(certificate.signatures) != bits.bit_count():
        return "signature count"
    return ""


def verify_certificate(scheme: Scheme, certificate: Certificate, validators: int) -> bool:
    """Whether the certificate is well formed and all its signatures are valid."""
    if find_certificate_fault(certificate, validators):
        return False
    namespace, message = vote_content(certificate)
    pairs = zip(certificate_signers(certificate), certificate.signatures, strict=True)
    return all(scheme.verify(signer, namespace, message, signature) for signer, signature in pairs)
