"""Transactions that come again: one that waits in a mempool already is known there, and begins no work.

To verify it once more changes nothing but the time that it takes. What a message of gossip holds is not in the trace,
but one with a transaction alone has the checksum that follows from a transaction of the final chain. It comes *again*
to a validator that it came to before in this life. If the processor is idle, its signature has been verified since:
then nothing begins in the instant in which it comes, unless something else happens to the validator in it.

Not judged is what has become final at the validator before it came again: it has left the mempool. Nor are validators
that the plan pauses or that have joined from a snapshot, and runs in which an adversary may have taken the nonce, or
two transactions of clients share it.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from checker.checks.context import RunContext
from checker.oracle.records import MalformedError, read_transaction
from checker.results import CheckTally
from network.clock import MILLION
from network.events import WorkFinished
from network.types import Micros, NodeId
from validators.consensus.registry import ENGINES
from validators.messages import TransactionGossip, message_codec

GOSSIP: Final = "TransactionGossip"
PROCESSOR: Final = "cpu"
CHECKSUM_BYTES: Final = 8

SMALL_BYTES: Final = 1_000
"""Reading a longer message is work."""

POOL_BYTES: Final = 32 * 1024 * 1024
"""Transactions of clients that are longer together may find a mempool full."""


class _Again(NamedTuple):
    """A message that came again, and the final height of its validator then."""

    node: NodeId
    checksum: bytes
    at_us: Micros
    height: int


@dataclass(slots=True)
class _Life:
    """One life of a validator: its final height, the messages that came, and the one that has just come again.

    Attributes:
        begun_us: When it began; what came in that instant may have come before.
        height: Its final height.
        came: By checksum, when a message came first.
        inbound_us: The last instant in which anything happened to it.
        last: The message that came again in that instant and alone, or None.
    """

    begun_us: Micros
    height: int
    came: dict[bytes, Micros] = field(default_factory=dict)
    inbound_us: Micros = -1
    last: _Again | None = None


class KnownAgain:
    """Follows the transactions that come to validators one by one.

    Args:
        run: The run, with its final chain.
        tally: The counts of the check that this is a part of.
    """

    def __init__(self, run: RunContext, tally: CheckTally) -> None:
        self._run = run
        self._tally = tally
        honest = dict.fromkeys(run.honest)
        paused = run.plan.paused()
        is_judged = all(node in honest for node in range(run.validators))
        self._judged = {node: None for node in range(run.validators) if is_judged and node not in paused}
        self._codec = message_codec(ENGINES[run.engine])
        self._lives: dict[NodeId, _Life] = {}
        self._joined: dict[NodeId, None] = {}
        self._handed_in: dict[tuple[NodeId, Micros], None] = {}
        self._worked: list[_Again] = []
        self._final: dict[bytes, int] = {}
        self.known = 0
        """Messages that came again and began no work."""

    def begin(self, node: NodeId, at_us: Micros, height: int) -> None:
        """A life begins, with an empty mempool."""
        if node in self._judged:
            self._lives[node] = _Life(at_us, height)

    def end(self, node: NodeId) -> None:
        """A life ends."""
        self._lives.pop(node, None)

    def join(self, node: NodeId) -> None:
        """Another state takes the place of a validator's, in which nonces may be spent."""
        self._joined[node] = None

    def rise(self, node: NodeId, height: int) -> None:
        """A block is final at a validator."""
        life = self._lives.get(node)
        if life is not None:
            life.height = height

    def settle(self, height: int, transactions: Sequence[bytes]) -> None:
        """Note the transactions of the final block of a height."""
        if self._judged:
            for encoded in transactions:
                if len(encoded) < SMALL_BYTES:
                    self._final[self._checksum_of(encoded)] = height

    def hand_in(self, node: NodeId, at_us: Micros) -> None:
        """A client hands in a transaction; the trace may show it behind what followed in that instant."""
        self._handed_in[node, at_us] = None

    def happen(self, node: NodeId, at_us: Micros) -> None:
        """Something happens to a validator that may begin work in this instant."""
        life = self._lives.get(node)
        if life is not None:
            life.inbound_us = at_us
            if life.last is not None and life.last.at_us == at_us:
                life.last = None

    def take(self, node: NodeId, at_us: Micros, checksum: bytes, length: int) -> None:
        """A message of gossip comes."""
        life = self._lives.get(node)
        if life is None:
            return
        is_alone = life.inbound_us < at_us
        self.happen(node, at_us)
        if at_us > life.begun_us and length < SMALL_BYTES:
            is_again = life.came.setdefault(checksum, at_us) < at_us
            if is_again and is_alone:
                life.last = _Again(node, checksum, at_us, life.height)

    def work(self, node: NodeId, at_us: Micros, work: WorkFinished) -> None:
        """Work is over. A message that came before it began has begun none; one that came in its midst is let go."""
        life = self._lives.get(node)
        if life is None:
            return
        last, begun_us = life.last, at_us - work.base_us - work.extra_us
        if last is not None and work.lane == PROCESSOR:
            life.last = None
            self.known += last.at_us < begun_us
            if last.at_us == begun_us:
                self._worked.append(last)
        self.happen(node, at_us)

    def finish(self) -> None:
        """Compare the messages that came again and began work."""
        self._tally.compared += self.known
        for again in self._worked:
            if self._was_known(again):
                text = f"validator {again.node} began to verify a transaction again that was in its mempool, as it came"
                self._tally.fail(f"{text} at {again.at_us / MILLION:.3f} s", validator=again.node, at_us=again.at_us)

    def _was_known(self, again: _Again) -> bool:
        """Return whether a message had one transaction that was in the mempool for certain."""
        height = self._final.get(again.checksum, 0)
        is_in_doubt = again.node in self._joined or (again.node, again.at_us) in self._handed_in
        if is_in_doubt or again.height >= height:
            return False
        transactions = self._run.chain[height - 1].block.transactions
        places = [_place_of(encoded) for encoded in transactions if self._checksum_of(encoded) == again.checksum]
        handed_in = self._run.submissions().values()
        return sum(map(len, handed_in)) <= POOL_BYTES and sum(_place_of(each) in places for each in handed_in) == 1

    def _checksum_of(self, encoded: bytes) -> bytes:
        """Return the checksum of a message with one transaction."""
        message = self._codec.encode(TransactionGossip((encoded,)))
        return hashlib.blake2b(message, digest_size=CHECKSUM_BYTES).digest()


def _place_of(encoded: bytes) -> tuple[bytes, int] | None:
    """Return the sender and the nonce of a transaction, None for bytes that are none."""
    try:
        transaction = read_transaction(encoded)
    except MalformedError:
        return None
    return transaction.public_key, transaction.nonce
