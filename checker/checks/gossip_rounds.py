"""Rounds of gossip: which part of what waits leaves at each timer, and to whom.

Each validator sends a part to one peer after the other, the next above it first. Each peer has rounds of its own: all
that waits when one begins goes to it once, the earliest first, before anything does again. A part is as large as the
limits allow, and what did not fit is the next one's. So mempools, which are looked into at each timer, leave no choice:
a message with this very part has to leave for that peer in that instant.

A mempool is looked into when the instant is over. What was verified in the instant of the timer, after it, is in no
part of a round that begins there: such a part, or the rest of its round, may lack the last few, if work ended there.
A block that becomes final there, after the timer, takes out of the mempool what the part may hold: where no part of
what is left matches, a part has to leave all the same, and the next part for that peer shows how far it came.

A wrong part brings everything to everybody in the end. It is told apart by its checksum alone. One that comes
undamaged brings all that it holds: `SETTLE_US` later a mempool lacks only what is spent or taken there.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from checker.checks.context import RunContext, Sample
from checker.checks.handed_in import is_useful
from checker.results import CheckTally
from network.clock import MILLION
from network.events import Delivered, Sent
from network.types import Micros, NodeId
from validators.consensus.registry import ENGINES
from validators.mempool.pool import Pooled
from validators.messages import TransactionGossip, message_codec

PART_TRANSACTIONS: Final = 64
PART_BYTES: Final = 1024 * 1024
"""The most that goes out at once; a part closes before the transaction that would not fit."""

CHECKSUM_BYTES: Final = 8

SETTLE_US: Final = 5 * MILLION
"""The time until the signatures of a part are verified, behind whatever work is there."""


LATE_MAX: Final = 3
"""The most transactions that come into a mempool in the instant of a timer, after it."""


class _Due(NamedTuple):
    """A part that may leave in this instant: to whom, its checksum, its encoded transactions, and the rest.

    One that `lacks` the last few may leave only if work ends in that instant.
    """

    at_us: Micros
    peer: NodeId
    checksum: bytes
    part: Mapping[bytes, bytes]
    left: list[bytes]
    lacks: bool


class _Came(NamedTuple):
    """A part that has come: when, from whom, and its encoded transactions by digest."""

    at_us: Micros
    peer: NodeId
    part: Mapping[bytes, bytes]


@dataclass(slots=True)
class _Instant:
    """The instant of a timer: whose turn it is, and what happens after the timer.

    Attributes:
        at_us: Its time.
        peer: The peer to which a part leaves.
        due: Parts that may leave, none where nothing waits: the whole one first, then those without the last few.
        sent: Those of them that have left: the same part, of rounds that may differ in their last few.
        messages: By destination the number of messages with transactions that leave.
        has_worked: Whether work ended, which may have brought transactions.
        has_shrunk: Whether a block became final, which may have taken transactions away.
    """

    at_us: Micros
    peer: NodeId
    due: tuple[_Due, ...]
    sent: tuple[_Due, ...] = ()
    messages: dict[NodeId, int] = field(default_factory=dict)
    has_worked: bool = False
    has_shrunk: bool = False


@dataclass(slots=True)
class _Life:
    """One life of a validator: the number of parts that have left, and what may be left of the round of each peer."""

    parts: int = 0
    rounds: dict[NodeId, list[list[bytes]]] = field(default_factory=dict)
    instant: _Instant | None = None


class GossipRounds:
    """Follows the parts that leave at the timers of the validators.

    Args:
        run: The run, with its validators.
        tally: The counts of the check that this is a part of, which compares each part.
    """

    def __init__(self, run: RunContext, tally: CheckTally) -> None:
        self._validators = run.validators
        self._tally = tally
        self._codec = message_codec(ENGINES[run.engine])
        self._lives: dict[NodeId, _Life] = {}
        self._hindered = run.plan.hindered()
        self._on_way: dict[tuple[NodeId, NodeId, int], _Due] = {}
        self._came: dict[NodeId, list[_Came]] = {}

    def elapse(self, node: NodeId, at_us: Micros, pool: Mapping[bytes, Pooled]) -> None:
        """A timer runs out; `pool` is what waits, the earliest first."""
        life = self._lives.setdefault(node, _Life())
        self._judge(node, life)
        if self._validators < 2:
            return
        peer = (node + 1 + life.parts % (self._validators - 1)) % self._validators
        due: tuple[_Due, ...] = ()
        if pool:
            rests = [[digest for digest in rest if digest in pool] for rest in life.rounds.get(peer, [[]])]
            begun = [(rest, False) for rest in rests if rest]
            if not all(rests):
                waiting = list(pool)
                lates = range(min(LATE_MAX + 1, len(waiting)))
                begun += [(waiting[: len(waiting) - late], late > 0) for late in lates]
            due = tuple(self._part_of(left, pool, at_us, peer, lacks=lacks) for left, lacks in begun)
        life.instant = _Instant(at_us, peer, due)

    def _part_of(
        self, left: list[bytes], pool: Mapping[bytes, Pooled], at_us: Micros, peer: NodeId, *, lacks: bool
    ) -> _Due:
        part = _first_of(left, pool)
        message = self._codec.encode(TransactionGossip(tuple(part.values())))
        checksum = hashlib.blake2b(message, digest_size=CHECKSUM_BYTES).digest()
        return _Due(at_us, peer, checksum, part, left[len(part) :], lacks)

    def send(self, node: NodeId, at_us: Micros, sent: Sent) -> None:
        """A message with transactions leaves: a part, or what a client has handed in."""
        instant = self._instant_of(node, at_us)
        if instant is None:
            return
        instant.messages[sent.destination] = instant.messages.get(sent.destination, 0) + 1
        if instant.sent:
            return
        key = sent.destination, sent.checksum
        instant.sent = tuple(each for each in instant.due if key == (each.peer, each.checksum))
        if instant.sent:
            self._on_way[node, sent.destination, sent.ordinal] = instant.sent[0]

    def work(self, node: NodeId, at_us: Micros) -> None:
        """Work ends: it may have brought what a part of this instant lacks."""
        if (instant := self._instant_of(node, at_us)) is not None:
            instant.has_worked = True

    def shrink(self, node: NodeId, at_us: Micros) -> None:
        """A block becomes final: it may have taken what a part of this instant holds."""
        if (instant := self._instant_of(node, at_us)) is not None:
            instant.has_shrunk = True

    def deliver(self, node: NodeId, at_us: Micros, delivered: Delivered) -> None:
        """A message with transactions comes; a part that is undamaged brings all of them."""
        due = self._on_way.pop((delivered.source, node, delivered.ordinal), None)
        if due is not None and due.checksum == delivered.checksum and node not in self._hindered:
            self._came.setdefault(node, []).append(_Came(at_us, delivered.source, due.part))

    def compare(self, sample: Sample, state: Mapping[bytes, bytes]) -> None:
        """Hold mempools against the parts that have come; what came a moment ago may wait to be verified."""
        for node, pool in zip(sample.nodes, sample.pools, strict=True):
            came = self._came.pop(node, [])
            due = [each for each in came if each.at_us <= sample.at_us - SETTLE_US]
            self._came[node] = came[len(due) :]
            for part in due:
                self._tally.compared += 1
                for digest, encoded in part.part.items():
                    if digest not in pool and is_useful(encoded, pool, state):
                        text = f"validator {node} has not pooled transaction {digest[:6].hex()}, which came to it from"
                        self._tally.fail(
                            f"{text} validator {part.peer} at {part.at_us / MILLION:.3f} s",
                            validator=node,
                            transaction=digest.hex(),
                        )

    def forget(self, node: NodeId) -> None:
        """A life begins or ends; what it had to send in this instant may not have left, and its mempool is empty."""
        self._lives.pop(node, None)
        self._came.pop(node, None)

    def finish(self) -> None:
        """Judge the last parts."""
        for node, life in self._lives.items():
            self._judge(node, life)

    def _instant_of(self, node: NodeId, at_us: Micros) -> _Instant | None:
        """Return the instant of the last timer, if it is this one."""
        life = self._lives.get(node)
        return None if life is None or life.instant is None or life.instant.at_us != at_us else life.instant

    def _judge(self, node: NodeId, life: _Life) -> None:
        instant, life.instant = life.instant, None
        if instant is None:
            return
        possible = [each for each in instant.sent if instant.has_worked or not each.lacks]
        if possible:
            self._tally.compared += 1
            self._go_on(life, instant.peer, [each.left for each in possible])
        elif instant.has_shrunk and _has_left(instant, self._validators):
            # What has gone with the block stood at any places among what is left.
            self._go_on(life, instant.peer, _possible_rests(instant))
        elif instant.due and not self._was_empty(instant):
            self._tally.compared += 1
            whole = instant.due[0]
            text = f"validator {node} did not send validator {whole.peer} the {len(whole.part)} transactions"
            self._tally.fail(
                f"{text} whose turn it was at {whole.at_us / MILLION:.3f} s", validator=node, at_us=whole.at_us
            )
            self._go_on(life, instant.peer, [whole.left])

    def _go_on(self, life: _Life, peer: NodeId, rests: list[list[bytes]]) -> None:
        """Note that a part has left, or should have, and what may be left of the peer's round."""
        life.parts += 1
        life.rounds[peer] = rests

    def _was_empty(self, instant: _Instant) -> bool:
        """Return whether the timer may have found nothing, and all that waits now came after it."""
        count = max(len(each.part) + len(each.left) for each in instant.due)
        return instant.has_worked and count <= LATE_MAX and not _has_left(instant, self._validators)


def _has_left(instant: _Instant, validators: int) -> bool:
    """Return whether a part left for the peer in turn, besides what clients handed in, which goes to all others."""
    to_peer = instant.messages.get(instant.peer, 0)
    to_all = min(instant.messages.values()) if len(instant.messages) == validators - 1 > 1 else 0
    return to_peer > to_all


def _possible_rests(instant: _Instant) -> list[list[bytes]]:
    """Return what may be left of a round whose part held transactions that are not in the mempool any more."""
    rests: dict[tuple[bytes, ...], None] = {(): None}
    for each in instant.due:
        if instant.has_worked or not each.lacks:
            waiting = [*each.part, *each.left]
            rests |= {tuple(waiting[taken:]): None for taken in range(len(each.part) + 1)}
    return [list(rest) for rest in rests]


def _first_of(digests: list[bytes], pool: Mapping[bytes, Pooled]) -> dict[bytes, bytes]:
    """Return the encoded transactions that fit into one part, by digest; one always does."""
    part: dict[bytes, bytes] = {}
    room_bytes = PART_BYTES
    for digest in digests[:PART_TRANSACTIONS]:
        encoded = pool[digest].encoded
        room_bytes -= len(encoded)
        if part and room_bytes < 0:
            break
        part[digest] = encoded
    return part
