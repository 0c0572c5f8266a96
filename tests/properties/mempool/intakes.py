"""Messages on their way in: what reading and checking them costs, what is refused, and who gets the rest.

That a message is charged for by its length, and a forged one by its signatures, moves a run by microseconds. A request
beyond a peer's share, or one that is stale, is nothing that honest validators send. Here a few dozen messages of every
kind come to a replica whose parts only note what they are given.
"""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Final, NamedTuple, cast

from network.codec import Codec, RefusalReason, Refused
from network.port import Delivery
from tests.properties.draws import Asked, Draw
from tests.properties.stub_port import COSTS, StubPort
from validators.application import Application
from validators.blocked_peers import BlockedPeers
from validators.consensus.interface import STALE, ConsensusEngine, MessageCheck, MessageInfo, Received
from validators.consensus.kind import EngineKind
from validators.events import MessageRefused
from validators.intake import Intake
from validators.mempool.gossip import Gossip
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
from validators.stats import ValidatorCounts

_MESSAGES: Final = 30
_PEERS: Final = 2
_KIB: Final = 1_024


class _Vote(NamedTuple):
    """A message of a consensus that a case is; its check comes with it."""

    check: MessageCheck
    traced_name: str = "vote"


class _Question(NamedTuple):
    """A request of that consensus."""

    check: MessageCheck
    traced_name: str = "question"


_KIND: Final = SimpleNamespace(
    messages={_Vote: MessageInfo(1, "votes", "vote"), _Question: MessageInfo(1, "votes", "request")},
    faults=("forged",),
)

_OTHERS: Final[tuple[tuple[object, str, object], ...]] = (
    (BlockRelay(b"one"), "take_blocks", (b"one",)),
    (BlockResponse((b"one", b"two")), "take_blocks", (b"one", b"two")),
    (BlockRequest(b"digest", 7), "exchange.serve", None),
    (TransactionGossip((b"three",)), "gossip.take", (b"three",)),
    (SnapshotRequest(7), "source.offer", None),
    (SnapshotOffer(b"header", b"proof", cast("Any", None), 1), "join.take_offer", None),
    (SnapshotChunkRequest(b"digest", 1), "source.serve", None),
    (SnapshotChunk(b"digest", 1, ()), "join.take_chunk", None),
)
"""Messages that are not consensus', who gets each, and what of it; None where it gets all."""


def check_intake(draw: Draw) -> Asked:
    """Yield what is asked of an intake, and whether it is so."""
    plain, real = _Plain(), _Real()
    for _ in range(_MESSAGES):
        peer, length = draw(_PEERS), draw(3) * _KIB + (0, 1, _KIB - 1)[draw(3)]
        message = _draw_message(draw)
        real.take(peer, bytes(length), message)
        plain.take(peer, length, message)
        if draw(12) == 0:
            real.intake.serving.begin_second()
            plain.asked.clear()
        yield "a message costs another time than its length and its signatures", real.bare.spent_us == plain.spent_us
        yield "other messages are refused than are unsound", real.bare.traced == plain.refused
        yield "peers are blamed for other messages than no honest validator sends", real.blamed == plain.blamed
        yield "refused messages are miscounted", real.counts.refused == len(plain.refused)
        yield "consensus gets other messages than it has checked", real.bare.works == plain.works
        yield "messages go to other parts than they are for", real.given == plain.given


def _draw_message(draw: Draw) -> object:
    """Draw a message, or the reason for which bytes are none."""
    match draw(4):
        case 0:
            return _OTHERS[draw(len(_OTHERS))][0]
        case 1:
            reasons = list(RefusalReason)
            return reasons[draw(len(reasons))]
    reason = ("", "", STALE, "forged", "useless")[draw(5)]
    check = MessageCheck(not reason, reason, draw(4))
    return _Question(check) if draw(2) else _Vote(check)


class _Plain:
    """The costs, refusals and takers that messages have to have."""

    def __init__(self) -> None:
        self.spent_us = 0
        self.asked: dict[int, int] = {}
        self.refused: list[object] = []
        self.blamed: list[tuple[int, str]] = []
        self.works: list[tuple[int, object]] = []
        self.given: list[tuple[object, ...]] = []

    def take(self, peer: int, length: int, message: object) -> None:
        """Take a message of so many bytes from a peer."""
        self.spent_us += length // _KIB * COSTS.decode_kib_us
        if isinstance(message, RefusalReason):
            self.refused.append(MessageRefused("message", message.name))
            if message is not RefusalReason.UNKNOWN_KIND:
                self.blamed.append((peer, f"message: {message.name}"))
        elif isinstance(message, (_Vote, _Question)):
            self.given.append(("check", peer, message))
            self._check(peer, message)
        else:
            ((taker, part),) = [(taker, part) for each, taker, part in _OTHERS if each is message]
            self.given.append((taker, peer, message if part is None else part))

    def _check(self, peer: int, message: _Vote | _Question) -> None:
        cost_us = message.check.signatures_verified * COSTS.verify_signature_us
        if not message.check.ok:
            self.spent_us += cost_us
            # What comes late is nobody's fault.
            if message.check.reason != STALE:
                self.refused.append(MessageRefused(message.traced_name, message.check.reason))
            if message.check.reason == "forged":
                self.blamed.append((peer, f"{message.traced_name}: forged"))
            return
        if isinstance(message, _Question):
            self.asked[peer] = self.asked.get(peer, 0) + 1
            if self.asked[peer] > COSTS.answers_per_second:
                self.refused.append(MessageRefused(message.traced_name, "TooManyAnswers"))
                return
        self.works.append((cost_us, Received(peer, cast("Any", message))))


class _Real:
    """An intake, and parts that note what they are given."""

    def __init__(self) -> None:
        self.bare, self.counts = StubPort(), ValidatorCounts()
        self.given: list[tuple[object, ...]] = []
        self._message: object = None
        self.blamed: list[tuple[int, str]] = []
        codec = cast("Codec[Message]", SimpleNamespace(decode=self._decode))
        peers = SimpleNamespace(blocked={}, blame=lambda peer, reason: self.blamed.append((peer, reason)))
        self.intake = Intake(
            *(self.bare.port, codec, cast("EngineKind", _KIND)),
            costs=COSTS,
            counts=self.counts,
            peers=cast("BlockedPeers", peers),
        )

    def take(self, peer: int, payload: bytes, message: object) -> None:
        """Take a message from a peer, which decodes to this one or to none."""
        self._message = message
        application = SimpleNamespace(
            take_blocks=self._noting("take_blocks"),
            exchange=SimpleNamespace(serve=self._noting("exchange.serve")),
            source=SimpleNamespace(offer=self._noting("source.offer"), serve=self._noting("source.serve")),
            join=SimpleNamespace(
                take_offer=self._noting("join.take_offer"), take_chunk=self._noting("join.take_chunk")
            ),
        )
        gossip = SimpleNamespace(take=self._noting("gossip.take"))
        consensus = SimpleNamespace(check=self._check)
        self.intake.take(
            Delivery(peer, payload),
            cast("Application", application),
            cast("Gossip", gossip),
            cast("ConsensusEngine", consensus),
        )

    def _decode(self, _payload: bytes) -> object:
        if isinstance(self._message, RefusalReason):
            raise Refused(self._message, "it is none")
        return self._message

    def _check(self, peer: int, message: _Vote | _Question) -> MessageCheck:
        self.given.append(("check", peer, message))
        return message.check

    def _noting(self, taker: str) -> Callable[[int, object], None]:
        return lambda peer, part: self.given.append((taker, peer, part))
