"""Noise: meaningless messages, and more messages than a validator needs."""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Final

from faults.byzantine.adversary import Behaviour, Outgoing
from faults.byzantine.answers import exchange_body
from network.types import NO_LABEL, Label
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
"""The number of rounds of each kind of request in a flood, at each occasion."""

BLOCKS_AT_ONCE: Final = 40
CERTIFICATES_AT_ONCE: Final = 100
VIEWS_AHEAD: Final = 1_000
"""The number of future views of the forged certificates of a flood."""

BLOCK_BYTES: Final = 4_096

_HEIGHT_FAR: Final = 1 << 62
_INDEX_FAR: Final = 1 << 40


class _Noise(Behaviour):
    """Sends an additional message at each vote."""

    def tamper(self, outgoing: Outgoing) -> Iterable[Outgoing]:
        """Add noise to a vote."""
        if self.adversary.role_of(outgoing.message) != "vote" or not self.is_time():
            return (outgoing,)
        return (outgoing, *self._noise(outgoing))

    def _noise(self, outgoing: Outgoing) -> Iterator[Outgoing]:
        for message in self.make():
            label = NO_LABEL if isinstance(message, bytes) else Label(message.traced_name)
            self.note(label.kind or "bytes", outgoing.to)
            # As bytes: another behaviour would decode a message, and a senseless message cannot be decoded.
            said = message if isinstance(message, bytes) else self.adversary.codec.encode(message)
            yield Outgoing(outgoing.to, said, label)

    def make(self) -> Iterable[Message | bytes]:
        """Return the additional messages."""
        raise NotImplementedError

    def junk_block(self) -> Block:
        """Return a block far above the chain, which no validator can execute."""
        height = _HEIGHT_FAR + self.draw(1 << 20)
        digests = [self.junk(32) for _ in range(4)]
        body = (self.junk(32) * (BLOCK_BYTES // 32),)
        digests[2] = mmr_root(body)
        header = Header(VERSION, height, 0, height, digests[0], 0, 0, height, digests[1], digests[2], digests[3])
        return Block(header, body)


class Garbage(_Noise):
    """Sends invalid bytes and senseless messages, and to a single receiver its own block with another body."""

    def tamper(self, outgoing: Outgoing) -> Iterable[Outgoing]:
        """Add noise to a vote, and change the body of a block for a single receiver."""
        if isinstance(outgoing.message, BlockRelay):
            return exchange_body(self, outgoing, outgoing.message)
        return super().tamper(outgoing)

    def make(self) -> Iterable[Message | bytes]:
        """Return a senseless message, or invalid bytes."""
        votes = partial(self.adversary.votes.senseless_votes, self)
        makers = (self._bytes, self._requests, self._blocks, self._snapshots, votes)
        return makers[self.draw(len(makers))]()

    def _bytes(self) -> Iterator[bytes]:
        yield self.junk(1 + self.draw(200))
        yield bytes([0x91]) * 500
        yield b""

    def _requests(self) -> Iterator[Message]:
        yield BlockRequest(self.junk(32), -1)
        yield BlockRequest(b"", _HEIGHT_FAR)
        yield from self.adversary.votes.senseless_requests()
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
        certificate = self.adversary.votes.senseless_finality(self)
        outline = Snapshot(_HEIGHT_FAR, 0, 0, self.junk(32), self.junk(10), (), ())
        yield SnapshotOffer(self.junk(40), certificate, outline, 1)
        yield SnapshotChunk(self.junk(32), 0, (b"",))
        # Only offers carry proofs of other engines.
        if self.adversary.role_of(certificate):
            yield certificate
        yield from self.adversary.votes.senseless_answers()


class Flood(_Noise):
    """Sends many requests, unrequested blocks, or forged certificates; `what` selects the form, by default all."""

    def make(self) -> Iterator[Message | bytes]:
        """Return the messages of a flood."""
        if self.fault.what in {"", "requests"}:
            for _ in range(REQUESTS_AT_ONCE):
                yield from self._requests()
        if self.fault.what in {"", "blocks"}:
            for _ in range(BLOCKS_AT_ONCE):
                yield BlockRelay(encode_block(self.junk_block()))
        if self.fault.what in {"", "certificates"}:
            yield from self._certificates()

    def _certificates(self) -> Iterator[Message]:
        """Return well-formed certificates, each of another block of a future view; their signatures are junk."""
        layer = self.adversary.layer
        assert layer is not None, "who votes has a layer"
        views = (layer.finalized.view + 1 + self.draw(VIEWS_AHEAD) for _ in range(CERTIFICATES_AT_ONCE))
        return self.adversary.votes.unsigned_finalities(self, views)

    def _requests(self) -> Iterator[Message]:
        layer = self.adversary.layer
        assert layer is not None, "who votes has a layer"
        until_view = max(layer.finalized.view, 1)
        yield BlockRequest(layer.finalized_digest, 0)
        yield from self.adversary.votes.old_requests(self, until_view)
        yield SnapshotRequest(0)
        yield from self.adversary.votes.old_votes(self, until_view)
