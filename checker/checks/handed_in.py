"""Transactions that clients hand to a validator: each that is sound is pooled there, and sent to all others at once.

One that its validator refuses, forgets or keeps for itself costs time and no more, while clients hand in others: the
chain goes on without it. So a sample of the mempools is held against what clients handed in since the validator began.
One that has been there for `SETTLE_US` and is in neither of two samples fails, unless it is final, its nonce spent or
taken there, or its form or its signature is wrong, which is verified again. A validator has sent each that it pooled to
every other validator: of the messages that carry transactions, those besides the parts of its timer are as many at
least. No such message goes to a peer twice: what is pooled, or has left the mempool for good, is not new once more.
"""

from collections.abc import Callable, Mapping
from typing import Final

from checker.checks.inclusion import next_nonce
from checker.oracle.records import MalformedError, read_transaction, sha256
from checker.results import CheckTally
from network.events import Sent
from network.types import Micros, NodeId
from validators.mempool.pool import CLIENTS, Pooled

SETTLE_US: Final = 5_000_000
"""The time until a transaction's signature is verified, behind whatever work is there."""

BYTES_MAX: Final = 1024 * 1024
"""A longer transaction may be too long for a mempool."""

_Pool = Mapping[bytes, Pooled]


class HandedIn:
    """Follows what clients hand to validators until it is pooled there.

    Args:
        tally: The counts of the check that this is a part of.
        validators: The number of validators.
        submissions: Returns the encoded transactions of all clients by digest.
    """

    def __init__(self, tally: CheckTally, validators: int, submissions: Callable[[], Mapping[bytes, bytes]]) -> None:
        self._tally = tally
        self._others = validators - 1
        self._submissions = submissions
        self._encoded: Mapping[bytes, bytes] | None = None
        self._waiting: dict[NodeId, dict[bytes, Micros]] = {}
        self._counted: dict[NodeId, dict[bytes, None]] = {}
        self._missed: dict[tuple[NodeId, bytes], Micros] = {}
        self._final: dict[bytes, None] = {}
        self._sent: dict[NodeId, int] = {}
        self._pooled: dict[NodeId, int] = {}
        self._instants: dict[NodeId, tuple[Micros, int]] = {}
        self._left: dict[NodeId, dict[tuple[NodeId, bytes], None]] = {}

    def submit(self, node: NodeId, digest: bytes, at_us: Micros) -> None:
        """Note that a validator was handed a transaction."""
        self._waiting.setdefault(node, {})[digest] = at_us

    def send(self, node: NodeId, at_us: Micros, sent: Sent, *, may_be_timers: bool) -> None:
        """Note a message that carries transactions; `may_be_timers` where a timer's part may leave in this instant."""
        last_us, count = self._instants.get(node, (-1, 0))
        count = count + 1 if last_us == at_us else 1
        self._instants[node] = at_us, count
        # A part goes to one alone: with a second message in its instant, the first may be a client's as well.
        counted = 1 if count > 2 or not may_be_timers else 2 * (count == 2)
        self._sent[node] = self._sent.get(node, 0) + counted
        # A part may hold the one transaction that a client handed in a moment ago.
        if not may_be_timers:
            left = self._left.setdefault(node, {})
            if (sent.destination, sent.checksum) in left:
                self._tally.compared += 1
                text = f"validator {node} sent validator {sent.destination} transactions of its clients once more"
                self._tally.fail(text, validator=node, at_us=at_us)
            left[sent.destination, sent.checksum] = None

    def forget(self, node: NodeId) -> None:
        """A life ends or begins, with an empty mempool."""
        for each in (self._waiting, self._counted, self._sent, self._pooled, self._instants, self._left):
            each.pop(node, None)
        self._missed = {key: at_us for key, at_us in self._missed.items() if key[0] != node}

    def finalize(self, encoded: bytes) -> None:
        """Note a transaction of a final block."""
        self._final[sha256(encoded)] = None

    def compare(self, now_us: Micros, pools: Mapping[NodeId, _Pool], state: Mapping[bytes, bytes]) -> None:
        """Hold mempools against what was handed in."""
        for node, pool in pools.items():
            waiting = self._waiting.get(node, {})
            for digest, at_us in list(waiting.items()):
                if digest in pool:
                    self._tally.compared += 1
                    # Handed in once more while it waits, it does not leave once more.
                    counted = self._counted.setdefault(node, {})
                    is_new = digest not in counted and pool[digest].giver == CLIENTS
                    self._pooled[node] = self._pooled.get(node, 0) + is_new
                    counted[digest] = None
                elif digest in self._final:
                    pass
                elif now_us - at_us < SETTLE_US or self._missed.setdefault((node, digest), now_us) == now_us:
                    # A block that was made final together with this one may have it, and is shown after it.
                    continue
                elif self._is_of_use(digest, pool, state):
                    self._tally.compared += 1
                    text = f"validator {node} has not pooled transaction {digest[:6].hex()}, which a client handed in"
                    self._tally.fail(f"{text} {now_us - at_us:,} us ago", validator=node, transaction=digest.hex())
                del waiting[digest]
            pooled, sent = self._pooled.get(node, 0), self._sent.get(node, 0)
            if self._others > 1 and sent < pooled * self._others:
                self._tally.compared += 1
                text = f"validator {node} pooled {pooled} transactions of clients, and sent {sent} messages with such"
                self._tally.fail(f"{text}: each goes to {self._others} others at once", validator=node, sent=sent)

    def _is_of_use(self, digest: bytes, pool: _Pool, state: Mapping[bytes, bytes]) -> bool:
        """Return whether a mempool that has these transactions had to take another one."""
        if self._encoded is None:
            self._encoded = self._submissions()
        encoded = self._encoded.get(digest, b"")
        if len(encoded) > BYTES_MAX or not is_useful(encoded, pool, state):
            return False
        from checker.oracle import blocks as oracle  # noqa: PLC0415 - a start has no use for it

        return oracle.is_signed(read_transaction(encoded))


def is_useful(encoded: bytes, pool: _Pool, state: Mapping[bytes, bytes]) -> bool:
    """Return whether a transaction is well formed, and its nonce neither spent in a state nor taken in a mempool."""
    try:
        transaction = read_transaction(encoded)
    except MalformedError:
        return False
    place = transaction.public_key, transaction.nonce
    places = ((each.transaction.public_key, each.transaction.nonce) for each in pool.values())
    return transaction.nonce >= next_nonce(state, transaction.public_key) and place not in places
