"""A server, pressed by several peers at once for answers, snapshots and pieces, while its chain goes on.

In a run one peer asks at a time, and waits; only a flood comes to the limits, and few are drawn. A snapshot is replaced
in a run at most once or twice, seldom just where the last one stops to be of use to who asks.
"""

from types import SimpleNamespace
from typing import Any, Final, cast

from network.types import Label
from tests.properties.draws import Asked, Draw
from tests.properties.stub_port import SAME
from tests.properties.sync.snapshot_stage import (
    Act,
    Certificate,
    FinalState,
    NotingPort,
    Pieces,
    ServedLayer,
    digest_of,
    draw_state,
    offer_of,
    pieces_of,
)
from validators.costs import Costs
from validators.messages import SnapshotChunk, SnapshotChunkRequest, SnapshotOffer, SnapshotRequest
from validators.sync.serving import Answer, Serving
from validators.sync.snapshots import SnapshotSource

_PEERS: Final = 3
_ACTS: Final = 30
_SOURCES: Final = 2
_SECOND: Final[Act] = ("timer", ("answers",), 1_000_000)
_ASKS_OFFER: Final = "SnapshotRequest"
_ASKS_PIECE: Final = "SnapshotChunkRequest"


def check_serving(draw: Draw) -> Asked:
    """Yield what is asked of a server, and whether it is so."""
    yield from _check_answers(draw)
    for _ in range(_SOURCES):
        yield from _Source(draw).go()


class _Plain:
    """The rules of answers: a count of each peer and kind in this second, and what is prepared for each peer."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.asked: dict[tuple[int, str], int] = {}
        self.under_way: dict[int, Answer] = {}

    def may_answer(self, peer: int, kind: str) -> list[Act]:
        """Count a request, and return what is done about it: it is refused or, if nothing else is done, answered."""
        acts = [] if self.asked else [_SECOND]
        self.asked[peer, kind] = self.asked.get((peer, kind), 0) + 1
        if self.asked[peer, kind] > self._limit:
            return [*acts, ("refuse", kind, "TooManyAnswers")]
        return [*acts, *self.is_free(peer, kind)]

    def is_free(self, peer: int, kind: str) -> list[Act]:
        """Return the refusal of a peer that has to wait."""
        return [("refuse", kind, "AnswerUnderWay")] if peer in self.under_way else []


def _is_refused(acts: list[Act]) -> bool:
    return any(act[0] == "refuse" for act in acts)


class _Server:
    """The answers of a server, beside the rules of them."""

    def __init__(self, limit: int) -> None:
        self.plain = _Plain(limit)
        self.port = NotingPort()
        self.serving = Serving(self.port.port, SAME, answers_per_second=limit, refuse=self.port.refuse)

    def go_on(self, draw: Draw) -> Asked:
        """Have an answer leave whose work is done, or the second end."""
        peers = [*self.plain.under_way]
        if peers and draw(3):
            answer = self.plain.under_way.pop(peers[draw(len(peers))])
            self.serving.send(answer)
            expected: list[Act] = [("send", answer.peer, answer.message, answer.label)]
        else:
            self.serving.begin_second()
            self.plain.asked.clear()
            expected = []
        yield "an answer leaves otherwise than it was prepared", self.port.take() == expected

    def look(self) -> Asked:
        """Compare what is remembered."""
        kinds = dict.fromkeys(kind for _, kind in self.plain.asked)
        sizes = [(len(self.plain.under_way), _PEERS), (len(self.plain.asked), _PEERS * len(kinds))]
        found = [(size.found, size.bound) for size in self.serving.derived(_PEERS + 1).sizes]
        yield "a server remembers other answers than it gives", found == sizes


def _check_answers(draw: Draw) -> Asked:
    """Ask for answers of two kinds, some of which are limited by the second."""
    server = _Server(1 + draw(3))
    plain, port, serving = server.plain, server.port, server.serving
    for number in range(_ACTS):
        peer, kind = draw(_PEERS), ("one", "two")[draw(2)]
        step = draw(4)
        if step == 0:
            yield from server.go_on(draw)
            continue
        if step == 1:
            expected, is_answered = plain.is_free(peer, kind), serving.is_free(peer, kind)
        else:
            expected, is_answered = plain.may_answer(peer, kind), serving.may_answer(peer, kind)
        is_due = not _is_refused(expected)
        same = (is_answered, port.take()) == (is_due, expected)
        yield "a request is not answered, refused or counted as the limits have it", same
        if is_due:
            answer = Answer(peer, SnapshotChunk(b"", number, ()), Label(kind))
            plain.under_way[peer] = answer
            serving.prepare(answer, number)
            yield "an answer is prepared at another cost", port.take() == [("work", number, answer)]
        yield from server.look()


class _Source:
    """The server of a chain's snapshots, and what it has cut."""

    def __init__(self, draw: Draw) -> None:
        self._draw = draw
        # What a second has is tried above.
        self._server = _Server(2 + draw(3))
        self._state, self._next = (draw_state(1 + draw(3), draw) for _ in range(2))
        self._layer = ServedLayer(self._state)
        self._held: Certificate | None = None
        self._cut: FinalState | None = None
        self._pieces: Pieces = ()
        self._costs = Costs(block_us=100 + draw(99), hash_write_us=1 + draw(9))
        self._gap_blocks, self._chunk_bytes = 1 + draw(3), 1 + draw(150)
        settings = SimpleNamespace(
            costs=self._costs, snapshot_gap_blocks=self._gap_blocks, snapshot_chunk_bytes=self._chunk_bytes
        )
        self._source = SnapshotSource(
            *(self._layer.layer, cast("Any", settings), self._server.serving), finality=lambda: self._held
        )

    def go(self) -> Asked:
        """Go on with the chain, with requests and with answers, in any order."""
        for _ in range(_ACTS):
            match self._draw(8):
                case 0 | 1:
                    self._finalize()
                case 2 | 3:
                    yield from self._server.go_on(self._draw)
                case 4 | 5 | 6:
                    yield from self._ask_offer()
                case _:
                    yield from self._ask_piece()
            yield from self._look()

    def _finalize(self) -> None:
        """Have another block final, or learn what proves the last one, or lose it."""
        draw = self._draw
        if draw(3):
            height = self._state.header.height + 1 + draw(2)
            self._state, self._next = self._next.raised_to(height), self._state
            self._layer.state = self._state
        certificate = self._state.certificate
        self._held = (None, certificate._replace(is_proved=False), *[certificate] * 4)[draw(6)]

    def _ask_offer(self) -> Asked:
        draw, final = self._draw, self._state.header.height
        peer = draw(_PEERS)
        # Around the height of what is served, or of what is final.
        height = (final if self._cut is None or draw(3) == 0 else self._cut.header.height) + 1 - draw(4)
        expected: list[Act] = []
        if height < final:
            expected = self._server.plain.may_answer(peer, _ASKS_OFFER)
            if not _is_refused(expected):
                expected += self._offer(peer, height)
        self._source.offer(peer, SnapshotRequest(height))
        yield "a snapshot is offered otherwise than it should be, or to who may not have it", self._take() == expected

    def _offer(self, peer: int, above_height: int) -> list[Act]:
        """Return what is done for a request that may be answered, and cut a snapshot if it has to be."""
        cost_us, held = self._costs.block_us, self._held
        is_old = self._cut is None or self._state.header.height - self._cut.header.height >= self._gap_blocks
        is_of_no_use = self._cut is not None and self._cut.header.height <= above_height
        if (is_old or is_of_no_use) and held is not None and held.is_proved:
            self._cut = self._state
            operations = self._state.snapshot.operations
            self._pieces = pieces_of(operations, self._chunk_bytes)
            cost_us += self._costs.hash_write_us * len(operations)
        if self._cut is None or self._cut.header.height <= above_height:
            return []
        offer = offer_of(self._cut, len(self._pieces))
        return [self._prepare(peer, offer, "SnapshotOffer", cost_us)]

    def _ask_piece(self) -> Asked:
        draw = self._draw
        peer, index = draw(_PEERS), draw(len(self._pieces) + 2) - 1
        stands = digest_of((self._cut or self._state).header)
        digest = (stands, stands, digest_of(self._state.header), bytes(32))[draw(4)]
        expected: list[Act] = []
        if self._cut is not None and digest == stands and 0 <= index < len(self._pieces):
            expected = self._server.plain.is_free(peer, _ASKS_PIECE)
            if not expected:
                piece = SnapshotChunk(stands, index, self._pieces[index])
                expected = [self._prepare(peer, piece, "SnapshotChunk", self._costs.block_us)]
        self._source.serve(peer, SnapshotChunkRequest(digest, index))
        yield "a piece is given otherwise than it should be, or to who may not have it", self._take() == expected

    def _prepare(self, peer: int, message: SnapshotOffer[Any] | SnapshotChunk, kind: str, cost_us: int) -> Act:
        assert self._cut is not None, "what is prepared is of a snapshot"
        header = self._cut.header
        answer = Answer(peer, message, Label(kind, header.view, header.height))
        self._server.plain.under_way[peer] = answer
        return ("work", cost_us, answer)

    def _take(self) -> list[Act]:
        return self._server.port.take()

    def _look(self) -> Asked:
        """Compare what is remembered."""
        yield from self._server.look()
        derived, cut = self._source.derived(), self._cut
        said: dict[str, object] = {}
        sizes: list[tuple[int, int]] = []
        if cut is not None:
            pieces = self._pieces
            said = {"digest": digest_of(cut.header), "operations": sum(map(len, pieces)), "pieces": len(pieces)}
            fullest = max(sum(map(len, piece[:-1])) for piece in pieces)
            sizes = [(cut.header.height, self._state.header.height), (fullest, self._chunk_bytes - 1)]
        found = [(size.found, size.bound) for size in derived.sizes]
        same = (derived.kept, derived.rebuilt, found) == (said, said, sizes)
        yield "a server remembers another snapshot than it has cut", same
