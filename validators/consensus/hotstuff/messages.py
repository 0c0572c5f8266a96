"""HotStuff's messages, certificates and the seal of a block: frozen records with one encoding each.

A vote covers (view, block digest). A TIMEOUT covers its view and the view of the highest certificate in it, so that a
quorum's timeouts prove which certificates their signers knew.
"""

from typing import Annotated, ClassVar, Final, TypeAlias

import msgspec

from network.types import Digest, NodeId
from validators.consensus.interface import BlockRef
from validators.consensus.signing import encode_varint

VIEW_LIMIT: Final = 2**62
"""Views are below this; it keeps every view, and the one after it, inside msgpack's integers."""

DIGEST_BYTES: Final = 32
_VALIDATORS_MAX: Final = 1024
_SIGNATURE_BYTES_MAX: Final = 96

View: TypeAlias = Annotated[int, msgspec.Meta(ge=0, lt=VIEW_LIMIT)]
Signer: TypeAlias = Annotated[NodeId, msgspec.Meta(ge=0, lt=_VALIDATORS_MAX)]
BlockDigest: TypeAlias = Annotated[Digest, msgspec.Meta(min_length=DIGEST_BYTES, max_length=DIGEST_BYTES)]
Signature: TypeAlias = Annotated[bytes, msgspec.Meta(max_length=_SIGNATURE_BYTES_MAX)]
Bitmap: TypeAlias = Annotated[bytes, msgspec.Meta(max_length=_VALIDATORS_MAX // 8)]
Signatures: TypeAlias = Annotated[tuple[Signature, ...], msgspec.Meta(max_length=_VALIDATORS_MAX)]
Views: TypeAlias = Annotated[tuple[View, ...], msgspec.Meta(max_length=_VALIDATORS_MAX)]

VOTE_NAMESPACE: Final = b"stampede_HOTSTUFF_VOTE"
TIMEOUT_NAMESPACE: Final = b"stampede_HOTSTUFF_TIMEOUT"


class QuorumCertificate(msgspec.Struct, array_like=True, frozen=True, forbid_unknown_fields=True):
    """A quorum's votes for one block, signatures in the order of the signers; genesis' certificate has none."""

    traced_name: ClassVar[str] = "QuorumCertificate"
    view: View
    digest: BlockDigest
    signers: Bitmap
    signatures: Signatures

    @property
    def ref(self) -> BlockRef:
        """The certified block."""
        return BlockRef(self.view, self.digest)


class TimeoutCertificate(msgspec.Struct, array_like=True, frozen=True, forbid_unknown_fields=True):
    """A quorum's timeouts of one view; `high_views` has the view of each signer's highest certificate."""

    traced_name: ClassVar[str] = "TimeoutCertificate"
    view: View
    signers: Bitmap
    high_views: Views
    signatures: Signatures

    @property
    def high_view(self) -> int:
        """The highest view of a certificate that any signer knew."""
        return max(self.high_views, default=0)


class BlockVote(msgspec.Struct, tag=0, array_like=True, frozen=True, forbid_unknown_fields=True):
    """A vote for a block, to the leader of the next view."""

    traced_name: ClassVar[str] = "BlockVote"
    signer: Signer
    view: View
    digest: BlockDigest
    signature: Signature


class ViewTimeout(msgspec.Struct, tag=1, array_like=True, frozen=True, forbid_unknown_fields=True):
    """The signer will not vote any more in `view`; `entry` is the timeout certificate with which it entered, if any."""

    traced_name: ClassVar[str] = "ViewTimeout"
    signer: Signer
    view: View
    high: QuorumCertificate
    entry: TimeoutCertificate | None
    signature: Signature


class BlockSeal(msgspec.Struct, array_like=True, frozen=True, forbid_unknown_fields=True):
    """The justification of a block: always the certificate of its parent, and its proposer's vote for it.

    `timeout` is present where the parent is not of the previous view.
    """

    traced_name: ClassVar[str] = "BlockSeal"
    justify: QuorumCertificate
    vote: Signature
    timeout: TimeoutCertificate | None


HotStuffMessage: TypeAlias = BlockVote | ViewTimeout


def vote_bytes(view: int, digest: Digest) -> bytes:
    """Return the message that a vote signs."""
    return encode_varint(view) + digest


def timeout_bytes(view: int, high_view: int) -> bytes:
    """Return the message that a TIMEOUT signs."""
    return encode_varint(view) + encode_varint(high_view)
