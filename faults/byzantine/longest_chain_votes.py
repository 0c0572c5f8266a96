"""The messages of an adversary under the longest chain: headers sealed with its key, and invented headers."""

import itertools
from collections.abc import Iterable, Iterator
from typing import ClassVar

import msgspec

from faults.byzantine.engine_votes import Junk
from network.types import NodeId
from validators.consensus.interface import EngineConfig, Finality
from validators.consensus.longest_chain import (
    Announcement,
    Burial,
    HeadRequest,
    HeadResponse,
    LongestChainConfig,
    SealedHeader,
)
from validators.consensus.longest_chain.election import leader_of
from validators.consensus.longest_chain.messages import facts_of
from validators.consensus.longest_chain.sealing import SEAL_NAMESPACE
from validators.consensus.signing import Scheme
from validators.execution.blocks import VERSION, Header, decode_header, encode_header, header_digest

_HEADERS_KEPT = 64


class LongestChainVotes:
    """Seals any header, and remembers the headers that it has sealed, by their digests."""

    FINALITY_FORMS: ClassVar[tuple[str, ...]] = ("short", "gap", "height", "slot", "leader", "seal")

    def __init__(self, node: NodeId, validators: int, scheme: Scheme, config: EngineConfig) -> None:
        assert isinstance(config, LongestChainConfig), "the engine's own"
        self._node = node
        self._validators = validators
        self._scheme = scheme
        self._config = config
        self._headers: dict[bytes, Header] = {}

    # -- for general behaviours ----------------------------------------------------------------

    def observe(self, _message: object) -> None:
        """Do nothing: the longest chain needs no memory of messages."""

    def remember(self, vote: Announcement) -> None:
        """Do nothing: the longest chain needs no memory of announcements."""

    def proposes(self, message: object) -> bool:
        """Whether a message announces this validator's block."""
        facts = facts_of(message) if isinstance(message, Announcement) else None
        return facts is not None and facts.proposer == self._node

    def block_of(self, message: object) -> bytes | None:
        """Return the digest of the block that a message announces, None for another message."""
        facts = facts_of(message) if isinstance(message, Announcement) else None
        return None if facts is None else facts.digest

    def vote_for(self, vote: Announcement, digest: bytes) -> Announcement:
        """Return an announcement of another block; without a known header, with an invented root in its header."""
        header = self._headers.get(digest)
        if header is None:
            header = msgspec.structs.replace(decode_header(vote.block.header), state_root=digest)
        return Announcement(self._sealed(header))

    def impersonated(self, vote: Announcement, victim: NodeId) -> Announcement:
        """Return an announcement of a block in a later slot of another validator, with this validator's seal."""
        header = decode_header(vote.block.header)
        above = {"parent": header_digest(header), "height": header.height + 1}
        view = next(each for each in itertools.count(header.view + 1) if self.leader(each) == victim)
        return Announcement(self._sealed(msgspec.structs.replace(header, view=view, proposer=victim, **above)))

    def seal_for(self, header: Header, _seal: bytes) -> bytes:
        """Return the seal of a block, whose header is remembered."""
        self._headers[header_digest(header)] = header
        while len(self._headers) > _HEADERS_KEPT:
            del self._headers[next(iter(self._headers))]
        return self._scheme.sign(SEAL_NAMESPACE, header_digest(header))

    def thinned(self, finality: Finality) -> Burial:
        """Return a proof of depth without its last header."""
        assert isinstance(finality, Burial), "the engine's own"
        return Burial(finality.chain[:-1] or finality.chain)

    def broken_finality(self, form: str, finality: Finality) -> Burial:
        """Return a proof without a header, or with an extra header: not linked, of another leader, or forged.

        Except in the forged header all seals are true.
        """
        assert isinstance(finality, Burial), "the engine's own"
        if form not in self.FINALITY_FORMS:
            raise ValueError(f"no form of a broken finality: {form!r}")
        chain = finality.chain
        if form == "short":
            return self.thinned(finality)
        last = decode_header(chain[-1].header)
        height, view = last.height + 1, last.view + 1
        while (self.leader(view) == self._node) == (form in ("leader", "seal")) or self.leader(view) is None:
            view += 1
        if form == "slot":
            view = next((each for each in range(last.view, 0, -1) if self.leader(each) == self._node), view)
        proposer = self.leader(view) if form == "seal" else self._node
        assert proposer is not None, "the slot has a leader"
        header = msgspec.structs.replace(
            last,
            parent=bytes(32) if form == "gap" else header_digest(last),
            height=height + (form == "height"),
            view=view,
            proposer=proposer,
        )
        return Burial((*chain, self._sealed(header)))

    def old_requests(self, _junk: Junk, _until_view: int) -> Iterator[HeadRequest]:
        """Yield a request for the head."""
        yield HeadRequest()

    def old_votes(self, junk: Junk, until_view: int) -> Iterator[Announcement]:
        """Yield an announcement of a block of a past slot."""
        yield Announcement(self._sealed(self._made_up(junk, 1 + junk.draw(until_view), self._node)))

    def unsigned_finalities(self, junk: Junk, views: Iterable[int]) -> Iterator[Announcement]:
        """Yield an announcement for each slot, with a junk seal: blocks above a block make it final."""
        for view in views:
            header = self._made_up(junk, view, self.leader(view) or 0)
            yield Announcement(SealedHeader(encode_header(header), junk.junk(64)))

    def senseless_requests(self) -> Iterator[HeadRequest]:
        """Yield nothing: the only request of the engine always makes sense."""
        yield from ()

    def senseless_finality(self, junk: Junk) -> Burial:
        """Return a proof with an invalid header."""
        return Burial((SealedHeader(junk.junk(40), junk.junk(64)),))

    def senseless_answers(self) -> Iterator[HeadResponse]:
        """Yield an answer that names no head."""
        yield HeadResponse(SealedHeader(b"", b""), None)

    def senseless_votes(self, junk: Junk) -> Iterator[Announcement]:
        """Yield announcements without a header, of a block of slot 0, and of another validator's block."""
        yield Announcement(SealedHeader(junk.junk(40), junk.junk(64)))
        yield Announcement(self._sealed(self._made_up(junk, 0, self._node)))
        yield Announcement(self._sealed(self._made_up(junk, 1 + junk.draw(40), junk.draw(self._validators))))

    # -- for behaviours of the longest chain ---------------------------------------------------

    def leader(self, view: int) -> NodeId | None:
        """Return the leader of a slot, None if the lottery chose no leader."""
        return leader_of(view, self._validators, self._config)

    def first_time_ms(self, view: int) -> int:
        """Return the earliest valid time of a block of a slot."""
        return self._config.times_of(view).start

    def _sealed(self, header: Header) -> SealedHeader:
        return SealedHeader(encode_header(header), self.seal_for(header, b""))

    def _made_up(self, junk: Junk, view: int, proposer: NodeId) -> Header:
        """Return the header of a block that does not exist, on a parent that does not exist."""
        parent, state_root, tx_root, receipts_root = (junk.junk(32) for _ in range(4))
        height, time_ms = 1 + view, self.first_time_ms(view)
        return Header(VERSION, height, 0, view, parent, proposer, view, time_ms, state_root, tx_root, receipts_root)
