"""Blocks, headers and transactions: their records, their one encoding, their digests.

Everything is a msgpack array in the order of the fields, integers in their shortest form. Decoding is strict: bytes
that differ from the encoding of their result are refused. So a digest names one content and one encoding only.
"""

import hashlib
from functools import partial
from typing import Annotated, ClassVar, Final, NamedTuple, TypeAlias, TypeVar

import msgspec

from network.memo import Memo
from scheduler import MAX_U63, keccak256
from validators.execution.errors import InvalidEncodingError

VERSION: Final = 1
"""The header version that this code writes and accepts."""

BLOCK_BYTES_MAX: Final = 16 * 1024 * 1024
"""The longest encoded block."""

TRANSACTION_BYTES_MAX: Final = 2 * 1024 * 1024
"""The longest encoded transaction."""

SIGNING_DOMAIN: Final = b"stampede/transaction/1"
"""Prefix of the bytes that a transaction's signature covers."""

Digest: TypeAlias = bytes
"""32 bytes of SHA-256."""

Address: TypeAlias = bytes
"""20 bytes: the last of the Keccak-256 of a public key, or an actor's address as genesis states it."""

Uint: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=MAX_U63)]
"""A whole number of 63 bits."""

Bytes20: TypeAlias = Annotated[bytes, msgspec.Meta(min_length=20, max_length=20)]
Bytes32: TypeAlias = Annotated[bytes, msgspec.Meta(min_length=32, max_length=32)]
Bytes64: TypeAlias = Annotated[bytes, msgspec.Meta(min_length=64, max_length=64)]


class Transfer(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=0):
    """Move `amount` units from the sender to an address, which may be an actor's."""

    to: Bytes20
    amount: Uint


class ExecuteActor(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=1):
    """Call a handler of an actor."""

    actor: Bytes20
    handler: Annotated[str, msgspec.Meta(max_length=256)]
    payload: bytes


class SystemCancelTimer(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=48):
    """SYS_CANCEL_TIMER: remove a timer in the name of the validator set."""

    timer_id: Bytes32


class SystemUpdateTimerConfig(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=49):
    """SYS_UPDATE_TIMER_CONFIG: replace the timer configuration; `config` is the record as the state will hold it."""

    config: bytes


class SystemExtendTimer(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=50):
    """SYS_EXTEND_TIMER: move a timer's expiry in the name of the validator set."""

    timer_id: Bytes32
    expires_at: Uint


class SystemControlService(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=67):
    """An action on a policy's service; `batch` limits how many entries it may remove, 0 for the maximum."""

    action: Annotated[str, msgspec.Meta(max_length=32)]
    batch: Uint


class CancelAll(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=68):
    """Raise the authorization number of an actor that the sender owns."""

    actor: Bytes20


SystemInstruction: TypeAlias = SystemCancelTimer | SystemUpdateTimerConfig | SystemExtendTimer | SystemControlService
"""Calls that only a system deployer may make."""

Call: TypeAlias = Transfer | ExecuteActor | SystemInstruction | CancelAll
"""All kinds of a transaction's call."""


class Transaction(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A signed call; the sender is the address of the key. Limits in cycles and cells, fees in units for each."""

    traced_name: ClassVar[str] = "Transaction"

    public_key: Bytes32
    nonce: Uint
    cycles_limit: Uint
    cells_limit: Uint
    max_fee_per_cycle: Uint
    max_fee_per_cell: Uint
    priority_fee_per_cycle: Uint
    call: Call
    signature: Bytes64


class Header(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A block's header; its digest is the block's. `proposer` is an index into genesis' validators."""

    traced_name: ClassVar[str] = "Header"

    version: Uint
    height: Uint
    consensus_epoch: Uint
    view: Uint
    parent: Bytes32
    proposer: Uint
    slot: Uint
    timestamp_ms: Uint
    state_root: Bytes32
    tx_root: Bytes32
    receipts_root: Bytes32


class Block(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A header and the encoded transactions that its tx_root commits to."""

    traced_name: ClassVar[str] = "Block"

    header: Header
    transactions: tuple[bytes, ...]


class SealedBlock(NamedTuple):
    """A block and its seal, which is empty in an engine that seals no blocks."""

    block: Block
    seal: bytes


class SealedRecord(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A block with its seal, as it travels and is stored."""

    traced_name: ClassVar[str] = "SealedBlock"

    header: Header
    transactions: tuple[bytes, ...]
    seal: Annotated[bytes, msgspec.Meta(min_length=1)]


_Record = TypeVar("_Record", Transaction, Header, Block, SealedRecord)

_SEALED: Final = b"\x93"
"""The first byte of an array of three elements; a block without a seal is an array of two."""


_known: Final = Memo[Transaction](4_096, 16 * 1024 * 1024)
"""The latest transactions: each validator decodes each of them for its pool, its proposals and its executions."""


def encode_transaction(transaction: Transaction) -> bytes:
    """Return the one encoding of a transaction."""
    return msgspec.msgpack.encode(transaction)


def decode_transaction(encoded: bytes, limit: int = TRANSACTION_BYTES_MAX) -> Transaction:
    """Decode a transaction of at most `limit` bytes.

    Raises:
        InvalidEncodingError: Oversize, malformed, or not canonical.
    """
    known = _known.find(encoded)
    if known is None or len(encoded) > limit:
        known = _decode(encoded, Transaction, limit)
        _known.keep(encoded, known)
    return known


def encode_block(block: Block) -> bytes:
    """Return the one encoding of a block."""
    return msgspec.msgpack.encode(block)


def decode_block(encoded: bytes, limit: int = BLOCK_BYTES_MAX) -> Block:
    """Decode a block of at most `limit` bytes; its transactions stay encoded and unchecked.

    Raises:
        InvalidEncodingError: Oversize, malformed, or not canonical.
    """
    return _decode(encoded, Block, limit)


def encode_sealed(block: Block, seal: bytes) -> bytes:
    """Return the one encoding of a block with its seal; with an empty seal it is the block's own encoding."""
    return msgspec.msgpack.encode(SealedRecord(block.header, block.transactions, seal)) if seal else encode_block(block)


def decode_sealed(encoded: bytes, limit: int = BLOCK_BYTES_MAX) -> SealedBlock:
    """Decode a block as it travels and is stored; its seal stays encoded and unchecked.

    Raises:
        InvalidEncodingError: Oversize, malformed, or not canonical.
    """
    if encoded[:1] != _SEALED:
        return SealedBlock(decode_block(encoded, limit), b"")
    sealed = _decode(encoded, SealedRecord, limit)
    return SealedBlock(Block(sealed.header, sealed.transactions), sealed.seal)


def without_seal(encoded: bytes) -> bytes:
    """Return the encoding of a block alone from the encoding with its seal; raises InvalidEncodingError."""
    return encode_block(decode_sealed(encoded).block) if encoded[:1] == _SEALED else encoded


def encode_header(header: Header) -> bytes:
    """Return the one encoding of a header."""
    return msgspec.msgpack.encode(header)


def decode_header(encoded: bytes, limit: int = 4_096) -> Header:
    """Decode a header of at most `limit` bytes.

    Raises:
        InvalidEncodingError: Oversize, malformed, or not canonical.
    """
    return _decode(encoded, Header, limit)


def header_digest(header: Header) -> Digest:
    """Return the digest of a block: SHA-256 of its encoded header."""
    return hashlib.sha256(msgspec.msgpack.encode(header)).digest()


def block_digest(block: Block) -> Digest:
    """Return the digest of a block: SHA-256 of its encoded header."""
    return header_digest(block.header)


def transaction_digest(transaction: Transaction) -> Digest:
    """Return SHA-256 of the encoded transaction, signature included."""
    return hashlib.sha256(msgspec.msgpack.encode(transaction)).digest()


def transaction_signing_bytes(transaction: Transaction) -> bytes:
    """Return the bytes that the signature covers: the domain, then all other fields as a msgpack array."""
    fields = [getattr(transaction, name) for name in Transaction.__struct_fields__[:-1]]
    return SIGNING_DOMAIN + msgspec.msgpack.encode(fields)


def address_of(public_key: bytes) -> Address:
    """Return the address of a public key: the last 20 bytes of its Keccak-256."""
    return keccak256(public_key)[-20:]


def _decode(encoded: bytes, kind: type[_Record], limit: int) -> _Record:
    refuse = partial(_refusal, kind, encoded)
    if len(encoded) > limit:
        raise refuse(f"more than the limit of {limit}")
    try:
        record = msgspec.msgpack.decode(encoded, type=kind)
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise refuse(str(error)) from None
    if msgspec.msgpack.encode(record) != encoded:
        raise refuse("not the canonical encoding")
    return record


def _refusal(
    kind: type[Transaction | Header | Block | SealedRecord], encoded: bytes, reason: str
) -> InvalidEncodingError:
    return InvalidEncodingError(f"{kind.traced_name} of {len(encoded)} bytes: {reason}")
