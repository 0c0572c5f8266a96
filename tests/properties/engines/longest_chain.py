"""Proofs of depth and heads: sound ones, and such as a third of the validators could make up, or nobody.

A replica asks for a proof where it joins or lags far behind. Few runs have one, and hardly any has a forged one. So are
runs in which a joiner is told of several heads, or starts again before another block is final.
"""

from dataclasses import replace
from hashlib import sha256
from typing import Final, NamedTuple

import msgspec

from tests.properties.draws import Asked, Draw
from tests.properties.engines.keyed_scheme import KeyedScheme
from validators.consensus.interface import Append, Finalized, FloorAdopted, Received, Started, TimeoutReached
from validators.consensus.longest_chain import Burial, LongestChainConfig, SealedHeader
from validators.consensus.longest_chain.engine import LongestChain
from validators.consensus.longest_chain.joining import JOIN_TIMER, Joining
from validators.consensus.longest_chain.kind import LONGEST_CHAIN
from validators.consensus.longest_chain.messages import HeadResponse

_SEAL_NAMESPACE: Final = b"stampede_SLOT"
_VALIDATORS: Final = 5
_GAP_MAX: Final = 3
_ROUNDS: Final = 4


class _Block(NamedTuple):
    """The start of a header, and who has sealed it."""

    height: int
    view: int
    parent: bytes
    proposer: int
    sealed_by: int

    @property
    def header(self) -> bytes:
        return msgspec.msgpack.encode([1, self.height, 0, self.view, self.parent, self.proposer, b"", 0])

    @property
    def digest(self) -> bytes:
        return sha256(self.header).digest()


def _chain(first: _Block, views: list[int]) -> list[_Block]:
    """Return blocks of these slots on a first one, each by the leader whose turn it is."""
    chain = [first]
    for view in views:
        below = chain[-1]
        leader = view % _VALIDATORS
        chain.append(_Block(below.height + 1, view, below.digest, leader, leader))
    return chain


def _continued(chain: list[_Block], place: int, block: _Block) -> list[_Block]:
    """Return the chain with another block in this place, and those behind it built on that."""
    return _chain_on([*chain[:place], block], chain[place + 1 :])


def _chain_on(chain: list[_Block], rest: list[_Block]) -> list[_Block]:
    for block in rest:
        below = chain[-1]
        chain.append(block._replace(parent=below.digest, height=below.height + 1))
    return chain


def _sealed(block: _Block) -> SealedHeader:
    return SealedHeader(block.header, KeyedScheme(block.sealed_by).sign(_SEAL_NAMESPACE, block.digest))


def _is_believed(chain: list[_Block], config: LongestChainConfig) -> bool:
    return LONGEST_CHAIN.verify_finality(KeyedScheme(0), Burial(tuple(map(_sealed, chain))), _VALIDATORS, config)


def check_burials(draw: Draw) -> Asked:
    """Yield what is asked of proofs of depth, and whether it is so."""
    depth = 2 + draw(3)
    config = LongestChainConfig(slot_us=1_000_000, finality_depth=depth, fetch_timeout_us=1_000, view_retention=8)
    view = 1 + draw(20)
    leader = view % _VALIDATORS
    first = _Block(1 + draw(view), view, bytes([draw(256)] * 32), leader, leader)
    views: list[int] = []
    for _ in range(depth):
        view += 1 + draw(_GAP_MAX)
        views.append(view)
    chain = _chain(first, views)
    place = 1 + draw(depth)
    before, other = chain[place - 1], chain[place]
    yield "a sound proof of depth is refused", _is_believed(chain, config)
    burial = Burial(tuple(map(_sealed, chain)))
    engine = LongestChain(me=0, validators=_VALIDATORS, scheme=KeyedScheme(0), config=config, genesis=bytes(32))
    engine.step(Started())
    yield "a final block from outside is not written down", Append(burial) in engine.step(FloorAdopted(burial))
    stranger = (other.proposer + 1) % _VALIDATORS
    again = other._replace(view=before.view, proposer=before.proposer, sealed_by=before.proposer)
    forged = {
        "a block on another parent": other._replace(parent=bytes(32)),
        "a height that is left out": other._replace(height=other.height + 1),
        "a height that comes twice": other._replace(height=before.height),
        "a block that is another leader's": other._replace(proposer=stranger, sealed_by=stranger),
        "a seal of somebody else": other._replace(sealed_by=stranger),
        "a slot that comes twice": again,
        "a slot of long ago": again._replace(view=before.view - _VALIDATORS),
    }
    for what, block in forged.items():
        yield f"{what} is believed in a proof of depth", not _is_believed(_continued(chain, place, block), config)
    genesis = first._replace(view=0, proposer=0, sealed_by=0)
    yield "a block before the first slot is believed in a proof", not _is_believed(_chain(genesis, views), config)
    yield "a proof that is too short is believed", not _is_believed(chain[1:], config)
    deeper = replace(config, finality_depth=depth + 1)
    yield "a proof is believed that is one block too short", not _is_believed(chain, deeper)


def check_trust(draw: Draw) -> Asked:
    """Yield whether only a replica without a final block of its own takes one that it is told and has not followed."""
    config = LongestChainConfig(slot_us=1_000_000, finality_depth=2, fetch_timeout_us=1_000, view_retention=8)
    for _ in range(_ROUNDS):
        own, told = _draw_burial(5, draw), _draw_burial(3 + draw(6), draw)
        engine = LongestChain(me=0, validators=_VALIDATORS, scheme=KeyedScheme(0), config=config, genesis=bytes(32))
        has_own = draw(2) == 0
        engine.replay([], own if has_own else None)
        engine.step(Started())
        engine.step(Received(1 + draw(_VALIDATORS - 1), HeadResponse(told.chain[-1], told)))
        effects = engine.step(TimeoutReached(JOIN_TIMER, 1))
        expected = [] if has_own else [Finalized(told)]
        taken = [effect for effect in effects if isinstance(effect, Finalized)]
        yield "a final block that was not followed takes the place of an own one, or of none", taken == expected


def _draw_burial(height: int, draw: Draw) -> Burial:
    view = height + draw(5)
    leader = view % _VALIDATORS
    first = _Block(height, view, bytes([draw(256)] * 32), leader, leader)
    return Burial(tuple(map(_sealed, _chain(first, [view + 1, view + 2 + draw(2)]))))


def check_heads(draw: Draw) -> Asked:
    """Yield whether a joiner takes the greatest of the heads that it is told, the first validator's among equals."""
    for _ in range(_ROUNDS):
        joining = Joining(0, _VALIDATORS)
        list(joining.begin(1_000))
        heights = {node: 1 + draw(3) for node in range(1, _VALIDATORS) if draw(4)}
        # They answer in any order.
        turn = draw(_VALIDATORS)
        for node in [*heights][turn:] + [*heights][:turn]:
            head = _Block(heights[node], heights[node], bytes(32), node, node)
            joining.hear(node, HeadResponse(_sealed(head), None))
        taken = joining.end(1)
        greatest = max(heights.values(), default=0)
        expected = next((node for node, height in heights.items() if height == greatest), None)
        yield "a joiner takes another head than the greatest", (taken and taken.sender) == expected
