"""Noise: messages that mean nothing, and more messages than anybody needs."""

from collections.abc import Iterable, Iterator
from typing import Final

from faults.byzantine.adversary import Behaviour, Outgoing
from network.types import NO_LABEL, Label
from validators.consensus.quorum import quorum_of
from validators.consensus.simplex import (
    CertificateRequest,
    CertificateResponse,
    Finalization,
    Finalize,
    Notarize,
    Nullification,
    Nullify,
    Proposal,
)
from validators.consensus.simplex.certificates import encode_signers
from validators.consensus.simplex.messages import VIEW_LIMIT
from validators.execution import Block
from validators.execution.blocks import VERSION, Header, encode_block
from validators.messages import (
    BlockRelay,
    BlockRequest,
    BlockResponse,
    Message,
    SnapshotChunk,
    SnapshotChunkRequest,
    SnapshotOffer,
    SnapshotRequest,
    TransactionGossip,
)
from validators.state import Snapshot, mmr_root

REQUESTS_AT_ONCE: Final = 12
"""Rounds of each kind of request in a flood, at each occasion."""

BLOCKS_AT_ONCE: Final = 40
CERTIFICATES_AT_ONCE: Final = 100
VIEWS_AHEAD: Final = 1_000
"""The forged certificates of a flood are of this many views to come."""

BLOCK_BYTES: Final = 4_096

_HEIGHT_FAR: Final = 1 << 62
_INDEX_FAR: Final = 1 << 40


class _Noise(Behaviour):
    """Says something besides at each vote."""

    def tamper(self, outgoing: Outgoing) -> Iterable[Outgoing]:
        """Add noise to a vote."""
        if not isinstance(outgoing.message, Notarize | Nullify | Finalize) or not self.is_time():
            return (outgoing,)
        return (outgoing, *self._noise(outgoing))

    def _noise(self, outgoing: Outgoing) -> Iterator[Outgoing]:
        for message in self.make():
            label = NO_LABEL if isinstance(message, bytes) else Label(message.traced_name)
            self.note(label.kind or "bytes", outgoing.to)
            yield Outgoing(outgoing.to, message, label)

    def make(self) -> Iterable[Message | bytes]:
        """Return what is said besides."""
        raise NotImplementedError

    def junk(self, length: int) -> bytes:
        """Return bytes of this fault's own chance."""
        return b"".join(self.draw(1 << 32).to_bytes(4, "big") for _ in range(-(-length // 4)))[:length]

    def junk_block(self) -> Block:
        """Return a block far above the chain, which no validator can execute."""
        height = _HEIGHT_FAR + self.draw(1 << 20)
        digests = [self.junk(32) for _ in range(4)]
        body = (self.junk(32) * (BLOCK_BYTES // 32),)
        digests[2] = mmr_root(body)
        header = Header(VERSION, height, 0, height, digests[0], 0, 0, height, digests[1], digests[2], digests[3])
        return Block(header, body)


class Garbage(_Noise):
    """Sends bytes that are no message, and messages that make no sense."""

    def make(self) -> Iterable[Message | bytes]:
        """Return one of many."""
        makers = (self._bytes, self._requests, self._blocks, self._snapshots, self._votes)
        return makers[self.draw(len(makers))]()

    def _bytes(self) -> Iterator[bytes]:
        yield self.junk(1 + self.draw(200))
        yield bytes([0x91]) * 500
        yield b""

    def _requests(self) -> Iterator[Message]:
        yield BlockRequest(self.junk(32), -1)
        yield BlockRequest(b"", _HEIGHT_FAR)
        yield CertificateRequest(0)
        yield CertificateRequest(VIEW_LIMIT - 1)
        yield SnapshotRequest(-_HEIGHT_FAR)
        yield SnapshotChunkRequest(self.junk(32), -1)
        yield SnapshotChunkRequest(b"", _INDEX_FAR)

    def _blocks(self) -> Iterator[Message]:
        yield BlockRelay(self.junk(100))
        yield BlockRelay(b"")
        yield BlockResponse(())
        yield BlockResponse((encode_block(self.junk_block()), self.junk(8)))
        yield TransactionGossip((self.junk(60), b"", self.junk(200)))

    def _snapshots(self) -> Iterator[Message]:
        proposal = Proposal(VIEW_LIMIT - 1, 0, self.junk(32))
        certificate = Finalization(proposal, b"\x0f", (self.junk(64),) * 4)
        outline = Snapshot(_HEIGHT_FAR, 0, 0, self.junk(32), self.junk(10), (), ())
        yield SnapshotOffer(self.junk(40), certificate, outline, 1)
        yield SnapshotChunk(self.junk(32), 0, (b"",))
        yield certificate
        yield CertificateResponse(0, Nullification(VIEW_LIMIT - 1, b"", ()))

    def _votes(self) -> Iterator[Message]:
        victim = self.draw(self.adversary.validators)
        yield Nullify(victim, 1 + self.draw(40), self.junk(64))
        yield Notarize(self.adversary.node, Proposal(1 + self.draw(40), 0, self.junk(32)), self.junk(64))
        yield Finalize(victim, Proposal(0, 0, self.junk(32)), b"")


class Flood(_Noise):
    """Sends many requests, unasked blocks, or certificates that nobody signed; `what` says which, by default all."""

    def make(self) -> Iterator[Message | bytes]:
        """Return all of a flood's part."""
        if self.fault.what in {"", "requests"}:
            for _ in range(REQUESTS_AT_ONCE):
                yield from self._requests()
        if self.fault.what in {"", "blocks"}:
            for _ in range(BLOCKS_AT_ONCE):
                yield BlockRelay(encode_block(self.junk_block()))
        if self.fault.what in {"", "certificates"}:
            yield from self._certificates()

    def _certificates(self) -> Iterator[Message]:
        """Yield certificates of the right form, each of another block of a view to come; their signatures are junk."""
        engine, quorum = self.adversary.engine, quorum_of(self.adversary.validators)
        assert engine is not None, "who votes has an engine"
        signers, signatures = encode_signers(range(quorum), self.adversary.validators), (self.junk(64),) * quorum
        for _ in range(CERTIFICATES_AT_ONCE):
            view = engine.finalized.view + 1 + self.draw(VIEWS_AHEAD)
            yield Finalization(Proposal(view, view - 1, self.junk(32)), signers, signatures)

    def _requests(self) -> Iterator[Message]:
        engine = self.adversary.engine
        assert engine is not None, "who votes has an engine"
        yield BlockRequest(engine.finalized_digest, 0)
        yield CertificateRequest(1 + self.draw(max(engine.finalized.view, 1)))
        yield SnapshotRequest(0)
        yield self.adversary.votes.nullify(1 + self.draw(max(engine.finalized.view, 1)))
