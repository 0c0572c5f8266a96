"""Certificates of HotStuff: made of verified votes, and verified.

Invariant: a certificate has one encoding for a given set of votes. The bitmap has exactly the bytes that n validators
need and no bit beyond them. There is one signature for each bit, and at least a quorum of bits.
"""

from collections.abc import Iterable, Mapping, Sequence

from network.types import Digest, NodeId
from validators.consensus.hotstuff.messages import (
    TIMEOUT_NAMESPACE,
    VOTE_NAMESPACE,
    BlockVote,
    QuorumCertificate,
    TimeoutCertificate,
    ViewTimeout,
    timeout_bytes,
    vote_bytes,
)
from validators.consensus.quorum import decode_signers, encode_signers, quorum_of
from validators.consensus.signing import Scheme


def genesis_certificate(genesis: Digest) -> QuorumCertificate:
    """Return the certificate of genesis, which everybody knows and nobody has signed."""
    return QuorumCertificate(0, genesis, b"", ())


def certify_block(votes: Mapping[NodeId, BlockVote], validators: int) -> QuorumCertificate:
    """Return the certificate of a quorum of verified votes for one block, by signer."""
    assert len(votes) >= quorum_of(validators), f"{len(votes)} votes, quorum {quorum_of(validators)}"
    # Sorted by signer, not by arrival: a set of votes must have one encoding.
    ordered = [votes[signer] for signer in sorted(votes)]
    signatures = tuple(vote.signature for vote in ordered)
    return QuorumCertificate(ordered[0].view, ordered[0].digest, encode_signers(votes, validators), signatures)


def certify_timeout(timeouts: Mapping[NodeId, ViewTimeout], validators: int) -> TimeoutCertificate:
    """Return the certificate of a quorum of verified timeouts of one view, by signer."""
    assert len(timeouts) >= quorum_of(validators), f"{len(timeouts)} timeouts, quorum {quorum_of(validators)}"
    ordered = [timeouts[signer] for signer in sorted(timeouts)]
    high_views = tuple(timeout.high.view for timeout in ordered)
    signatures = tuple(timeout.signature for timeout in ordered)
    return TimeoutCertificate(ordered[0].view, encode_signers(timeouts, validators), high_views, signatures)


def find_block_certificate_fault(scheme: Scheme, certificate: QuorumCertificate, validators: int) -> str:
    """Return the fault of a block's certificate, empty for none; genesis' certificate has nothing to verify."""
    if certificate.view == 0:
        return "" if not certificate.signers and not certificate.signatures else "view out of range"
    fault, signers = _read_signers(certificate.signers, certificate.signatures, validators)
    message = vote_bytes(certificate.view, certificate.digest)
    signed = ((signer, VOTE_NAMESPACE, message) for signer in signers)
    return fault or _find_forged(scheme, signed, certificate.signatures)


def find_timeout_certificate_fault(scheme: Scheme, certificate: TimeoutCertificate, validators: int) -> str:
    """Return the fault of a certificate of timeouts, empty for none."""
    if certificate.view == 0 or certificate.high_view >= certificate.view:
        return "view out of range"
    fault, signers = _read_signers(certificate.signers, certificate.signatures, validators)
    if fault or len(certificate.high_views) != len(signers):
        return fault or "signature count"
    signed = (
        (signer, TIMEOUT_NAMESPACE, timeout_bytes(certificate.view, high_view))
        for signer, high_view in zip(signers, certificate.high_views, strict=True)
    )
    return _find_forged(scheme, signed, certificate.signatures)


def _read_signers(bitmap: bytes, signatures: Sequence[bytes], validators: int) -> tuple[str, list[NodeId]]:
    """Return the fault of a certificate's form, and its signers; looks at no signature."""
    if len(bitmap) != (validators + 7) // 8:
        return "bitmap length", []
    signers = decode_signers(bitmap)
    # Bits beyond the last validator would give a certificate several encodings.
    if signers and signers[-1] >= validators:
        return "stray bits", []
    if len(signers) < quorum_of(validators):
        return "no quorum", []
    return ("" if len(signatures) == len(signers) else "signature count"), signers


def _find_forged(scheme: Scheme, signed: Iterable[tuple[NodeId, bytes, bytes]], signatures: Sequence[bytes]) -> str:
    pairs = zip(signed, signatures, strict=True)
    is_valid = all(scheme.verify(*each, signature) for each, signature in pairs)
    return "" if is_valid else "invalid certificate"
