"""Transactions that wait for a block, by sender and nonce.

Invariant: of each giver (a peer, or all clients) at most `bytes_max` bytes are held, so that none can crowd out what
comes from the others, and one transaction per (sender, nonce): the first
one that came. The order in which a leader is offered them depends on the content alone: senders'
next transactions by priority fee, highest first, ties by transaction hash.
"""

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final, NamedTuple

from scheduler import Reach, unheard
from validators.derived import Derived, DerivedSize
from validators.execution.blocks import Transaction
from validators.mempool.rules import PoolRule

BYTES_MAX: Final = 64 * 1024 * 1024
"""Most bytes that a mempool holds of one giver, which may try again later."""

CLIENTS: Final = -1
"""The giver of what clients submit here."""


@dataclass(frozen=True, slots=True)
class Pooled:
    """A transaction with its encoding and hash, so that neither is computed twice, and the peer that gave it.

    `arrival` is its place in the order in which transactions came into the mempool, from 1 on.
    """

    transaction: Transaction
    encoded: bytes
    digest: bytes
    giver: int = CLIENTS
    arrival: int = 0


class Arrivals(NamedTuple):
    """A span of arrivals: those after `after` and up to `until`."""

    after: int
    until: int


NO_ARRIVALS: Final = Arrivals(0, 0)


class Mempool:
    """One validator's mempool. It lives in memory: a crash empties it."""

    def __init__(self, next_nonce: Callable[[bytes], int], bytes_max: int = BYTES_MAX, reach: Reach = unheard) -> None:
        """Begin empty; `next_nonce` returns the next nonce of a public key's account in the finalized state."""
        self._next_nonce = next_nonce
        self._reach = reach
        self._by_sender: dict[bytes, dict[int, Pooled]] = {}
        self._known: dict[bytes, Pooled] = {}
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
        return digest in self._known

    def add(self, pooled: Pooled) -> bool:
        """Take a transaction; False where it is known, its nonce is taken or spent, or the pool is full."""
        sender, nonce = pooled.transaction.public_key, pooled.transaction.nonce
        given_bytes = self._given_bytes.get(pooled.giver, 0) + len(pooled.encoded)
        is_full = given_bytes > self._bytes_max
        # A peer that lags may repeat what is final, here or in an earlier life: a spent nonce is void for good.
        is_spent = nonce < self._next_nonce(sender)
        if is_full or is_spent or nonce in self._by_sender.get(sender, ()) or pooled.digest in self._known:
            if not is_full:
                self._reach(PoolRule.NONCE_SPENT if is_spent else PoolRule.NONCE_TAKEN)
            return False
        nonces = self._by_sender.setdefault(sender, {})
        self._arrivals += 1
        nonces[nonce] = pooled = replace(pooled, arrival=self._arrivals)
        if len(nonces) > 1:
            self._reach(PoolRule.SENDER_WAITS_TWICE)
        self._known[pooled.digest] = pooled
        self._given_bytes[pooled.giver] = given_bytes
        return True

    def remove_included(self, included: Iterable[Transaction]) -> None:
        """Forget what a finalized block holds, and all that its senders' nonces made void."""
        for transaction in included:
            self._remove_below(transaction.public_key, transaction.nonce + 1)

    def remove_spent(self) -> None:
        """Forget what is void in the finalized state, which has become another one."""
        before = len(self._known)
        for sender in list(self._by_sender):
            self._remove_below(sender, self._next_nonce(sender))
        if len(self._known) < before:
            self._reach(PoolRule.VOIDED_BY_SNAPSHOT)

    def candidates(self) -> Iterator[Transaction]:
        """Yield everything in the order in which a leader tries it; nonces of one sender ascend."""
        queues = {sender: [nonces[nonce] for nonce in sorted(nonces)] for sender, nonces in self._by_sender.items()}
        heads = [self._rank(queue[0], 0) for queue in queues.values() if queue]
        heapq.heapify(heads)
        while heads:
            _, _, index, pooled = heapq.heappop(heads)
            yield pooled.transaction
            queue = queues[pooled.transaction.public_key]
            if index + 1 < len(queue):
                heapq.heappush(heads, self._rank(queue[index + 1], index + 1))

    @property
    def arrivals(self) -> Arrivals:
        """All arrivals until now."""
        return Arrivals(0, self._arrivals)

    def waiting(self, arrivals: Arrivals, count: int) -> list[Pooled]:
        """Return up to `count` transactions that came within a span and still wait, the earliest first."""
        after, until = arrivals
        return list(islice((each for each in self._known.values() if after < each.arrival <= until), count))

    def derived(self) -> Derived:
        """Return places by sender and room by giver beside those of what is pooled and not spent."""
        places: dict[bytes, dict[int, bytes]] = {}
        given_bytes: dict[int, int] = {}
        for pooled in self._known.values():
            sender, nonce = pooled.transaction.public_key, pooled.transaction.nonce
            if nonce >= self._next_nonce(sender):
                places.setdefault(sender, {})[nonce] = pooled.digest
            given_bytes[pooled.giver] = given_bytes.get(pooled.giver, 0) + len(pooled.encoded)
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
        return Derived(
            part="mempool",
            kept=kept | {f"bytes given by {giver}": held for giver, held in self._given_bytes.items() if held},
            rebuilt=rebuilt | {f"bytes given by {giver}": held for giver, held in given_bytes.items()},
            sizes=(
                DerivedSize("senders with a place", len(self._by_sender), len(places), "senders of what is pooled"),
                *(
                    DerivedSize(f"bytes given by {giver}", held, self._bytes_max, "BYTES_MAX")
                    for giver, held in self._given_bytes.items()
                ),
            ),
        )

    def _remove_below(self, sender: bytes, next_nonce: int) -> None:
        nonces = self._by_sender.get(sender, {})
        for nonce in sorted(nonce for nonce in nonces if nonce < next_nonce):
            gone = nonces.pop(nonce)
            del self._known[gone.digest]
            self._given_bytes[gone.giver] -= len(gone.encoded)
        if not nonces:
            self._by_sender.pop(sender, None)

    def _rank(self, pooled: Pooled, index: int) -> tuple[int, bytes, int, Pooled]:
        return -pooled.transaction.priority_fee_per_cycle, pooled.digest, index, pooled
