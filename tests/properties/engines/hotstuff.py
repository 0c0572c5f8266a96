"""Seals, waits, locks and commits of a HotStuff case: sound ones, and such as a Byzantine leader may make up.

A block on an older parent than its timeouts show is drawn seldom, a third wait in a row as well, and a chain that is
found below a newer certificate, because its block came late, is made final by the next chain anyway.
"""

from typing import Final

import msgspec
from msgspec.structs import replace

from network.types import MILLISECOND_US
from tests.properties.draws import Asked, Draw
from tests.properties.engines.keyed_scheme import KeyedScheme
from validators.consensus.headers import read_facts
from validators.consensus.hotstuff.casting import Voter
from validators.consensus.hotstuff.config import HotStuffConfig, Profile
from validators.consensus.hotstuff.journal import Memory
from validators.consensus.hotstuff.messages import BlockSeal, QuorumCertificate, TimeoutCertificate
from validators.consensus.hotstuff.sealing import check_seal, encode_seal
from validators.consensus.hotstuff.tree import JustifiedBlock, SealedTree
from validators.consensus.interface import BlockRef, HeaderFacts

_VOTE_NAMESPACE: Final = b"stampede_HOTSTUFF_VOTE"
_TIMEOUT_NAMESPACE: Final = b"stampede_HOTSTUFF_TIMEOUT"
_VALIDATORS: Final = 4
_QUORUM: Final = 3
_WAITS: Final = 8
_CHAINS: Final = 6
_OFFERS: Final = 8
_BLOCKS: Final = 9
_FORGED: Final = b"nobody's"


def check_waits(draw: Draw) -> Asked:
    """Yield whether the wait of a view doubles with each one that is given up, up to the longest."""
    first_us = (1 + draw(2_000)) * MILLISECOND_US
    longest_us = first_us * (1 + draw(40))
    config = HotStuffConfig(
        profile="three-chain", view_timeout_us=first_us, view_timeout_max_us=longest_us, view_retention=8
    )
    expected_us = first_us
    for given_up in range(_WAITS):
        yield "the wait of a view does not double up to the longest", config.wait_us(given_up) == expected_us
        expected_us = min(2 * expected_us, longest_us)
    yield "a validator that is cut off for long waits longer than the longest wait", config.wait_us(1_000) == longest_us


def check_seals(draw: Draw) -> Asked:
    """Yield what is asked of seals, and whether it is so."""
    view = 4 + draw(40)
    gap = 1 + draw(3)
    leader = view // 2 % _VALIDATORS
    facts = HeaderFacts(view, draw.digest(), draw.digest(), 2 + draw(20), leader, b"")
    justify = _certificate(view - gap, facts.parent, draw)
    timeout = _timeouts(view - 1, [justify.view, *(draw(justify.view + 1) for _ in range(2))], draw)
    sound = BlockSeal(justify, _vote(leader, view, facts.digest), timeout)
    # Where the parent is of the view before, no timeouts say anything.
    sound = sound if gap > 1 else replace(sound, timeout=None)
    yield "a sound seal is refused", _is_sound(facts, sound)
    stranger = (leader + 1 + draw(_VALIDATORS - 1)) % _VALIDATORS
    blocks = {
        "another leader's block": facts._replace(proposer=stranger),
        "a block of a view that the leader does not lead": facts._replace(view=view + 2),
        "a block on another parent": facts._replace(parent=draw.digest()),
        "a block that nobody voted for": facts._replace(digest=draw.digest()),
        "a first block with a certificate that is not of genesis": facts._replace(height=1),
    }
    for what, block in blocks.items():
        yield f"a seal of {what} is sound", not _is_sound(block, sound)
    seals = {
        "a certificate of its own view": replace(sound, justify=_certificate(view, facts.parent, draw)),
        "a certificate of genesis, far above it": replace(sound, justify=QuorumCertificate(0, facts.parent, b"", ())),
        "a certificate that nobody signed": replace(sound, justify=replace(justify, signatures=(_FORGED,) * _QUORUM)),
        "a vote that nobody signed": replace(sound, vote=_FORGED),
        "another's vote": replace(sound, vote=_vote(stranger, view, facts.digest)),
        "timeouts of another view": replace(sound, timeout=_timeouts(view - 2, [0, 0, 0], draw)),
        "timeouts that nobody signed": replace(sound, timeout=replace(timeout, signatures=(_FORGED,) * _QUORUM)),
    }
    if gap > 1:
        newer = _timeouts(view - 1, [justify.view, justify.view + 1, draw(justify.view + 1)], draw)
        seals["timeouts that show a newer certificate"] = replace(sound, timeout=newer)
    for what, seal in seals.items():
        yield f"a seal with {what} is sound", not _is_sound(facts, seal)
    yield "bytes behind a seal are passed over", not _is_valid(facts, encode_seal(sound) + b"\0")


def check_locks(draw: Draw) -> Asked:
    """Yield whether a block gets a vote just where a lock, or the timeouts it shows, let it have one."""
    for _ in range(_OFFERS):
        below = 1 + draw(6)
        justify = _certificate(below, draw.digest(), draw)
        view = below + 1 + draw(2)
        timeout = _timeouts(view - 1 - draw(2), [below - draw(2), below - 1 + draw(3), 0], draw) if draw(3) else None
        facts = HeaderFacts(view, draw.digest(), justify.digest, 2, 0, b"")
        locked = BlockRef(max(below - 1 + draw(3), 1), draw.digest())
        # Of one view there are two certified blocks only beyond the faults that are borne; a vote asks all the same.
        locked = locked if locked.view != below or draw(2) else BlockRef(below, justify.digest)
        memory = Memory(justify, locked, view=view - draw(2), last_voted=view - 1 + draw(2))
        profile: Profile = ("three-chain", "two-chain")[draw(2)]
        config = HotStuffConfig(profile=profile, view_timeout_us=1, view_timeout_max_us=1, view_retention=8)
        admitted = below > locked.view or locked == BlockRef(below, justify.digest)
        if profile == "two-chain":
            shows = timeout is not None and timeout.view == view - 1 and max(timeout.high_views) <= below
            admitted = below == view - 1 or shows
        expected = admitted and memory.view == view and memory.last_voted < view
        voter = Voter(0, KeyedScheme(0), config)
        voted = voter.may_vote_for(memory, JustifiedBlock(facts, justify, timeout))
        yield f"a block gets a vote where {profile} has none for it, or none where it has one", voted == expected


def check_commits(draw: Draw) -> Asked:
    """Yield whether the highest chain of consecutive views is found below a certificate, and no other."""
    for _ in range(_CHAINS):
        length = 2 + draw(2)
        tree = SealedTree()
        below = QuorumCertificate(0, bytes(32), b"", ())
        chain: list[JustifiedBlock] = []
        for height in range(1, _BLOCKS):
            view = below.view + 1 + (draw(3) == 0)
            facts = read_facts(msgspec.msgpack.encode([1, height, 0, view, below.digest, 0, b"", 0]))
            assert facts is not None, "a header as the engine reads it"
            chain.append(JustifiedBlock(facts, below, None))
            below = QuorumCertificate(view, facts.digest, b"", ())
        # One block is missing in some, and hides all below it.
        missing = draw(2 * _BLOCKS)
        for place, block in enumerate(chain):
            if place != missing:
                tree.add(block)
        final_view = draw(5)
        known = chain[missing + 1 :] if missing < len(chain) else chain
        commit = tree.find_commit(below, final_view, length)
        found = None if commit is None else list(commit.headers)
        yield (
            "another chain is committed than the highest of consecutive views",
            found == _committed(known, final_view, length),
        )


def _committed(known: list[JustifiedBlock], final_view: int, length: int) -> list[bytes] | None:
    """Return the headers of the highest run of blocks of consecutive views above the final one."""
    for first in range(len(known) - length, -1, -1):
        run = [block.facts for block in known[first : first + length]]
        if run[0].view > final_view and run[-1].view - run[0].view == length - 1:
            return [facts.header for facts in run]
    return None


def _is_sound(facts: HeaderFacts, seal: BlockSeal) -> bool:
    return _is_valid(facts, encode_seal(seal))


def _is_valid(facts: HeaderFacts, encoded: bytes) -> bool:
    return check_seal(KeyedScheme(0), facts, encoded, _VALIDATORS).ok


def _signers(draw: Draw) -> tuple[list[int], bytes]:
    """Return a quorum that leaves one out, and its bitmap."""
    left_out = draw(_VALIDATORS)
    signers = [signer for signer in range(_VALIDATORS) if signer != left_out]
    return signers, bytes([sum(1 << signer for signer in signers)])


def _certificate(view: int, digest: bytes, draw: Draw) -> QuorumCertificate:
    signers, bitmap = _signers(draw)
    return QuorumCertificate(view, digest, bitmap, tuple(_vote(signer, view, digest) for signer in signers))


def _timeouts(view: int, high_views: list[int], draw: Draw) -> TimeoutCertificate:
    signers, bitmap = _signers(draw)
    turn = draw(_QUORUM)
    turned = [*high_views[turn:], *high_views[:turn]]
    signatures = tuple(
        KeyedScheme(signer).sign(_TIMEOUT_NAMESPACE, _varint(view) + _varint(high))
        for signer, high in zip(signers, turned, strict=True)
    )
    return TimeoutCertificate(view, bitmap, tuple(turned), signatures)


def _vote(signer: int, view: int, digest: bytes) -> bytes:
    return KeyedScheme(signer).sign(_VOTE_NAMESPACE, _varint(view) + digest)


def _varint(number: int) -> bytes:
    """Return the encoding of a number in sevens of bits, the lowest first."""
    groups = bytearray()
    while number >= 0x80:
        groups.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*groups, number])
