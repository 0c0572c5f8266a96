"""Messages from peers: decoded, charged for, and passed to the responsible part, or refused with a reason.

Nothing that a peer sends is free. Reading a message costs its length, whatever its kind. A refusal costs the signatures
that were verified before it. Answers are limited (`sync/serving.py`). So a flood takes time from its victim, as in a
real network.
"""

from collections.abc import Sequence
from typing import Final

from network.codec import Codec, Refused
from network.port import Delivery, Port
from network.wire import RefusalReason
from validators.application import Application
from validators.blocked_peers import BlockedPeers
from validators.consensus.interface import STALE, ConsensusEngine, EngineMessage, Received
from validators.consensus.kind import EngineKind
from validators.costs import Costs
from validators.events import MessageRefused
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
from validators.sync.serving import Serving

KIB: Final = 1_024


class Intake:
    """One validator's entry for messages; `serving` has its limits on answers."""

    def __init__(
        self,
        port: Port,
        codec: Codec[Message],
        kind: EngineKind,
        *,
        costs: Costs,
        counts: ValidatorCounts,
        peers: BlockedPeers,
    ) -> None:
        self._port = port
        self._codec = codec
        self._messages = kind.messages
        self._faults = kind.faults
        self._blocked = peers.blocked
        self._blame = peers.blame
        self._costs = costs
        self._counts = counts
        self.serving: Final = Serving(port, codec, answers_per_second=costs.answers_per_second, refuse=self.refuse)

    def refuse(self, what: str, reason: str) -> None:
        """Count and trace a refusal."""
        self._counts.refused += 1
        self._port.trace(MessageRefused(what, reason))

    def take(self, delivery: Delivery, application: Application, gossip: Gossip, consensus: ConsensusEngine) -> None:
        """Decode a message and pass it to its part; drop it unread if its sender is cut off."""
        peer = delivery.source
        if peer in self._blocked:
            return
        if (kib := len(delivery.payload) // KIB) > 0:
            self._port.spend(kib * self._costs.decode_kib_us)
        try:
            message = self._codec.decode(delivery.payload)
        except Refused as error:
            self.refuse("message", error.reason.name)
            # A later version of a validator may have more kinds of messages.
            if error.reason is not RefusalReason.UNKNOWN_KIND:
                self._blame(peer, f"message: {error.reason.name}")
            return
        # Asked first: nearly all messages are consensus messages, and a list of kinds is tried one after the other.
        if type(message) in self._messages:
            self._check(peer, message, consensus)
        else:
            self._give(peer, message, application, gossip)

    def _give(self, peer: int, message: Message, application: Application, gossip: Gossip) -> None:
        match message:
            case BlockRelay(block):
                self._take_blocks(peer, (block,), application)
            case BlockResponse(blocks):
                self._take_blocks(peer, blocks, application)
            case BlockRequest():
                application.exchange.serve(peer, message)
            case TransactionGossip(transactions):
                gossip.take(peer, transactions)
            case SnapshotRequest():
                application.source.offer(peer, message)
            case SnapshotOffer():
                application.join.take_offer(peer, message)
            case SnapshotChunkRequest():
                application.source.serve(peer, message)
            case SnapshotChunk():
                application.join.take_chunk(peer, message)
            case _:
                raise TypeError(f"a message of an unknown kind is here: {message!r}")

    def _take_blocks(self, peer: int, blocks: Sequence[bytes], application: Application) -> None:
        fault = application.take_blocks(peer, blocks)
        if fault:
            self._blame(peer, f"block: {fault}")

    def _check(self, sender: int, message: EngineMessage, consensus: ConsensusEngine) -> None:
        checked = consensus.check(sender, message)
        cost_us = checked.signatures_verified * self._costs.verify_signature_us
        kind = type(message)
        if not checked.ok:
            self._port.spend(cost_us)
            if checked.reason != STALE:
                self.refuse(message.traced_name, checked.reason)
                if checked.reason in self._faults:
                    self._blame(sender, f"{message.traced_name}: {checked.reason}")
        elif self._messages[kind].role != "request" or self.serving.may_answer(sender, message.traced_name):
            # The engine gets it when checking it has taken its time.
            self._port.work(cost_us, Received(sender, message))
