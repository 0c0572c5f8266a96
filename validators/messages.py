"""Messages between validators other than consensus messages: blocks, transactions, snapshots, and requests for them.

Consensus messages carry only digests. The bytes of a block travel over the same bus as the votes, under the same faults
(docs/simplex.md: the application's relay disseminates bytes). Tags from 16 on belong to this file, lower tags to the
consensus engine.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final, Generic, Literal, TypeAlias, TypeVar, cast, get_args

import msgspec

from network.codec import Codec
from network.memo import Memo
from network.types import Label
from validators.consensus.interface import EngineMessage, MessageInfo, MessageRole
from validators.consensus.kind import EngineKind
from validators.consensus.registry import ENGINES
from validators.execution.blocks import Header
from validators.state import Snapshot

FinalityType = TypeVar("FinalityType")

BLOCK_BYTES_MAX: Final = 16 * 1024 * 1024
"""A message that carries blocks may not be larger."""

TRANSACTION_BYTES_MAX: Final = 2 * 1024 * 1024
"""A message that carries transactions may not be larger."""

REQUEST_BYTES_MAX: Final = 64 * 1024
"""A request may not be larger."""

BLOCKS_PER_RESPONSE: Final = 64
"""Most blocks in an answer, so that it does not hold the link for long; a peer that is far behind asks again."""

TRANSACTIONS_PER_GOSSIP: Final = 64
"""Most transactions in a message of the mempool."""


class BlockRelay(msgspec.Struct, tag=16, array_like=True, frozen=True, forbid_unknown_fields=True):
    """A proposed block, from the proposer to everybody."""

    traced_name: ClassVar[str] = "BlockRelay"
    block: bytes


class BlockRequest(msgspec.Struct, tag=17, array_like=True, frozen=True, forbid_unknown_fields=True):
    """Asks for the block `digest` and its ancestors above `floor_height`."""

    traced_name: ClassVar[str] = "BlockRequest"
    digest: bytes
    floor_height: int


class BlockResponse(msgspec.Struct, tag=18, array_like=True, frozen=True, forbid_unknown_fields=True):
    """Requested blocks, newest first, each the parent of the block before it."""

    traced_name: ClassVar[str] = "BlockResponse"
    blocks: tuple[bytes, ...]


class TransactionGossip(msgspec.Struct, tag=19, array_like=True, frozen=True, forbid_unknown_fields=True):
    """Transactions of the sender's mempool."""

    traced_name: ClassVar[str] = "TransactionGossip"
    transactions: tuple[bytes, ...]


class SnapshotRequest(msgspec.Struct, tag=20, array_like=True, frozen=True, forbid_unknown_fields=True):
    """Asks for the outline of a snapshot at a finalized height above `above_height`."""

    traced_name: ClassVar[str] = "SnapshotRequest"
    above_height: int


class SnapshotOffer(
    msgspec.Struct, Generic[FinalityType], tag=21, array_like=True, frozen=True, forbid_unknown_fields=True
):
    """A snapshot without its operations, which come in `chunks` pieces.

    `header` is the encoded header of the block that the snapshot stands at; `certificate`, the consensus engine's own
    finality, makes that block final.
    """

    traced_name: ClassVar[str] = "SnapshotOffer"
    header: bytes
    certificate: FinalityType
    outline: Snapshot
    chunks: int


class SnapshotChunkRequest(msgspec.Struct, tag=22, array_like=True, frozen=True, forbid_unknown_fields=True):
    """Asks for one piece of the snapshot at the block `digest`."""

    traced_name: ClassVar[str] = "SnapshotChunkRequest"
    digest: bytes
    index: int


class SnapshotChunk(msgspec.Struct, tag=23, array_like=True, frozen=True, forbid_unknown_fields=True):
    """Operations of a snapshot, encoded; the pieces in their order are all of them."""

    traced_name: ClassVar[str] = "SnapshotChunk"
    digest: bytes
    index: int
    operations: tuple[bytes, ...]


Message: TypeAlias = (
    BlockRelay
    | BlockRequest
    | BlockResponse
    | TransactionGossip
    | SnapshotRequest
    | SnapshotOffer[Any]
    | SnapshotChunkRequest
    | SnapshotChunk
    | EngineMessage
)

Channel: TypeAlias = Literal["votes", "certificates", "blocks", "transactions", "snapshots"]

_OWN: Final[Mapping[type[Any], MessageInfo]] = {
    BlockRelay: MessageInfo(BLOCK_BYTES_MAX, "blocks", "relay"),
    BlockRequest: MessageInfo(REQUEST_BYTES_MAX, "blocks", "request"),
    BlockResponse: MessageInfo(BLOCK_BYTES_MAX, "blocks", "answer"),
    TransactionGossip: MessageInfo(TRANSACTION_BYTES_MAX, "transactions", "relay"),
    SnapshotRequest: MessageInfo(REQUEST_BYTES_MAX, "snapshots", "request"),
    SnapshotOffer: MessageInfo(2 * REQUEST_BYTES_MAX, "snapshots", "answer"),
    SnapshotChunkRequest: MessageInfo(REQUEST_BYTES_MAX, "snapshots", "request"),
    SnapshotChunk: MessageInfo(BLOCK_BYTES_MAX, "snapshots", "answer"),
}

_BY_NAME: Final[Mapping[str, MessageInfo]] = {
    kind.traced_name: info
    for messages in (*(engine.messages for engine in ENGINES.values()), _OWN)
    for kind, info in messages.items()
}

MESSAGE_KINDS: Final = tuple(_BY_NAME)
"""Labels of the messages of every engine and of this file, by their traced names."""

CHANNELS: Final[Mapping[Channel, tuple[str, ...]]] = {
    channel: tuple(name for name, info in _BY_NAME.items() if info.channel == channel) for channel in get_args(Channel)
}
"""The kinds of messages that travel together, by channel. Every kind is in one channel."""

Traffic: TypeAlias = Literal["consensus", "sync", "gossip"]

TRAFFIC: Final[Mapping[Traffic, tuple[str, ...]]] = {
    "consensus": (*CHANNELS["votes"], *CHANNELS["certificates"], BlockRelay.traced_name),
    "sync": (BlockRequest.traced_name, BlockResponse.traced_name, *CHANNELS["snapshots"]),
    "gossip": CHANNELS["transactions"],
}
"""The kinds of messages by their class in an uplink. Every kind is in one class."""

KINDS_WITHOUT_VIEW: Final = (
    BlockRequest.traced_name,
    TransactionGossip.traced_name,
    SnapshotRequest.traced_name,
    SnapshotChunkRequest.traced_name,
)
"""Messages that concern no view and no height."""


def kinds_of(channels: Sequence[Channel]) -> tuple[str, ...]:
    """Return the kinds of messages of these channels; without channels no kind, which matches all kinds."""
    return tuple(kind for channel in channels for kind in CHANNELS[channel])


def touches_consensus(channels: Sequence[Channel]) -> bool:
    """Return whether a block may need messages of these channels; without channels all channels are meant."""
    return not channels or not {"votes", "certificates", "blocks"}.isdisjoint(channels)


def kinds_in(engine: str) -> tuple[str, ...]:
    """Return the traced names of the messages of an engine and of this file."""
    return tuple(kind.traced_name for kind in (*ENGINES[engine].messages, *_OWN))


def names_of_role(engine: str, role: MessageRole) -> tuple[str, ...]:
    """Return the traced names of the messages in a role, of an engine and of this file."""
    own = (kind.traced_name for kind, info in _OWN.items() if info.role == role)
    return (*ENGINES[engine].names_of(role), *own)


def block_label(message: BlockRelay | BlockResponse | SnapshotOffer[Any] | SnapshotChunk, header: Header) -> Label:
    """Return the label of a message with blocks, of which `header` is the newest, or with the state after a block."""
    return Label(message.traced_name, header.view, header.height)


def message_types(engine: EngineKind) -> list[type[Any]]:
    """Return the types of all messages between validators of an engine."""
    # The offer is read with this engine's finality in it.
    offer = cast("Any", SnapshotOffer)[engine.records.finality]
    return [*engine.messages, *(offer if kind is SnapshotOffer else kind for kind in _OWN)]


def message_codec(engine: EngineKind, shared: Memo[Message] | None = None) -> Codec[Message]:
    """Return a new codec for one validator; it counts refusals. `shared` has messages that other validators decoded."""
    limits = {kind: info.size_limit_bytes for kind, info in (*engine.messages.items(), *_OWN.items())}
    return Codec(message_types(engine), size_limit=limits, shared=shared)
