"""Joining from a peer's snapshot instead of executing every block, and serving a snapshot.

A validator that is far behind asks its peers in turn. A peer's offer holds a finalized header with its certificate and
the snapshot without its operations, which follow in pieces. The joiner trusts none of it. The certificate must be a
quorum's over the header. The witness must lead from the operations' root to the header's state root. The assembled
pieces must give both roots again (`verify_snapshot`). A bad offer or a silent peer is refused with a reason, and the
next peer is asked. When every peer has failed, the joiner fetches the blocks instead.

Memory is bounded on both sides. A server keeps one snapshot cut into pieces, and prepares one answer for a peer at a
time. A joiner accepts pieces of one offer, in order, and no more operations than the outline says.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from network.codec import Codec
from network.port import Port
from network.types import Label
from validators.consensus.interface import Finality
from validators.consensus.signing import Scheme
from validators.derived import Derived, DerivedSize
from validators.execution import ExecutionLayer, InvalidEncodingError
from validators.execution.blocks import Header, decode_header, encode_header, header_digest
from validators.messages import (
    Message,
    SnapshotChunk,
    SnapshotChunkRequest,
    SnapshotOffer,
    SnapshotRequest,
    block_label,
)
from validators.settings import ValidatorSettings
from validators.state import ForgedSnapshot, Snapshot
from validators.sync.serving import Answer, Serving

ATTEMPTS: Final = 3
"""Requests to one peer before the next peer is asked, because a message may be lost."""

CHUNKS_MAX: Final = 65_536
"""Most pieces of a snapshot; an offer of more is refused."""

OPERATIONS_BYTES_MAX: Final = 1 << 30
"""Most bytes of a snapshot's operations; the true length is known only when all of them are here."""

TIMER: Final = ("snapshot",)
"""The joiner's timer: the peer that was asked has had its time to answer."""


class Checked(NamedTuple):
    """A snapshot whose recomputation has taken its virtual time."""

    peer: int
    offer: SnapshotOffer[Finality]
    operations: tuple[bytes, ...]


class _Cut(NamedTuple):
    """The snapshot that is served."""

    header: Header
    digest: bytes
    offer: SnapshotOffer[Finality]
    chunks: list[tuple[bytes, ...]]


class SnapshotSource:
    """Serves snapshots of one validator's finalized state.

    `finality` returns the certificate of the layer's finalized block, None where it is not known.
    """

    def __init__(
        self,
        layer: ExecutionLayer,
        settings: ValidatorSettings,
        serving: Serving,
        *,
        finality: Callable[[], Finality | None],
    ) -> None:
        self._layer = layer
        self._settings = settings
        self._serving = serving
        self._finality = finality
        self._cut: _Cut | None = None

    def offer(self, peer: int, request: SnapshotRequest) -> None:
        """Prepare the outline of a snapshot above the peer's height; no answer without one, or if none is due yet."""
        is_here = request.above_height < self._layer.finalized.height
        if not is_here or not self._serving.may_answer(peer, SnapshotRequest.traced_name):
            return
        cost_us = self._refresh(request.above_height)
        cut = self._cut
        if cut is not None and cut.header.height > request.above_height:
            self._serving.prepare(Answer(peer, cut.offer, block_label(cut.offer, cut.header)), cost_us)

    def serve(self, peer: int, request: SnapshotChunkRequest) -> None:
        """Answer with one piece; no answer when the snapshot has been replaced in the meantime.

        Pieces have no limit per second: a joiner asks for a piece only after it has received the piece before.
        """
        cut = self._cut
        if cut is None or cut.digest != request.digest or not 0 <= request.index < len(cut.chunks):
            return
        if self._serving.is_free(peer, SnapshotChunkRequest.traced_name):
            chunk = SnapshotChunk(cut.digest, request.index, cut.chunks[request.index])
            answer = Answer(peer, chunk, block_label(chunk, cut.header))
            self._serving.prepare(answer, self._settings.costs.block_us)

    def derived(self) -> Derived:
        """Return the served snapshot, beside the snapshot derived from its header and its outline."""
        cut = self._cut
        if cut is None:
            return Derived(part="snapshot that is served")
        outline, chunk_bytes = cut.offer.outline, self._settings.snapshot_chunk_bytes
        # Every piece was below the limit before its last operation.
        fullest_bytes = max((sum(map(len, chunk[:-1])) for chunk in cut.chunks), default=0)
        return Derived(
            part="snapshot that is served",
            kept={"digest": cut.digest, "operations": sum(map(len, cut.chunks)), "pieces": len(cut.chunks)},
            rebuilt={
                "digest": header_digest(cut.header),
                "operations": outline.size - outline.start,
                "pieces": cut.offer.chunks,
            },
            sizes=(
                DerivedSize("height", cut.header.height, self._layer.finalized.height, "final height"),
                DerivedSize("bytes before a piece's last operation", fullest_bytes, chunk_bytes - 1, "piece bytes - 1"),
            ),
        )

    def _refresh(self, above_height: int) -> int:
        """Take a new snapshot unless the last one is recent and above the requested height.

        Return its cost in virtual microseconds.
        """
        costs = self._settings.costs
        header, certificate = self._layer.finalized, self._finality()
        age_blocks = header.height if self._cut is None else header.height - self._cut.header.height
        is_of_use = self._cut is not None and self._cut.header.height > above_height
        # After a start the certificate may come from the journal, without its proof: peers would refuse the offer.
        is_provable = certificate is not None and certificate.is_proved
        if certificate is None or not is_provable or (is_of_use and age_blocks < self._settings.snapshot_gap_blocks):
            return costs.block_us
        snapshot = self._layer.snapshot()
        chunks = list(cut_operations(snapshot.operations, self._settings.snapshot_chunk_bytes))
        outline = Snapshot(
            snapshot.size, snapshot.start, snapshot.floor, snapshot.root, snapshot.witness, snapshot.peaks, ()
        )
        offer = SnapshotOffer(encode_header(header), certificate, outline, len(chunks))
        self._cut = _Cut(header, self._layer.finalized_digest, offer, chunks)
        return costs.block_us + costs.hash_write_us * len(snapshot.operations)


def cut_operations(operations: Sequence[bytes], chunk_bytes: int) -> Iterator[tuple[bytes, ...]]:
    """Yield the operations in pieces; a piece closes once it has `chunk_bytes`."""
    piece: list[bytes] = []
    room_bytes = chunk_bytes
    for operation in operations:
        piece.append(operation)
        room_bytes -= len(operation)
        if room_bytes <= 0:
            yield tuple(piece)
            piece, room_bytes = [], chunk_bytes
    if piece:
        yield tuple(piece)


@dataclass(slots=True)
class _Download:
    """One offer, and the pieces of it that have come."""

    offer: SnapshotOffer[Finality]
    digest: bytes
    pieces: int = 0
    operations: list[bytes] = field(default_factory=list)
    length_bytes: int = 0

    @property
    def expected(self) -> int:
        """The number of operations that the outline promises."""
        return self.offer.outline.size - self.offer.outline.start


class SnapshotJoin:
    """One validator's download of a peer's snapshot.

    `joined` gets header, snapshot and the header's finality once they are proved. `give_up` is called when every peer
    has failed. `refuse` gets the fault of each peer.
    """

    def __init__(
        self,
        port: Port,
        codec: Codec[Message],
        layer: ExecutionLayer,
        settings: ValidatorSettings,
        *,
        scheme: Scheme,
        joined: Callable[[Header, Snapshot, Finality], None],
        give_up: Callable[[], None],
        refuse: Callable[[str, str], None],
    ) -> None:
        self._port = port
        self._codec = codec
        self._layer = layer
        self._settings = settings
        self._scheme = scheme
        self._joined = joined
        self._give_up = give_up
        self._refuse = refuse
        self._peers: list[int] = []
        self._attempts = 0
        self._download: _Download | None = None
        self._is_checking = False

    def begin(self, peers: Sequence[int]) -> None:
        """Ask the peers for a snapshot above the finalized height, in this order."""
        self._peers = list(peers)
        if self._peers:
            self._ask()
        else:
            self._give_up()

    def take_offer(self, peer: int, offer: SnapshotOffer[Finality]) -> None:
        """Check an offer, and ask for its first piece."""
        if not self._is_asked(peer) or self._download is not None:
            self._refuse("snapshot", "was not asked for")
            return
        try:
            header = decode_header(offer.header)
        except InvalidEncodingError as error:
            self._go_on(f"header: {error}")
            return
        before = self._scheme.verified
        reason = self._find_fault(header, offer)
        self._port.spend((self._scheme.verified - before) * self._settings.costs.verify_signature_us)
        if reason:
            self._go_on(reason)
            return
        self._download = _Download(offer, header_digest(header))
        self._attempts = 0
        self._ask()

    def take_chunk(self, peer: int, chunk: SnapshotChunk) -> None:
        """Add a piece; after the last piece recompute the snapshot."""
        download = self._download
        if (
            download is None
            or not self._is_asked(peer)
            or (chunk.digest, chunk.index)
            != (
                download.digest,
                download.pieces,
            )
        ):
            self._refuse("snapshot", "piece was not asked for")
            return
        download.operations += chunk.operations
        download.length_bytes += sum(map(len, chunk.operations))
        download.pieces += 1
        is_last = download.pieces == download.offer.chunks
        if len(download.operations) > download.expected or not chunk.operations:
            self._go_on("truncated: a piece is empty or too long")
        elif download.length_bytes > OPERATIONS_BYTES_MAX:
            self._go_on(f"its operations are longer than {OPERATIONS_BYTES_MAX:,} bytes")
        elif is_last and len(download.operations) < download.expected:
            self._go_on(f"truncated: {len(download.operations)} operations of {download.expected}")
        elif is_last:
            self._is_checking = True
            self._port.cancel_timer(TIMER)
            cost_us = self._check_cost_us(download)
            self._port.work(cost_us, Checked(peer, download.offer, tuple(download.operations)))
        else:
            self._attempts = 0
            self._ask()

    def check(self, token: Checked) -> None:
        """Recompute everything from the operations, and hand over the state if its roots are those of the header."""
        self._is_checking = False
        outline, header = token.offer.outline, decode_header(token.offer.header)
        snapshot = Snapshot(
            outline.size, outline.start, outline.floor, outline.root, outline.witness, outline.peaks, token.operations
        )
        try:
            self._layer.verify_snapshot(header, snapshot)
        except ForgedSnapshot as error:
            self._go_on(str(error))
            return
        self._peers, self._download = [], None
        self._joined(header, snapshot, token.offer.certificate)

    def retry(self) -> None:
        """Ask the silent peer again, or the next peer."""
        if not self._peers or self._is_checking:
            return
        self._attempts += 1
        if self._attempts < ATTEMPTS:
            self._ask()
        else:
            self._go_on("unanswered")

    def derived(self) -> Derived:
        """Return the download beside its offer and pieces as derived; without a peer to ask there is no download."""
        download, validators = self._download, self._settings.validators
        others = validators - (self._settings.node < validators)
        peers = DerivedSize("peers to ask", len(self._peers), others, "other validators")
        if download is None:
            return Derived(part="snapshot download", sizes=(peers,))
        return Derived(
            part="snapshot download",
            kept={"bytes": download.length_bytes, "has a peer": bool(self._peers)},
            rebuilt={"bytes": sum(map(len, download.operations)), "has a peer": True},
            sizes=(
                peers,
                DerivedSize("pieces", download.pieces, download.offer.chunks, "pieces of the offer"),
                DerivedSize("operations", len(download.operations), download.expected, "operations of the offer"),
                DerivedSize("bytes", download.length_bytes, OPERATIONS_BYTES_MAX, "OPERATIONS_BYTES_MAX"),
            ),
        )

    def _is_asked(self, peer: int) -> bool:
        return self._peers[:1] == [peer] and not self._is_checking

    def _find_fault(self, header: Header, offer: SnapshotOffer[Finality]) -> str:
        """Return the fault of an offer, "" without one; after this check only its operations are unproved."""
        finality, outline = offer.certificate, offer.outline
        if header_digest(header) != finality.digest or header.view != finality.view:
            return "header: the certificate is of another block"
        if header.height <= self._layer.finalized.height:
            return f"header: height {header.height} is not above {self._layer.finalized.height}"
        settings = self._settings
        if not settings.consensus.verify_finality(
            self._scheme, finality, settings.validators, settings.consensus_config
        ):
            return "certificate: it is not a quorum's"
        if fault := self._layer.find_outline_fault(header, outline):
            return fault
        is_shaped = not outline.operations and 0 <= outline.start < outline.size
        if not is_shaped or not 0 < offer.chunks <= min(CHUNKS_MAX, outline.size - outline.start):
            return f"outline: {offer.chunks} pieces for operations {outline.start} to {outline.size}"
        return ""

    def _check_cost_us(self, download: _Download) -> int:
        costs = self._settings.costs
        return costs.block_us + costs.hash_write_us * len(download.operations)

    def _ask(self) -> None:
        download = self._download
        request: Message = SnapshotRequest(self._layer.finalized.height)
        if download is not None:
            request = SnapshotChunkRequest(download.digest, download.pieces)
        self._port.send(self._peers[0], self._codec.encode(request), Label(request.traced_name))
        self._port.set_timer(TIMER, self._settings.fetch_timeout_us)

    def _go_on(self, reason: str) -> None:
        """Refuse the answer of the asked peer, and ask the next peer."""
        self._refuse("snapshot", f"of validator {self._peers[0]}: {reason}")
        self._peers.pop(0)
        self._download = None
        self._attempts = 0
        if self._peers:
            self._ask()
        else:
            self._port.cancel_timer(TIMER)
            self._give_up()
