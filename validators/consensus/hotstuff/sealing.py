"""The seal of a block: the certificate of its parent and its proposer's vote, encoded, made and verified.

A proposal of HotStuff is a block with its seal, relayed. The proposer's vote serves as its signature: a leader that
seals two blocks in a view has cast two votes in it.
"""

from typing import Final

import msgspec

from network.types import NodeId
from validators.consensus.hotstuff.certificates import find_block_certificate_fault, find_timeout_certificate_fault
from validators.consensus.hotstuff.messages import VIEW_LIMIT, VOTE_NAMESPACE, BlockSeal, vote_bytes
from validators.consensus.interface import EngineConfig, HeaderFacts, MessageCheck
from validators.consensus.signing import Scheme

_DECODER: Final = msgspec.msgpack.Decoder(BlockSeal)


def encode_seal(seal: BlockSeal) -> bytes:
    """Return the one encoding of a seal."""
    return msgspec.msgpack.encode(seal)


def decode_seal(encoded: bytes) -> BlockSeal | None:
    """Return the seal of an encoding; None for bytes that are no seal."""
    try:
        seal = _DECODER.decode(encoded)
    except (msgspec.MsgspecError, ValueError):
        return None
    return seal if msgspec.msgpack.encode(seal) == encoded else None


VIEWS_OF_A_TURN: Final = 2
"""Views that a validator leads in a row.

With turns of 1 view, three-chain among four validators never makes a block final while a validator is away: it takes
four leaders in a row, three that propose and a fourth that forms the last certificate. Of 2f + 1 validators among
3f + 1 in a circle, two always stand side by side, and two turns of 2 views are 4 views.
"""


def leader_of(view: int, validators: int) -> NodeId:
    """Return the leader of a view, which must be 1 or more: validators take turns of two views."""
    assert view >= 1, f"view {view} has no leader"
    return view // VIEWS_OF_A_TURN % validators


def check_seal(
    scheme: Scheme, block: HeaderFacts, encoded: bytes, validators: int, *, config: EngineConfig | None = None
) -> MessageCheck:
    """Return whether a block is justified: by its parent's certificate, and by the vote of its view's leader."""
    del config  # unused, because HotStuff's leaders do not depend on it
    before = scheme.verified
    reason = _find_fault(scheme, block, encoded, validators)
    return MessageCheck(ok=not reason, reason=reason, signatures_verified=scheme.verified - before)


def _find_fault(scheme: Scheme, block: HeaderFacts, encoded: bytes, validators: int) -> str:
    seal = decode_seal(encoded)
    if seal is None:
        return "seal: malformed"
    fault = _find_form_fault(block, seal, validators)
    if fault:
        return f"seal: {fault}"
    # The cheapest check first: one signature of the leader before a quorum's.
    if not scheme.verify(block.proposer, VOTE_NAMESPACE, vote_bytes(block.view, block.digest), seal.vote):
        return "seal: invalid signature"
    fault = find_block_certificate_fault(scheme, seal.justify, validators)
    if not fault and seal.timeout is not None:
        fault = find_timeout_certificate_fault(scheme, seal.timeout, validators)
    return fault and f"seal: {fault}"


def _find_form_fault(block: HeaderFacts, seal: BlockSeal, validators: int) -> str:
    justify = seal.justify
    if not 1 <= block.view < VIEW_LIMIT:
        return "view out of range"
    if block.proposer != leader_of(block.view, validators):
        return "not the leader's"
    # Only the parent's certificate justifies: any other certificate could be exchanged in transit for a better one.
    if justify.digest != block.parent or justify.view >= block.view or (justify.view == 0) != (block.height == 1):
        return "not of the parent"
    if seal.timeout is not None and (seal.timeout.view != block.view - 1 or seal.timeout.high_view > justify.view):
        return "timeout of another view"
    return ""
