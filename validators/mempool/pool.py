"""Transactions that wait for a block: by arrival for any chain, by sender and nonce for the project's own chain.

Invariant: the pool holds at most `bytes_max` bytes from each giver (a peer, or all clients together), so that no giver
can displace the transactions of another. A `Mempool` holds one transaction per (sender, nonce): the first to arrive. A
leader is offered them in an order that depends on their content alone: senders' next transactions by priority fee,
highest first, ties by transaction hash.
"""

import hashlib
import heapq
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final, NamedTuple

from scheduler import Reach, unheard
from validators.derived import Derived, DerivedSize
from validators.execution.blocks import Block, Transaction, decode_transaction, transaction_digest
from validators.identity import TransactionVerifier
from validators.mempool.rules import PoolRule
from validators.messages import TRANSACTION_BYTES_MAX

GOSSIP_FRAME_BYTES: Final = 64
"""Room for the message around a transaction: a pooled transaction must fit into one message."""

BYTES_MAX: Final = 64 * 1024 * 1024
"""Most bytes that a mempool holds from one giver, which may try again later."""

SPENT_MAX: Final = 65_536
"""Digests of transactions of final blocks that a pool remembers."""

CLIENTS: Final = -1
"""The giver of all transactions that clients submit here."""


@dataclass(frozen=True, slots=True)
class Pooled:
    """A transaction with its encoding and hash, so that neither is computed twice, and the peer that gave it.

    `arrival` is its place in the order of arrival at the mempool, from 1 on.
    """

    transaction: Any
    """As the pool has read it: a `Transaction` of the project's own chain, the bytes of another chain's transaction."""
    encoded: bytes
    digest: bytes
    giver: int = CLIENTS
    arrival: int = 0


class Arrivals(NamedTuple):
    """A span of arrivals: after `after` and up to `until`."""

    after: int
    until: int


NO_ARRIVALS: Final = Arrivals(0, 0)


class TransactionPool:
    """One validator's transactions, by arrival. It lives in memory: a crash empties it.

    A transaction is opaque bytes here, and its digest is their SHA-256. Transactions of final blocks are not accepted
    again, up to `SPENT_MAX` digests: they would otherwise pass from pool to pool for ever. `Mempool` has more rules.
    """

    def __init__(self, find_fault: Callable[[bytes], str], bytes_max: int = BYTES_MAX, reach: Reach = unheard) -> None:
        """Start empty; `find_fault` returns why a transaction may not wait, "" where it may."""
        self._find_fault = find_fault
        self._reach = reach
        self._known: dict[bytes, Pooled] = {}
        self._spent: dict[bytes, None] = {}
        self._given_bytes: dict[int, int] = {}
        self._arrivals = 0
        self._bytes_max = bytes_max

    def __len__(self) -> int:
        return len(self._known)

    @property
    def pooled(self) -> Mapping[bytes, Pooled]:
        """Waiting transactions by digest, in the order in which they came."""
        return self._known

    def __contains__(self, digest: bytes) -> bool:
        return digest in self._known or digest in self._spent

    def read(self, payload: bytes, giver: int) -> Pooled:
        """Return a giver's transaction, decoded.

        Raises:
            InvalidEncodingError: The payload is no transaction.
        """
        return Pooled(payload, payload, hashlib.sha256(payload).digest(), giver)

    def find_fault(self, pooled: Pooled) -> str:
        """Return why a transaction may not wait here, "" where it may."""
        return self._find_fault(pooled.encoded)

    def take_unpaid(self) -> int:
        """Return the number of signatures verified since the last call, whose virtual time the caller charges."""
        return 0

    def add(self, pooled: Pooled) -> bool:
        """Add a transaction; return False where it is known or the pool is full."""
        return pooled.digest not in self and self._keep(pooled) is not None

    def remove_included(self, block: Block) -> None:
        """Forget the transactions of a finalized block, for good."""
        for encoded in block.transactions:
            self.spend(hashlib.sha256(encoded).digest())

    def spend(self, digest: bytes) -> None:
        """Forget a transaction for good, whether it waits here or not."""
        self.remove(digest)
        self._spent[digest] = None
        if len(self._spent) > SPENT_MAX:
            del self._spent[next(iter(self._spent))]

    def remove_spent(self) -> None:
        """Forget transactions that are void in a replaced finalized state; here nothing tells which are."""

    def remove(self, digest: bytes) -> None:
        """Forget a transaction, if it waits here."""
        gone = self._known.pop(digest, None)
        if gone is not None:
            self._given_bytes[gone.giver] -= len(gone.encoded)

    def candidates(self) -> Iterator[Any]:
        """Yield all transactions in the order in which a leader tries them, which is that of arrival."""
        return (pooled.transaction for pooled in self._known.values())

    @property
    def arrivals(self) -> Arrivals:
        """All arrivals until now."""
        return Arrivals(0, self._arrivals)

    def waiting(self, arrivals: Arrivals, count: int) -> list[Pooled]:
        """Return up to `count` transactions that arrived within a span and still wait, earliest first."""
        after, until = arrivals
        return list(islice((each for each in self._known.values() if after < each.arrival <= until), count))

    def derived(self) -> Derived:
        """Return the used room by giver, beside the room derived from the pooled transactions."""
        given_bytes: dict[int, int] = {}
        for pooled in self._known.values():
            given_bytes[pooled.giver] = given_bytes.get(pooled.giver, 0) + len(pooled.encoded)
        return Derived(
            part="mempool",
            kept={f"bytes given by {giver}": held for giver, held in self._given_bytes.items() if held},
            rebuilt={f"bytes given by {giver}": held for giver, held in given_bytes.items()},
            sizes=(
                *(
                    DerivedSize(f"bytes given by {giver}", held, self._bytes_max, "BYTES_MAX")
                    for giver, held in self._given_bytes.items()
                ),
                *[DerivedSize("digests of final blocks", len(self._spent), SPENT_MAX, "SPENT_MAX")] * bool(self._spent),
            ),
        )

    def _is_full(self, pooled: Pooled) -> bool:
        return self._given_bytes.get(pooled.giver, 0) + len(pooled.encoded) > self._bytes_max

    def _keep(self, pooled: Pooled) -> Pooled | None:
        """Append a transaction to the pool; return it with its arrival, None where its giver's room is full."""
        if self._is_full(pooled):
            return None
        self._arrivals += 1
        kept = self._known[pooled.digest] = replace(pooled, arrival=self._arrivals)
        self._given_bytes[pooled.giver] = self._given_bytes.get(pooled.giver, 0) + len(pooled.encoded)
        return kept


class Mempool(TransactionPool):
    """The pool of the project's own chain: signed transactions by sender and nonce."""

    def __init__(
        self,
        next_nonce: Callable[[bytes], int],
        verifier: TransactionVerifier,
        bytes_max: int = BYTES_MAX,
        reach: Reach = unheard,
    ) -> None:
        """Start empty; `next_nonce` returns the next nonce of a public key's account in the finalized state."""
        super().__init__(lambda _encoded: "", bytes_max, reach)
        self._next_nonce = next_nonce
        self._verifier = verifier
        self._by_sender: dict[bytes, dict[int, Pooled]] = {}

    def read(self, payload: bytes, giver: int) -> Pooled:
        """Decode a transaction."""
        transaction = decode_transaction(payload, TRANSACTION_BYTES_MAX - GOSSIP_FRAME_BYTES)
        return Pooled(transaction, payload, transaction_digest(transaction), giver)

    def find_fault(self, pooled: Pooled) -> str:
        """Return why the signature is not the sender's, "" where it is."""
        return "" if self._verifier(pooled.transaction) else "signature"

    def take_unpaid(self) -> int:
        """Return the number of signatures verified since the last call."""
        return self._verifier.take_unpaid()

    def add(self, pooled: Pooled) -> bool:
        """Add a transaction; return False where it is known, its nonce is taken or spent, or the pool is full."""
        sender, nonce = pooled.transaction.public_key, pooled.transaction.nonce
        # A lagging peer may repeat a final transaction, of this life or an earlier one: a spent nonce is void for good.
        is_spent = nonce < self._next_nonce(sender)
        if is_spent or nonce in self._by_sender.get(sender, ()) or pooled.digest in self._known:
            if not self._is_full(pooled):
                self._reach(PoolRule.NONCE_SPENT if is_spent else PoolRule.NONCE_TAKEN)
            return False
        kept = self._keep(pooled)
        if kept is None:
            return False
        nonces = self._by_sender.setdefault(sender, {})
        nonces[nonce] = kept
        if len(nonces) > 1:
            self._reach(PoolRule.SENDER_WAITS_TWICE)
        return True

    def remove_included(self, block: Block) -> None:
        """Forget the transactions of a finalized block, and all transactions that its nonces made void."""
        for transaction in map(decode_transaction, block.transactions):
            self._remove_below(transaction.public_key, transaction.nonce + 1)

    def remove_spent(self) -> None:
        """Forget transactions that are void in a replaced finalized state."""
        before = len(self._known)
        for sender in list(self._by_sender):
            self._remove_below(sender, self._next_nonce(sender))
        if len(self._known) < before:
            self._reach(PoolRule.VOIDED_BY_SNAPSHOT)

    def candidates(self) -> Iterator[Transaction]:
        """Yield all transactions in the order in which a leader tries them; nonces of one sender ascend."""
        queues = {sender: [nonces[nonce] for nonce in sorted(nonces)] for sender, nonces in self._by_sender.items()}
        heads = [self._rank(queue[0], 0) for queue in queues.values() if queue]
        heapq.heapify(heads)
        while heads:
            _, _, index, pooled = heapq.heappop(heads)
            yield pooled.transaction
            queue = queues[pooled.transaction.public_key]
            if index + 1 < len(queue):
                heapq.heappush(heads, self._rank(queue[index + 1], index + 1))

    def derived(self) -> Derived:
        """Return places by sender and rooms of givers, beside those derived from pooled, unspent transactions."""
        places: dict[bytes, dict[int, bytes]] = {}
        for pooled in self._known.values():
            sender, nonce = pooled.transaction.public_key, pooled.transaction.nonce
            if nonce >= self._next_nonce(sender):
                places.setdefault(sender, {})[nonce] = pooled.digest
        kept = {
            f"place of nonce {nonce} of {sender.hex()}": pooled.digest
            for sender, nonces in self._by_sender.items()
            for nonce, pooled in nonces.items()
        }
        rebuilt = {
            f"place of nonce {nonce} of {sender.hex()}": digest
            for sender, nonces in places.items()
            for nonce, digest in nonces.items()
        }
        rooms = super().derived()
        senders = DerivedSize("senders with a place", len(self._by_sender), len(places), "senders of what is pooled")
        return rooms._replace(
            kept={**kept, **rooms.kept},
            rebuilt={**rebuilt, **rooms.rebuilt},
            sizes=(senders, *rooms.sizes, self._verifier.remembered()),
        )

    def _remove_below(self, sender: bytes, next_nonce: int) -> None:
        nonces = self._by_sender.get(sender, {})
        for nonce in sorted(nonce for nonce in nonces if nonce < next_nonce):
            self.remove(nonces.pop(nonce).digest)
        if not nonces:
            self._by_sender.pop(sender, None)

    def _rank(self, pooled: Pooled, index: int) -> tuple[int, bytes, int, Pooled]:
        return -pooled.transaction.priority_fee_per_cycle, pooled.digest, index, pooled
