"""Blocks of an outside application: the header as it is told, and the roots that are made of its answers."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Final

import msgspec

from cluster.outside.frames import Value
from validators.execution.blocks import VERSION, Block, Header, header_digest
from validators.state import mmr_root

ROOT_NAMES: Final = ("state_root", "tx_root", "receipts_root")
"""Fields of a header that are not known yet when a block is proposed."""


def told_header(header: Header, *, is_proposed: bool = False) -> dict[str, Value]:
    """Return a header as an application is told it: all fields by name; while it is proposed, without the roots."""
    fields: dict[str, Value] = msgspec.structs.asdict(header)
    return {name: value for name, value in fields.items() if not is_proposed or name not in ROOT_NAMES}


def genesis_parent(
    chain: str, validators: int, parameters: Mapping[str, Value], *, timebase: str, slot_ms: int, timestamp_ms: int
) -> bytes:
    """Return the parent of the genesis block: the digest of all that the chain begins with, 32 bytes."""
    content = [chain, validators, timebase, slot_ms, timestamp_ms, _sorted(parameters)]
    return sha256(msgspec.msgpack.encode(content)).digest()


def canonical_event(event: Mapping[str, Value]) -> bytes:
    """Return the one encoding of an event: msgpack, keys in ascending order."""
    return msgspec.msgpack.encode(_sorted(event))


def receipts_root(receipts: Sequence[bytes] | None, events: Sequence[Mapping[str, Value]]) -> bytes:
    """Return the MMR root over an answer's receipts, or over its events where it has none, 32 bytes."""
    return mmr_root([canonical_event(event) for event in events] if receipts is None else receipts)


def next_header(parent: Header, *, view: int, proposer: int, timestamp_ms: int, slot_ms: int) -> Header:
    """Return the header of a block above a parent, its roots still zero."""
    zeros = bytes(32)
    return Header(
        version=VERSION,
        height=parent.height + 1,
        consensus_epoch=0,
        view=view,
        parent=header_digest(parent),
        proposer=proposer,
        slot=timestamp_ms // slot_ms,
        timestamp_ms=timestamp_ms,
        state_root=zeros,
        tx_root=zeros,
        receipts_root=zeros,
    )


def sealed_block(draft: Header, payload: Sequence[bytes], *, root: bytes, receipts: bytes) -> Block:
    """Return a block whose header has its roots."""
    sealed = msgspec.structs.replace(draft, state_root=root, tx_root=mmr_root(payload), receipts_root=receipts)
    return Block(sealed, tuple(payload))


def _sorted(value: Value) -> Value:
    """Return a value whose maps have their keys in ascending order."""
    if isinstance(value, Mapping):
        return {key: _sorted(value[key]) for key in sorted(value)}
    if isinstance(value, list | tuple):
        return [_sorted(each) for each in value]
    return value
