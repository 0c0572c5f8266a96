"""A joiner, which asks peers that are silent, late or bad, one after the other.

In a run somebody joins once or twice, and the first peer that is asked gives what it has. Here a joiner goes through a
handful of peers in a life, loses requests and answers on the way, and hears of what it did not ask for at every step;
what it has to do follows from whose turn it is, and what that one gives.
"""

from collections.abc import Generator
from hashlib import sha256
from types import SimpleNamespace
from typing import Any, Final, cast

from network.types import Label
from tests.properties.draws import Asked, Draw
from tests.properties.stub_port import SAME
from tests.properties.sync.snapshot_forgeries import UNANSWERED, Peer, Served, draw_forger
from tests.properties.sync.snapshot_stage import (
    Act,
    Certificate,
    JoiningLayer,
    NotingPort,
    ServedLayer,
    agree,
    digest_of,
    draw_state,
    offer_of,
    pieces_of,
)
from validators.costs import Costs
from validators.messages import Message, SnapshotChunk, SnapshotChunkRequest, SnapshotOffer, SnapshotRequest
from validators.settings import ValidatorSettings
from validators.sync.serving import Answer, Serving
from validators.sync.snapshots import Checked, SnapshotJoin, SnapshotSource

_JOINERS: Final = 3
_VALIDATORS: Final = 6
_STRANGER: Final = 9
_SIGNATURES: Final = 2
_ATTEMPTS: Final = 3
"""A peer is asked so many times for one thing."""
_BYTES_MAX: Final = 1 << 30
"""Operations of a snapshot may be as long together."""
_TIMER: Final = ("snapshot",)
_CONFIG: Final = object()


def check_snapshot_joins(draw: Draw) -> Asked:
    """Yield what is asked of a joiner and of those who serve it, and whether it is so."""
    for what, holds in _check_joins(draw):
        yield what, holds
        # From there on the joiner is somewhere else than the property.
        if not holds:
            return


def _check_joins(draw: Draw) -> Asked:
    for _ in range(_JOINERS):
        joiner = _Joiner(draw)
        yield from joiner.disturb()
        yield from joiner.begin(())
        # Who has gone by blocks for a while may be far behind again.
        for is_helped in (False, True):
            others = [1 + peer for peer in range(_VALIDATORS - 1)]
            peers = tuple(others.pop(draw(len(others))) for _ in range(1 + draw(4)))
            helper = draw(len(peers)) if is_helped else len(peers)
            yield from joiner.begin(peers)
            for place in range(min(helper + 1, len(peers))):
                joiner.rise()
                served = yield from joiner.serve()
                good = Peer(served.offer, served.pieces, "")
                yield from joiner.visit(good if place == helper else draw_forger(served, joiner.height, draw))
            yield from joiner.disturb()
            joiner.join.retry()
            yield "a joiner goes on after its last peer, or after it has joined", joiner.port.take() == []


def _settings_of(draw: Draw, node: int = 0) -> ValidatorSettings:
    costs = Costs(verify_signature_us=1 + draw(99), block_us=100 + draw(99), hash_write_us=1 + draw(9))
    settings = SimpleNamespace(
        node=node,
        validators=_VALIDATORS,
        consensus=SimpleNamespace(verify_finality=_verify),
        consensus_config=_CONFIG,
        costs=costs,
        fetch_timeout_us=1 + draw(999),
        snapshot_gap_blocks=1 + draw(4),
        snapshot_chunk_bytes=1 + draw(150),
    )
    return cast("ValidatorSettings", settings)


def _verify(scheme: Any, finality: Certificate, validators: int, config: object) -> bool:
    """Return whether a certificate is a quorum's, after some of its signatures."""
    scheme.verified += _SIGNATURES
    return finality.is_quorum and validators == _VALIDATORS and config is _CONFIG


class _Joiner:
    """A joiner, the peers that it has still to ask, and what has come of the offer that stands."""

    def __init__(self, draw: Draw) -> None:
        self._draw = draw
        # One that is none of the validators may ask all of them.
        node = (0, _VALIDATORS)[draw(2)]
        self._others = _VALIDATORS - (node == 0)
        self._settings = _settings_of(draw, node)
        self._layer = JoiningLayer(1 + draw(4))
        self._state = draw_state(self.height + 1 + draw(3), draw)
        self._known = offer_of(self._state, 1)
        self._left: list[int] = []
        self._gone: list[int] = []
        self._offer: SnapshotOffer[Certificate] | None = None
        self._taken: list[tuple[bytes, ...]] = []
        self._is_checking = False
        self.port = port = NotingPort()
        self.join = SnapshotJoin(
            *(port.port, SAME, cast("Any", self._layer), self._settings),
            scheme=cast("Any", SimpleNamespace(verified=draw(9))),
            joined=lambda header, snapshot, finality: port.acts.append(("joined", header, snapshot, finality)),
            give_up=lambda: port.acts.append(("give up",)),
            refuse=port.refuse,
        )

    @property
    def height(self) -> int:
        """The final height of the joiner."""
        return int(self._layer.finalized.height)

    def rise(self) -> None:
        """Let it execute a block meanwhile, as long as a snapshot is of use."""
        if self._state.header.height > self.height + 1:
            self._layer.finalized.height += self._draw(2)

    def serve(self) -> Generator[tuple[str, bool], None, Served]:
        """Ask a server for all that there is, and return what it has to serve."""
        settings, state, port = _settings_of(self._draw), self._state, NotingPort()
        serving = Serving(port.port, SAME, answers_per_second=1, refuse=port.refuse)
        source = SnapshotSource(ServedLayer(state).layer, settings, serving, finality=lambda: state.certificate)
        pieces = pieces_of(state.snapshot.operations, settings.snapshot_chunk_bytes)
        chunks = [SnapshotChunk(digest_of(state.header), index, piece) for index, piece in enumerate(pieces)]
        served = Served(state, offer_of(state, len(pieces)), pieces)
        source.offer(0, SnapshotRequest(self.height))
        answers: list[object] = []
        for index in range(len(pieces) + 1):
            for act in port.take():
                if act[0] == "work":
                    serving.send(cast("Answer", act[2]))
            answers += [act[2] for act in port.take()]
            source.serve(0, SnapshotChunkRequest(digest_of(state.header), index))
        yield "a snapshot is served otherwise than its state has it", answers == [served.offer, *chunks]
        return served

    def begin(self, peers: tuple[int, ...]) -> Asked:
        """Begin to ask peers."""
        self._gone, self._left = [*self._gone, *self._left], list(peers)
        self.join.begin(peers)
        expected = self._asks() if peers else [("give up",)]
        yield "a joiner begins otherwise than with its first peer", agree(self.port.take(), expected)

    def visit(self, peer: Peer) -> Asked:
        """Go through all that the peer that is asked gives."""
        if peer.offer is not None:
            yield from self._wait()
            self.join.take_offer(self._left[0], cast("Any", peer.offer))
            spent: list[Act] = []
            if peer.is_verified:
                spent = [("spend", _SIGNATURES * self._settings.costs.verify_signature_us)]
            if peer.pieces or peer.reason == UNANSWERED:
                self._offer = peer.offer
                expected = self._asks()
            else:
                expected = self._refuses(peer.reason)
            what = f"an offer is not taken for what it is{_because(peer)}"
            yield what, agree(self.port.take(), [*spent, *expected])
            yield from self._take_pieces(peer)
        if peer.reason == UNANSWERED:
            yield from self._wait(_ATTEMPTS - 1)
            self.join.retry()
            yield "a silent peer is not left for the next one", agree(self.port.take(), self._refuses(UNANSWERED))

    def disturb(self) -> Asked:
        """Say now and then what was not asked for, and compare what is remembered."""
        for _ in range(self._draw(2)):
            peer, message = self._draw_unasked()
            if isinstance(message, SnapshotOffer):
                self.join.take_offer(peer, cast("Any", message))
            else:
                self.join.take_chunk(peer, message)
            reason = "was not asked for" if isinstance(message, SnapshotOffer) else "piece was not asked for"
            yield f"a joiner takes what {reason}", agree(self.port.take(), [("refuse", "snapshot", reason)])
        derived, taken = self.join.derived(), [operation for piece in self._taken for operation in piece]
        sizes = [(len(self._left), self._others)]
        said: dict[str, object] = {}
        if self._offer is not None:
            outline, length = self._offer.outline, sum(map(len, taken))
            sizes += [(len(self._taken), self._offer.chunks), (len(taken), outline.size - outline.start)]
            sizes += [(length, _BYTES_MAX)]
            said = {"bytes": length, "has a peer": True}
        found = [(size.found, size.bound) for size in derived.sizes]
        same = (derived.kept, derived.rebuilt, found) == (said, said, sizes)
        yield "a joiner remembers another download than its own", same

    def _draw_unasked(self) -> tuple[int, SnapshotOffer[Certificate] | SnapshotChunk]:
        """Return a message that was not asked for, and who says it."""
        draw, asked = self._draw, self._left[:1]
        strangers = [peer for peer in (*self._left, *self._gone, _STRANGER) if peer not in asked]
        place, digest = len(self._taken), self._digest
        match draw(5):
            case 0 if self._offer is not None:
                return self._left[0], self._offer
            case 1 if asked:
                # A piece of another snapshot, or out of turn; any at all while none is awaited.
                others = [(bytes(32), place), (digest, place - 1), (digest, place + 1)]
                if self._offer is None or self._is_checking:
                    others = [(digest, place)]
                return self._left[0], SnapshotChunk(*others[draw(len(others))], (b"x",))
            case 2 | 3:
                return strangers[draw(len(strangers))], self._offer or self._known
        return strangers[draw(len(strangers))], SnapshotChunk(digest, place, (b"x",))

    @property
    def _digest(self) -> bytes:
        return sha256((self._offer or self._known).header).digest()

    def _wait(self, times: int | None = None) -> Asked:
        """Lose requests, as many as a peer may leave unanswered."""
        for _ in range(self._draw(_ATTEMPTS) if times is None else times):
            yield from self.disturb()
            self.join.retry()
            yield "a peer that may answer yet is not asked again", agree(self.port.take(), self._asks())
        yield from self.disturb()

    def _take_pieces(self, peer: Peer) -> Asked:
        for number, piece in enumerate(peer.pieces):
            yield from self._wait()
            self.join.take_chunk(self._left[0], SnapshotChunk(self._digest, number, piece))
            if number + 1 < len(peer.pieces) or peer.reason == UNANSWERED:
                self._taken.append(piece)
                yield "the next piece is not asked for", agree(self.port.take(), self._asks())
            elif peer.reason and not peer.is_checked:
                what = f"a piece is not taken for what it is{_because(peer)}"
                yield what, agree(self.port.take(), self._refuses(peer.reason))
            else:
                self._taken.append(piece)
                yield from self._check(peer)

    def _check(self, peer: Peer) -> Asked:
        """Have a snapshot recomputed of which all is here."""
        costs, operations = self._settings.costs, tuple(operation for piece in self._taken for operation in piece)
        cost_us = costs.block_us + costs.hash_write_us * len(operations)
        acts = self.port.take()
        expected: list[Act] = [("cancel", _TIMER), ("work", cost_us, (self._left[0], self._offer, operations))]
        yield "a snapshot that is here is not recomputed at its cost", agree(acts, expected)
        self._is_checking = True
        yield from self.disturb()
        self.join.retry()
        yield "a peer is asked again while its snapshot is recomputed", self.port.take() == []
        self.join.check(next(cast("Checked", act[2]) for act in acts if act[0] == "work"))
        if peer.reason:
            expected = self._refuses(peer.reason)
        else:
            state, snapshot = self._state, self._state.snapshot
            expected = [("joined", state.header, snapshot, state.certificate)]
            self._gone, self._left = [*self._gone, *self._left], []
            self._forget()
        yield f"a snapshot is not taken for what it is{_because(peer)}", agree(self.port.take(), expected)

    def _asks(self) -> list[Act]:
        """Return what it does to ask for what it lacks."""
        request: Message = SnapshotRequest(self.height)
        if self._offer is not None:
            request = SnapshotChunkRequest(self._digest, len(self._taken))
        sent = ("send", self._left[0], request, Label(type(request).__name__))
        return [sent, ("timer", _TIMER, self._settings.fetch_timeout_us)]

    def _refuses(self, reason: str) -> list[Act]:
        """Return what it does when it leaves a peer, and have the next one's turn."""
        peer = self._left.pop(0)
        self._gone.append(peer)
        self._forget()
        refused = ("refuse", "snapshot", f"of validator {peer}: {reason}")
        return [refused, *(self._asks() if self._left else (("cancel", _TIMER), ("give up",)))]

    def _forget(self) -> None:
        self._offer, self._taken, self._is_checking = None, [], False


def _because(peer: Peer) -> str:
    return f", which is forged ({peer.reason})" if peer.reason not in {"", UNANSWERED} else ""
