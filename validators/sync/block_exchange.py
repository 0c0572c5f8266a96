"""Targeted backfill of blocks: request missing blocks, and serve blocks to peers.

A request names a digest and a height; the answer is that block and its ancestors above the height. Peers are asked in
turn, one request at a time for a block, again after each timeout, while any goal here waits for the block.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from network.codec import Codec
from network.port import Port
from network.types import Label
from validators.derived import Derived, DerivedSize
from validators.execution import InvalidEncodingError
from validators.execution.blocks import block_digest, decode_sealed, encode_sealed
from validators.messages import BLOCKS_PER_RESPONSE, BlockRelay, BlockRequest, BlockResponse, Message, block_label
from validators.settings import ValidatorSettings
from validators.state import mmr_root
from validators.storage import BlockFile
from validators.sync.follower import Follower, PeerBlock
from validators.sync.seals import Seals
from validators.sync.serving import Answer, Serving

RESPONSE_BYTES_MAX: Final = 8 * 1024 * 1024
"""Ancestors are added while an answer stays within this length; the requested block is sent whatever its size."""

_REQUEST_LABEL: Final = Label(BlockRequest.traced_name)


class BlockExchange:
    """One validator's requests for blocks, and its answers to the requests of peers."""

    def __init__(
        self,
        port: Port,
        codec: Codec[Message],
        follower: Follower,
        block_file: BlockFile,
        *,
        settings: ValidatorSettings,
        serving: Serving,
        seals: Seals,
        refuse: Callable[[str, str], None],
        repaired: Callable[[str, int, str], None],
    ) -> None:
        self._serving = serving
        self._seals = seals
        self._port = port
        self._refuse = refuse
        self._repaired = repaired
        self._codec = codec
        self._follower = follower
        self._block_file = block_file
        self._settings = settings
        self._first_peer: dict[bytes, int] = {}
        self._attempts: dict[bytes, int] = {}
        self._lost: dict[bytes, None] = {}

    def request(self, digest: bytes, first_peer: int | None) -> None:
        """Request a block after a moment of grace, in which the proposer's relay may still arrive."""
        if digest not in self._attempts:
            self._attempts[digest] = 0
            others = self.peers()
            is_peer = first_peer is not None and first_peer != self._settings.node
            self._first_peer[digest] = others.index(first_peer) if is_peer and first_peer is not None else 0
            self._port.set_timer(("fetch", digest), self._settings.fetch_grace_us)

    def restore(self, digest: bytes) -> None:
        """Fetch a finalized block that this validator's own disk has lost from a peer."""
        self._lost[digest] = None
        self.request(digest, None)

    def retry(self, digest: bytes) -> None:
        """Ask the next peer, or stop asking when no goal here waits for the block any more."""
        if digest not in self._lost and digest not in self._follower.missing():
            self._forget(digest)
            return
        others = self.peers()
        if not others:
            return
        peer = others[(self._first_peer[digest] + self._attempts[digest]) % len(others)]
        self._attempts[digest] += 1
        request = BlockRequest(digest, self._follower.layer.finalized.height)
        self._port.send(peer, self._codec.encode(request), _REQUEST_LABEL)
        self._port.set_timer(("fetch", digest), self._settings.fetch_timeout_us)

    def take(self, peer: int, encoded_blocks: Sequence[bytes]) -> str:
        """Keep blocks that a peer sent; return why one was refused, empty for none."""
        for encoded in encoded_blocks[:BLOCKS_PER_RESPONSE]:
            try:
                block, seal = decode_sealed(encoded)
            except InvalidEncodingError as error:
                return self._refused(str(error))
            if mmr_root(block.transactions) != block.header.tx_root:
                # Its digest covers the header alone: if it were kept, it would block the true block.
                return self._refused("tx_root")
            # Before it is kept: a block with a forged seal would block the same block with a sound seal.
            if fault := self._seals.find_fault(block.header, seal):
                return self._refused(fault)
            digest = block_digest(block)
            is_kept = self._follower.add_block(digest, block, PeerBlock(peer, len(encoded)))
            if is_kept:
                self._follower.seal(digest, seal)
                self._seals.report(peer, block.header, seal)
            # A peer whose block is still missing afterwards was of no use: it is not asked again at once.
            if is_kept or digest not in self._follower.missing():
                self._forget(digest)
            if digest in self._lost:
                del self._lost[digest]
                self._block_file.append(height=block.header.height, digest=digest, block=encoded)
                self._repaired("blocks", block.header.height, "from a peer")
        return ""

    def _refused(self, fault: str) -> str:
        self._refuse("block", fault)
        return fault

    def relay(self, digest: bytes) -> None:
        """Send the bytes of a block to everybody."""
        block = self._follower.block(digest)
        if block is not None:
            relay = BlockRelay(encode_sealed(block, self._follower.seal_of(digest)))
            self._port.broadcast(self._codec.encode(relay), block_label(relay, block.header))

    def seal(self, digest: bytes, seal: bytes) -> None:
        """Add a seal to a block that was built here, and report the block to consensus like any other block."""
        self._follower.seal(digest, seal)
        block = self._follower.block(digest)
        if block is not None:
            self._seals.report(self._settings.node, block.header, seal)
            if self._settings.consensus.stores_voted:
                self._block_file.append(height=block.header.height, digest=digest, block=encode_sealed(block, seal))

    def report_sealed(self) -> None:
        """Report every sealed block here to consensus, which has read its journal but not the block file."""
        for block, seal in self._follower.sealed():
            self._seals.report(self._settings.node, block.header, seal)

    def serve(self, peer: int, request: BlockRequest) -> None:
        """Answer with the known part of the chain below the digest; no answer without it, or if none is due."""
        kind = BlockRequest.traced_name
        if not self._serving.may_answer(peer, kind):
            return
        blocks = self.answer_to(request)
        if not blocks:
            self._serving.uncount(peer, kind)
            return
        response = BlockResponse(blocks)
        answer = Answer(peer, response, block_label(response, decode_sealed(blocks[0]).block.header))
        self._serving.prepare(answer, self._settings.costs.serve_block_us * len(blocks))

    def answer_to(self, request: BlockRequest) -> tuple[bytes, ...]:
        """Return the blocks that answer a request, newest first; empty where the block is not here."""
        return tuple(self._chain_below(request))

    def served_from(self, digest: bytes) -> Iterator[tuple[bytes, ...]]:
        """Yield the answers that lead a peer without any block from a block down to genesis, newest first."""
        while blocks := self.answer_to(BlockRequest(digest, 0)):
            yield blocks
            digest = decode_sealed(blocks[-1]).block.header.parent

    def _chain_below(self, request: BlockRequest) -> Iterator[bytes]:
        digest, room_bytes = request.digest, RESPONSE_BYTES_MAX
        for _ in range(BLOCKS_PER_RESPONSE):
            block = self._follower.block(digest)
            encoded = self._read(digest) if block is None else encode_sealed(block, self._follower.seal_of(digest))
            # The requested block is sent whatever its size; its ancestors must fit beside it.
            if encoded is None or (digest != request.digest and len(encoded) > room_bytes):
                return
            room_bytes -= len(encoded)
            yield encoded
            header = (block or decode_sealed(encoded).block).header
            if header.height <= request.floor_height + 1:
                return
            digest = header.parent

    def _read(self, digest: bytes) -> bytes | None:
        """Read a block of our own; a block that turns out to be damaged is fetched again instead of served."""
        was_here = digest in self._block_file
        encoded = self._block_file.get(digest)
        if encoded is None and was_here:
            self.restore(digest)
        return encoded

    def derived(self, views: int) -> Derived:
        """Return the requested blocks beside the needed blocks; `views` is the most views that may need blocks."""
        asked, lost = len(self._attempts), len(self._lost)
        size = DerivedSize("blocks asked for", asked, lost + views, "lost blocks and views that may need one")
        return Derived(
            part="block exchange",
            kept={f"first peer for {digest.hex()}": True for digest in self._first_peer}
            | {f"lost block {digest.hex()}": True for digest in self._lost},
            rebuilt={f"first peer for {digest.hex()}": True for digest in self._attempts}
            | {f"lost block {digest.hex()}": True for digest in self._lost if digest not in self._block_file},
            # A leader may seal any number of branches for its slot, and each of them must be known.
            sizes=() if self._follower.has_branches else (size,),
        )

    def peers(self) -> list[int]:
        """Return the peers in the order in which they are asked; only validators are."""
        count = self._settings.validators
        peers = ((self._settings.node + step) % count for step in range(1, count + 1))
        return [peer for peer in peers if peer != self._settings.node]

    def _forget(self, digest: bytes) -> None:
        if self._attempts.pop(digest, None) is not None:
            del self._first_peer[digest]
            self._port.cancel_timer(("fetch", digest))
