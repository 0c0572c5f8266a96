"""What validators say to each other besides consensus: blocks, transactions, snapshots, and requests for them.

Consensus carries digests only; the bytes of a block travel over the same bus as the votes, under the
same faults (specification of Simplex, section 1.1: the application's relay disseminates bytes).
"""

from collections.abc import Mapping, Sequence
from typing import Final, Literal, TypeAlias

import msgspec

from network.codec import Codec
from network.types import Label
from validators.consensus.simplex.messages import (
    CertificateRequest,
    CertificateResponse,
    Finalization,
    Finalize,
    Notarization,
    Notarize,
    Nullification,
    Nullify,
)
from validators.execution.blocks import Header
from validators.state import Snapshot

BLOCK_BYTES_MAX: Final = 16 * 1024 * 1024
"""A message that carries blocks may not be larger."""

TRANSACTION_BYTES_MAX: Final = 2 * 1024 * 1024
"""A message that carries transactions may not be larger."""

VOTE_BYTES_MAX: Final = 64 * 1024
"""Votes, certificates and requests; 64 signatures of 64 bytes leave room to spare."""

BLOCKS_PER_RESPONSE: Final = 64
"""A peer that is far behind asks again; one answer may not hold the link for long."""

TRANSACTIONS_PER_GOSSIP: Final = 64
"""A message of the mempool carries at most as many transactions."""


class BlockRelay(msgspec.Struct, tag=16, array_like=True, frozen=True, forbid_unknown_fields=True):
    """A proposed block, from the proposer to everybody."""

    block: bytes


class BlockRequest(msgspec.Struct, tag=17, array_like=True, frozen=True, forbid_unknown_fields=True):
    """Asks for the block ``digest`` and its ancestors above ``floor_height``."""

    digest: bytes
    floor_height: int


class BlockResponse(msgspec.Struct, tag=18, array_like=True, frozen=True, forbid_unknown_fields=True):
    """Blocks that were asked for, the newest first, each the parent of the one before it."""

    blocks: tuple[bytes, ...]


class TransactionGossip(msgspec.Struct, tag=19, array_like=True, frozen=True, forbid_unknown_fields=True):
    """Transactions of the sender's mempool."""

    transactions: tuple[bytes, ...]


class SnapshotRequest(msgspec.Struct, tag=20, array_like=True, frozen=True, forbid_unknown_fields=True):
    """Asks for the outline of a snapshot at a finalized height above ``above_height``."""

    above_height: int


class SnapshotOffer(msgspec.Struct, tag=21, array_like=True, frozen=True, forbid_unknown_fields=True):
    """A snapshot without its operations, which come in ``chunks`` pieces.

    ``header`` is the encoded header of the block that the snapshot stands at, ``certificate`` makes that block final.
    """

    header: bytes
    certificate: Finalization
    outline: Snapshot
    chunks: int


class SnapshotChunkRequest(msgspec.Struct, tag=22, array_like=True, frozen=True, forbid_unknown_fields=True):
    """Asks for one piece of the snapshot at the block ``digest``."""

    digest: bytes
    index: int


class SnapshotChunk(msgspec.Struct, tag=23, array_like=True, frozen=True, forbid_unknown_fields=True):
    """Operations of a snapshot, encoded; the pieces in their order are all of them."""

    digest: bytes
    index: int
    operations: tuple[bytes, ...]


ConsensusMessage = (
    Notarize
    | Nullify
    | Finalize
    | Notarization
    | Nullification
    | Finalization
    | CertificateRequest
    | CertificateResponse
)
SnapshotMessage = SnapshotRequest | SnapshotOffer | SnapshotChunkRequest | SnapshotChunk
Message = ConsensusMessage | BlockRelay | BlockRequest | BlockResponse | TransactionGossip | SnapshotMessage

Channel: TypeAlias = Literal["votes", "certificates", "blocks", "transactions", "snapshots"]

_SIZE_LIMITS: Final[Mapping[type[Message], int]] = {
    Notarize: VOTE_BYTES_MAX,
    Nullify: VOTE_BYTES_MAX,
    Finalize: VOTE_BYTES_MAX,
    Notarization: VOTE_BYTES_MAX,
    Nullification: VOTE_BYTES_MAX,
    Finalization: VOTE_BYTES_MAX,
    CertificateRequest: VOTE_BYTES_MAX,
    CertificateResponse: VOTE_BYTES_MAX,
    BlockRelay: BLOCK_BYTES_MAX,
    BlockRequest: VOTE_BYTES_MAX,
    BlockResponse: BLOCK_BYTES_MAX,
    TransactionGossip: TRANSACTION_BYTES_MAX,
    SnapshotRequest: VOTE_BYTES_MAX,
    SnapshotOffer: 2 * VOTE_BYTES_MAX,
    SnapshotChunkRequest: VOTE_BYTES_MAX,
    SnapshotChunk: BLOCK_BYTES_MAX,
}


MESSAGE_KINDS: Final = tuple(kind.__name__ for kind in _SIZE_LIMITS)
"""What a label calls the messages, by the names of their records."""

CHANNELS: Final[Mapping[Channel, tuple[str, ...]]] = {
    "votes": tuple(kind.__name__ for kind in (Notarize, Nullify, Finalize)),
    "certificates": tuple(
        kind.__name__ for kind in (Notarization, Nullification, Finalization, CertificateRequest, CertificateResponse)
    ),
    "blocks": tuple(kind.__name__ for kind in (BlockRelay, BlockRequest, BlockResponse)),
    "transactions": (TransactionGossip.__name__,),
    "snapshots": tuple(kind.__name__ for kind in (SnapshotRequest, SnapshotOffer, SnapshotChunkRequest, SnapshotChunk)),
}
"""What travels together: the kinds of messages of each channel. Every kind is in one."""

KINDS_WITHOUT_VIEW: Final = (
    BlockRequest.__name__,
    TransactionGossip.__name__,
    SnapshotRequest.__name__,
    SnapshotChunkRequest.__name__,
)
"""Messages that are about no view and no height."""


def kinds_of(channels: Sequence[Channel]) -> tuple[str, ...]:
    """Return the kinds of messages of these channels; of none, none, which stands for all where kinds are matched."""
    return tuple(kind for channel in channels for kind in CHANNELS[channel])


def block_label(message: BlockRelay | BlockResponse | SnapshotOffer | SnapshotChunk, header: Header) -> Label:
    """Return the label of a message with blocks, of which `header` is the newest, or with the state after one."""
    return Label(type(message).__name__, header.view, header.height)


def message_codec() -> Codec[Message]:
    """Return a codec of its own for one validator; it counts what it refuses."""
    return Codec(tuple(_SIZE_LIMITS), size_limit=_SIZE_LIMITS)
