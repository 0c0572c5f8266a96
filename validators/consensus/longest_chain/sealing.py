"""Seals of blocks, and proofs of depth: made and verified.

A leader seals a block by signing its digest. A block's header names its slot and its parent, so that sealed headers can
form only the chain that their leaders built.
"""

from itertools import pairwise
from typing import Final

from validators.consensus.headers import read_facts
from validators.consensus.interface import EngineConfig, Finality, HeaderFacts, MessageCheck
from validators.consensus.longest_chain.config import LongestChainConfig
from validators.consensus.longest_chain.election import leader_of
from validators.consensus.longest_chain.messages import Burial
from validators.consensus.signing import Scheme

SEAL_NAMESPACE: Final = b"stampede_SLOT"

MALFORMED: Final = "malformed header"
WRONG_LEADER: Final = "wrong leader"
UNSIGNED: Final = "invalid seal"
SHALLOW: Final = "too few headers on the final block"


def make_seal(scheme: Scheme, digest: bytes) -> bytes:
    """Return our seal of a block."""
    return scheme.sign(SEAL_NAMESPACE, digest)


def check_seal(
    scheme: Scheme, block: HeaderFacts, seal: bytes, validators: int, *, config: LongestChainConfig
) -> MessageCheck:
    """Return whether a block is by its slot's leader, and sealed by it."""
    before = scheme.verified
    reason = find_seal_fault(scheme, block, seal, validators, config=config)
    return MessageCheck(ok=not reason, reason=reason, signatures_verified=scheme.verified - before)


def find_seal_fault(
    scheme: Scheme, block: HeaderFacts | None, seal: bytes, validators: int, *, config: LongestChainConfig
) -> str:
    """Return why a block is not by its slot's leader, or an empty string."""
    if block is None or block.view <= 0 or block.height <= 0:
        return MALFORMED
    if block.proposer != leader_of(block.view, validators, config):
        return WRONG_LEADER
    return "" if scheme.verify(block.proposer, SEAL_NAMESPACE, block.digest, seal) else UNSIGNED


def find_burial_fault(scheme: Scheme, burial: Burial, validators: int, config: LongestChainConfig) -> str:
    """Return the fault of a proof of depth, apart from its length, or an empty string."""
    blocks = [read_facts(each.header) for each in burial.chain]
    for block, each in zip(blocks, burial.chain, strict=True):
        if fault := find_seal_fault(scheme, block, each.seal, validators, config=config):
            return fault
    for below, above in pairwise(blocks):
        assert below is not None and above is not None, "a seal was found on both"  # noqa: PT018 - one claim
        is_linked = above.parent == below.digest and above.height == below.height + 1 and above.view > below.view
        if not is_linked:
            return "headers are not linked"
    return ""


def verify_finality(scheme: Scheme, finality: Finality, validators: int, config: EngineConfig) -> bool:
    """Whether a finality has enough sealed headers on its block.

    This does not prove that the block is unique: a third of the validators can build another chain, given time.
    """
    assert isinstance(config, LongestChainConfig), "the engine's own"
    if not isinstance(finality, Burial) or len(finality.chain) <= config.finality_depth:
        return False
    return not find_burial_fault(scheme, finality, validators, config)
