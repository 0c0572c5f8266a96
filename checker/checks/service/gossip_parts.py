"""Parts of mempools: the part that leaves at each timer, and the peer to which it goes.

Each validator sends parts to its peers in turn, beginning with the next number. Each peer has its own rounds: all
transactions that wait when a round begins go to it once, the earliest first, before the next round. A part is as large
as the limits allow; the next part for the peer begins with the first transaction that did not fit. The trace identifies
a part by its checksum.

The check reads a mempool when the instant of the timer is over. If work ended or a block became final in that instant,
the part may differ: then the check judges only its receiver, and knows the rest of the round again once a part holds
all waiting transactions.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from checker.checks.context import RunContext
from checker.checks.world import OfLives
from checker.results import CheckTally
from network.clock import MILLION
from network.events import Sent
from network.types import Micros, NodeId
from validators.consensus.registry import ENGINES
from validators.mempool.pool import Pooled
from validators.messages import TransactionGossip, message_codec

PART_TRANSACTIONS: Final = 64
PART_BYTES: Final = 1024 * 1024
"""The greatest size of a part; a part closes before the transaction that would not fit."""

CHECKSUM_BYTES: Final = 8


@dataclass(slots=True)
class _Turn:
    """The instant of a validator's timer.

    Attributes:
        at_us: Its time.
        part: The transactions of the part, of a new round where the peer's round is not known.
        left: The transactions of the round after this part.
        checksum: The checksum of a message with the part.
        receivers: By destination the number of messages with transactions that left.
        is_sent: Whether the part left for the peer.
        is_disturbed: Whether the mempool may have changed in this instant, after the timer.
    """

    at_us: Micros
    part: Sequence[bytes]
    left: Sequence[bytes]
    checksum: bytes
    receivers: dict[NodeId, int] = field(default_factory=dict)
    is_sent: bool = False
    is_disturbed: bool = False


@dataclass(slots=True)
class _Rounds:
    """A life of a validator: the next peer, and by peer the rest of its round, None where this is not known."""

    peer: NodeId | None
    rests: dict[NodeId, Sequence[bytes] | None] = field(default_factory=dict)
    turn: _Turn | None = None


class GossipParts:
    """Follows the parts that leave at the timers of the validators.

    Args:
        run: The run, with its validators.
        tally: The counts of the check that this is a part of, which compares each part.
    """

    def __init__(self, run: RunContext, tally: CheckTally) -> None:
        self._validators = run.validators
        self._world = run.world
        self._tally = tally
        self._codec = message_codec(ENGINES[run.engine])
        self._rounds = OfLives(run.world, lambda node: _Rounds(self._after(node, node)))
        self._contents: dict[bytes, Sequence[bytes]] = {}

    def elapse(self, node: NodeId, at_us: Micros, pool: Mapping[bytes, Pooled]) -> None:
        """Begin the instant of a validator's timer; `pool` is its mempool, the earliest transaction first."""
        rounds = self._rounds.get(node)
        if rounds is None or self._validators < 2:
            return
        self._judge(node, rounds)
        if self._world.cut_off(node):
            # Parts for a peer that is cut off do not leave: the next part shows whose turn it is.
            rounds.peer, rounds.rests = None, dict.fromkeys(range(self._validators))
            return
        rest = [digest for digest in self._rest(rounds) or () if digest in pool] or list(pool)
        part = list(_first_of(rest, pool))
        message = self._codec.encode(TransactionGossip(tuple(pool[digest].encoded for digest in part)))
        checksum = hashlib.blake2b(message, digest_size=CHECKSUM_BYTES).digest()
        rounds.turn = _Turn(at_us, part, rest[len(part) :], checksum)

    def send(self, node: NodeId, at_us: Micros, sent: Sent) -> None:
        """Note a message with transactions that leaves: a part, or a client's transaction."""
        rounds, turn = self._rounds.get(node), self._turn(node, at_us)
        # A client's transaction goes to observers too, which never get a part.
        if rounds is not None and turn is not None and sent.destination < self._validators:
            turn.receivers[sent.destination] = turn.receivers.get(sent.destination, 0) + 1
            if (sent.destination, sent.checksum) == (rounds.peer, turn.checksum):
                turn.is_sent = True
                self._contents[sent.checksum] = turn.part

    def disturb(self, node: NodeId, at_us: Micros) -> None:
        """Note that a mempool may change: work ends, or a block becomes final."""
        if (turn := self._turn(node, at_us)) is not None:
            turn.is_disturbed = True

    def content(self, checksum: bytes) -> Sequence[bytes]:
        """Return the transactions of a part that has left, by its checksum; empty for another message."""
        return self._contents.get(checksum, ())

    def finish(self) -> None:
        """Judge the last parts."""
        for node in range(self._validators):
            if (rounds := self._rounds.get(node)) is not None:
                self._judge(node, rounds)

    def _turn(self, node: NodeId, at_us: Micros) -> _Turn | None:
        """Return the turn of this instant."""
        rounds = self._rounds.get(node)
        turn = None if rounds is None else rounds.turn
        return turn if turn is not None and turn.at_us == at_us else None

    def _judge(self, node: NodeId, rounds: _Rounds) -> None:
        """Compare the messages that left in the instant of the last timer."""
        turn, rounds.turn = rounds.turn, None
        if turn is None:
            return
        peer, receiver = rounds.peer, self._receiver(turn)
        is_known = self._rest(rounds) is not None
        is_due = bool(turn.part) and not turn.is_disturbed
        is_right = receiver == peer and (turn.is_sent or not is_due or not is_known)
        if peer is not None and (is_due or receiver is not None):
            self._tally.compared += 1
            if not is_right:
                self._tally.fail(
                    f"validator {node} did not send validator {peer} the {len(turn.part)} transactions whose turn it "
                    f"was at {turn.at_us / MILLION:.3f} s",
                    validator=node,
                    at_us=turn.at_us,
                )
        if receiver is not None:
            is_exact = turn.is_sent and (not turn.left or (is_known and not turn.is_disturbed))
            rounds.rests[receiver] = turn.left if is_exact else None
            rounds.peer = self._after(receiver, node)

    def _rest(self, rounds: _Rounds) -> Sequence[bytes] | None:
        return None if rounds.peer is None else rounds.rests.get(rounds.peer, ())

    def _receiver(self, turn: _Turn) -> NodeId | None:
        """Return the receiver of a part: it got one message more than each other peer."""
        counts = turn.receivers
        to_all = min(counts.values()) if len(counts) == self._validators - 1 > 1 else 0
        return next((peer for peer, count in counts.items() if count > to_all), None)

    def _after(self, peer: NodeId, node: NodeId) -> NodeId:
        """Return the peer whose turn comes after this peer's."""
        following = (peer + 1) % self._validators
        return following if following != node else (following + 1) % self._validators


def _first_of(digests: Sequence[bytes], pool: Mapping[bytes, Pooled]) -> Iterator[bytes]:
    """Yield the transactions that fit into a part, which holds at least one transaction."""
    room_bytes = PART_BYTES
    for place, digest in enumerate(digests[:PART_TRANSACTIONS]):
        room_bytes -= len(pool[digest].encoded)
        if place and room_bytes < 0:
            return
        yield digest
