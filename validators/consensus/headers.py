"""Headers of blocks as consensus reads them: the few fields that order blocks, and the digest that names them."""

from hashlib import sha256

import msgspec

from network.types import NodeId
from validators.consensus.interface import HeaderFacts


class _Start(msgspec.Struct, array_like=True, frozen=True):
    """The first fields of a header (docs/chain.md); the application defines the later fields."""

    version: int
    height: int
    consensus_epoch: int
    view: int
    parent: bytes
    proposer: NodeId


_DECODER = msgspec.msgpack.Decoder(_Start)


def read_facts(header: bytes) -> HeaderFacts | None:
    """Return the facts of an encoded header, None for other bytes; the application judges all other fields."""
    try:
        start = _DECODER.decode(header)
    except (msgspec.MsgspecError, ValueError):
        return None
    return HeaderFacts(start.view, sha256(header).digest(), start.parent, start.height, start.proposer, header)
