"""Transactions that wait for a block, by sender and nonce.

Invariant: of each giver (a peer, or all clients) at most `bytes_max` bytes are held, so that none can crowd out what
comes from the others, and one transaction per (sender, nonce): the first
one that came. The order in which a leader is offered them depends on the content alone: senders'
next transactions by priority fee, highest first, ties by transaction hash.
"""

import heapq
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from validators.execution.blocks import Transaction

BYTES_MAX: Final = 64 * 1024 * 1024
"""Beyond this a mempool takes nothing more from the same giver; who wants to may try again."""

CLIENTS: Final = -1
"""The giver of what clients submit here."""


@dataclass(frozen=True, slots=True)
class Pooled:
    """A transaction with its encoding and hash, so that neither is computed twice, and the peer that gave it."""

    transaction: Transaction
    encoded: bytes
    digest: bytes
    giver: int = CLIENTS


class Mempool:
    """One validator's mempool. It lives in memory: a crash empties it."""

    def __init__(self, bytes_max: int = BYTES_MAX) -> None:
        self._by_sender: dict[bytes, dict[int, Pooled]] = {}
        self._known: dict[bytes, Pooled] = {}
        self._next_nonce: dict[bytes, int] = {}
        self._given_bytes: dict[int, int] = {}
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
        is_void = nonce < self._next_nonce.get(sender, 0) or nonce in self._by_sender.get(sender, ())
        if is_full or is_void or pooled.digest in self._known:
            return False
        self._by_sender.setdefault(sender, {})[nonce] = pooled
        self._known[pooled.digest] = pooled
        self._given_bytes[pooled.giver] = given_bytes
        return True

    def remove_included(self, included: Iterable[Transaction]) -> None:
        """Forget what a finalized block holds, and all that its senders' nonces made void."""
        for transaction in included:
            nonces = self._by_sender.get(transaction.public_key, {})
            # A peer that lags may repeat it: a nonce that was included is void for good.
            self._next_nonce[transaction.public_key] = transaction.nonce + 1
            for nonce in sorted(nonce for nonce in nonces if nonce <= transaction.nonce):
                gone = nonces.pop(nonce)
                del self._known[gone.digest]
                self._given_bytes[gone.giver] -= len(gone.encoded)
            if not nonces:
                self._by_sender.pop(transaction.public_key, None)

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

    def waiting(self, turn: int, count: int) -> list[Pooled]:
        """Return up to `count` transactions in the order in which they came, another part of them each turn."""
        pooled = list(self._known.values())
        first = turn * count % len(pooled) if pooled else 0
        return pooled[first : first + count]

    def _rank(self, pooled: Pooled, index: int) -> tuple[int, bytes, int, Pooled]:
        return -pooled.transaction.priority_fee_per_cycle, pooled.digest, index, pooled
