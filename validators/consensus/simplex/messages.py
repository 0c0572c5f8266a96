"""Simplex' messages on the wire: votes, certificates, and requests for certificates.

Every record is a frozen msgspec Struct in array form with its own int tag, so that one tagged union holds all of them.
Decoding is total: bytes that match no type are refused before any rule applies. The tags of votes and certificates are
those of docs/simplex.md, certificates moved up by three to share one union.

Signed bytes differ from the wire bytes. Notarize and Finalize sign `encode_proposal`, Nullify signs `encode_round`:
LEB128 varints, which no codec setting can change.
"""

from typing import Annotated, ClassVar, Final, TypeAlias

import msgspec

from network.types import Digest, NodeId
from validators.consensus.interface import BlockRef
from validators.consensus.signing import encode_varint

EPOCH: Final = 0
"""The validator set is fixed, so that every round is of this epoch."""

VIEW_LIMIT: Final = 2**62
"""Views are below this limit, which keeps every view, and the view after it, inside msgpack's integers."""

PAYLOAD_BYTES: Final = 32
"""A payload is the digest of a block."""

SIGNATURE_BYTES_MAX: Final = 96
"""The longest signature of any scheme that the wire admits (BLS12-381 in G2)."""

VALIDATORS_MAX: Final = 1024
"""The widest signer bitmap, and the longest list of signatures, that the wire admits."""

View: TypeAlias = Annotated[int, msgspec.Meta(ge=0, lt=VIEW_LIMIT)]
Signer: TypeAlias = Annotated[NodeId, msgspec.Meta(ge=0, lt=VALIDATORS_MAX)]
Payload: TypeAlias = Annotated[Digest, msgspec.Meta(min_length=PAYLOAD_BYTES, max_length=PAYLOAD_BYTES)]
Signature: TypeAlias = Annotated[bytes, msgspec.Meta(max_length=SIGNATURE_BYTES_MAX)]
Bitmap: TypeAlias = Annotated[bytes, msgspec.Meta(max_length=VALIDATORS_MAX // 8)]
Signatures: TypeAlias = Annotated[tuple[Signature, ...], msgspec.Meta(max_length=VALIDATORS_MAX)]


class Proposal(msgspec.Struct, array_like=True, frozen=True, forbid_unknown_fields=True):
    """A payload that the leader of `view` wants to append to the payload of `parent_view`."""

    view: View
    parent_view: View
    payload: Payload

    @property
    def ref(self) -> BlockRef:
        """The proposed block."""
        return BlockRef(self.view, self.payload)


class Notarize(msgspec.Struct, tag=0, array_like=True, frozen=True, forbid_unknown_fields=True):
    """A vote for a proposal; the leader's own vote carries the proposal to everybody."""

    traced_name: ClassVar[str] = "Notarize"
    signer: Signer
    proposal: Proposal
    signature: Signature


class Nullify(msgspec.Struct, tag=1, array_like=True, frozen=True, forbid_unknown_fields=True):
    """A vote to leave a view without its payload."""

    traced_name: ClassVar[str] = "Nullify"
    signer: Signer
    view: View
    signature: Signature


class Finalize(msgspec.Struct, tag=2, array_like=True, frozen=True, forbid_unknown_fields=True):
    """A vote to make a certified proposal final."""

    traced_name: ClassVar[str] = "Finalize"
    signer: Signer
    proposal: Proposal
    signature: Signature


class Notarization(msgspec.Struct, tag=3, array_like=True, frozen=True, forbid_unknown_fields=True):
    """A quorum of Notarize. `signers` is a bitmap, `signatures` are in the order of the signers' indexes."""

    traced_name: ClassVar[str] = "Notarization"
    proposal: Proposal
    signers: Bitmap
    signatures: Signatures


class Nullification(msgspec.Struct, tag=4, array_like=True, frozen=True, forbid_unknown_fields=True):
    """A quorum of Nullify."""

    traced_name: ClassVar[str] = "Nullification"
    view: View
    signers: Bitmap
    signatures: Signatures


class Finalization(msgspec.Struct, tag=5, array_like=True, frozen=True, forbid_unknown_fields=True):
    """A quorum of Finalize, and so the finality of a block."""

    traced_name: ClassVar[str] = "Finalization"
    proposal: Proposal
    signers: Bitmap
    signatures: Signatures

    @property
    def view(self) -> int:
        """The view of the final block."""
        return self.proposal.view

    @property
    def digest(self) -> Digest:
        """The digest of the final block."""
        return self.proposal.payload

    @property
    def is_proved(self) -> bool:
        """Always true: the signatures are part of it."""
        return True


class CertificateRequest(msgspec.Struct, tag=6, array_like=True, frozen=True, forbid_unknown_fields=True):
    """Asks one peer for any certificate that lets the sender get past `view` (docs/simplex.md, SX-24)."""

    traced_name: ClassVar[str] = "CertificateRequest"
    view: View


class CertificateResponse(msgspec.Struct, tag=7, array_like=True, frozen=True, forbid_unknown_fields=True):
    """Answers a request for `view`; the certificate may be of another view, for instance a later finalization."""

    traced_name: ClassVar[str] = "CertificateResponse"
    view: View
    certificate: Notarization | Nullification | Finalization


Vote: TypeAlias = Notarize | Nullify | Finalize
Certificate: TypeAlias = Notarization | Nullification | Finalization
ConsensusMessage: TypeAlias = Vote | Certificate | CertificateRequest | CertificateResponse


VOTES: Final = (Notarize, Nullify, Finalize)
CERTIFICATES: Final = (Notarization, Nullification, Finalization)
ABOUT_PROPOSAL: Final = (Notarize, Finalize, Notarization, Finalization)
"""Tested for every message: a union in `isinstance` is built again each time, which takes four times as long."""


def view_of(message: ConsensusMessage) -> int:
    """Return the view that a message speaks of."""
    if isinstance(message, ABOUT_PROPOSAL):
        return message.proposal.view
    return message.view


def encode_round(view: int) -> bytes:
    """Return epoch || view as varints, the message that Nullify signs."""
    return encode_varint(EPOCH) + encode_varint(view)


def encode_proposal(proposal: Proposal) -> bytes:
    """Return epoch || view || parent view || payload, the message that Notarize and Finalize sign."""
    return encode_round(proposal.view) + encode_varint(proposal.parent_view) + proposal.payload
