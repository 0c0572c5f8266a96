"""Transactions that wait: what a mempool takes, forgets and offers, whatever comes in whatever order.

A run's clients hand in what is sound and soon final. That two transactions have one nonce, that a giver's room is full
to the byte, or that a snapshot voids what waits, few runs have, and then it costs a delay that nobody feels. Here a
pool of a dozen goes through all of it, beside a list in the order of arrival.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from types import SimpleNamespace
from typing import Final, cast

from msgspec import structs

from scheduler import CoveragePoint
from tests.properties.draws import Asked, Draw
from validators.derived import Derived
from validators.execution.blocks import Block, ExecuteActor, Transaction, encode_transaction
from validators.identity import TransactionVerifier
from validators.mempool.pool import CLIENTS, Arrivals, Mempool, Pooled
from validators.mempool.rules import PoolRule

_BYTES_MAX: Final = 64 * 1024 * 1024
"""Most bytes of one giver that a mempool holds."""

SENDERS: Final = tuple(bytes([number]) * 32 for number in (7, 3, 5))
_NONCES: Final = 5
_STOCK: Final = 14
_STEPS: Final = 26
_FEES: Final = 3


def check_pools(draw: Draw) -> Asked:
    """Yield what is asked of a mempool, and whether it is so."""
    stock = [_draw_pooled(draw) for _ in range(_STOCK)]
    bytes_max = sum(len(pooled.encoded) for pooled in stock[: 3 + draw(4)]) - draw(2)
    plain = ReferencePool({sender: draw(2) for sender in SENDERS}, bytes_max)
    reached: list[CoveragePoint] = []
    pool = Mempool(lambda sender: plain.nonces[sender], TransactionVerifier(), bytes_max, reached.append)
    for _ in range(_STEPS):
        reached.clear()
        match draw(9):
            case 0:
                block = plain.draw_block(stock, draw)
                yield from _compare_stale(pool, plain)
                pool.remove_included(block)
                plain.drop_spent()
                expected: list[CoveragePoint] = []
            case 1:
                plain.nonces[SENDERS[draw(len(SENDERS))]] += draw(3)
                yield from _compare_stale(pool, plain)
                pool.remove_spent()
                expected = [PoolRule.VOIDED_BY_SNAPSHOT] if plain.drop_spent() else []
            case _:
                pooled = replace(stock[draw(_STOCK)], giver=(CLIENTS, 1, 2)[draw(3)])
                expected = plain.cells_of(pooled)
                taken = plain.add(pooled)
                yield (
                    "a transaction is taken or left otherwise than there is room and a nonce",
                    pool.add(pooled) == taken,
                )
        yield "a mempool reaches other rules than it meets", reached == expected
        yield from _compare_pool(pool, plain, stock, draw)
    yield from _check_room()


class ReferencePool:
    """A list of what waits, in the order in which it came, and the next nonces of the final state."""

    def __init__(self, nonces: dict[bytes, int], bytes_max: int = _BYTES_MAX) -> None:
        self.nonces = nonces
        self.waiting: list[Pooled] = []
        self._bytes_max = bytes_max
        self._came = 0

    def given(self, giver: int) -> int:
        """Return the bytes that wait of a giver."""
        return sum(len(pooled.encoded) for pooled in self.waiting if pooled.giver == giver)

    def is_spent(self, pooled: Pooled) -> bool:
        """Return whether a final block has the nonce already."""
        return pooled.transaction.nonce < self.nonces[pooled.transaction.public_key]

    def is_free(self, pooled: Pooled) -> bool:
        """Return whether nothing waits with this sender and nonce: the first one that came stands."""
        return not [each for each in self.waiting if _place(each) == _place(pooled)]

    def is_full(self, pooled: Pooled) -> bool:
        """Return whether the giver has no room for it."""
        return self.given(pooled.giver) + len(pooled.encoded) > self._bytes_max

    def cells_of(self, pooled: Pooled) -> list[CoveragePoint]:
        """Return the rules that are met with a transaction, before it is taken."""
        if self.is_full(pooled):
            return []
        if self.is_spent(pooled):
            return [PoolRule.NONCE_SPENT]
        if not self.is_free(pooled):
            return [PoolRule.NONCE_TAKEN]
        sender = pooled.transaction.public_key
        waits = [each for each in self.waiting if each.transaction.public_key == sender]
        return [PoolRule.SENDER_WAITS_TWICE] if waits else []

    def add(self, pooled: Pooled) -> bool:
        """Take a transaction, or not."""
        if self.is_full(pooled) or self.is_spent(pooled) or not self.is_free(pooled):
            return False
        self._came += 1
        self.waiting.append(replace(pooled, arrival=self._came))
        return True

    def drop_spent(self) -> bool:
        """Forget what a final block has made void, and return whether there was any."""
        before = len(self.waiting)
        self.waiting = [pooled for pooled in self.waiting if not self.is_spent(pooled)]
        return len(self.waiting) < before

    def draw_block(self, stock: Sequence[Pooled], draw: Draw) -> Block:
        """Draw the transactions of a block, of which some wait here, and make it final."""
        block: list[Transaction] = []
        for _ in range(1 + draw(3)):
            sender = SENDERS[draw(len(SENDERS))]
            nonce = self.nonces[sender]
            known = [each.transaction for each in stock if _place(each) == (sender, nonce)]
            block.append(known[draw(len(known))] if known and draw(4) else _draw_transaction(sender, nonce, draw))
            self.nonces[sender] += 1
        return cast("Block", SimpleNamespace(transactions=tuple(map(encode_transaction, block))))

    def offered(self) -> Iterator[Transaction]:
        """Yield what a leader tries: of the senders' lowest nonces the highest fee, the lowest hash of those."""
        left = sorted(self.waiting, key=lambda pooled: pooled.transaction.nonce)
        while left:
            lowest = {pooled.transaction.public_key: pooled for pooled in reversed(left)}
            best = min(lowest.values(), key=lambda each: (-each.transaction.priority_fee_per_cycle, each.digest))
            left.remove(best)
            yield best.transaction

    def span(self, after: int, until: int) -> list[Pooled]:
        """Return what came within a span and still waits."""
        return [pooled for pooled in self.waiting if pooled.arrival in range(after + 1, until + 1)]


def _place(pooled: Pooled) -> tuple[bytes, int]:
    return pooled.transaction.public_key, pooled.transaction.nonce


def _draw_transaction(sender: bytes, nonce: int, draw: Draw) -> Transaction:
    tip = draw(_FEES)
    # Some are longer than others; what they pay besides the tip says nothing of their order.
    call = ExecuteActor(sender[:20], "", bytes(draw(2) * 40 + draw(2)))
    return Transaction(sender, nonce, 1_000, 1_000, 5 + draw(100), 1, tip, call, bytes([draw(9)]) * 64)


def _draw_pooled(draw: Draw) -> Pooled:
    return _pooled_of(_draw_transaction(SENDERS[draw(len(SENDERS))], draw(_NONCES), draw))


def _pooled_of(transaction: Transaction) -> Pooled:
    encoded = encode_transaction(transaction)
    return Pooled(transaction, encoded, sha256(encoded).digest())


def _compare_pool(pool: Mempool, plain: ReferencePool, stock: Sequence[Pooled], draw: Draw) -> Asked:
    waiting = plain.waiting
    yield "other transactions wait than came and are not spent", [*pool.pooled.values()] == waiting
    yield (
        "transactions that wait are miscounted",
        len(pool) == len(waiting) and [*pool.pooled] == [each.digest for each in waiting],
    )
    asked = stock[draw(_STOCK)].digest
    yield (
        "a transaction is known otherwise than it waits",
        (asked in pool) == (asked in [each.digest for each in waiting]),
    )
    yield "a leader is offered another order than that of tips and nonces", [*pool.candidates()] == [*plain.offered()]
    after, count = draw(_STOCK), 1 + draw(4)
    until = after + draw(_STOCK)
    span = Arrivals(after, until)
    yield "others came within a span than waited there", pool.waiting(span, count) == plain.span(after, until)[:count]
    derived = pool.derived()
    yield "a mempool keeps what does not follow from what is pooled", derived.kept == derived.rebuilt
    yield "of givers and nonces more or less is kept than waits", _held(derived) == _expected_held(plain)
    yield "a mempool keeps more than it may", all(size.found <= size.bound for size in derived.sizes)


def _held(derived: Derived) -> tuple[list[int], list[bytes]]:
    """Return the rooms and the places that are kept."""
    kept = derived.kept.values()
    rooms = sorted(value for value in kept if isinstance(value, int))
    return rooms, sorted(value for value in kept if isinstance(value, bytes))


def _expected_held(plain: ReferencePool) -> tuple[list[int], list[bytes]]:
    rooms = [plain.given(giver) for giver in (CLIENTS, 1, 2)]
    return sorted(room for room in rooms if room), sorted(each.digest for each in plain.waiting)


def _compare_stale(pool: Mempool, plain: ReferencePool) -> Asked:
    """Before what is spent has left, the places that it holds are too many."""
    derived = pool.derived()
    stale = [name for name in derived.kept if name not in derived.rebuilt]
    spent = [pooled for pooled in plain.waiting if plain.is_spent(pooled)]
    yield "places of what is spent pass for places of what waits", len(stale) == len(spent)


def _check_room() -> Asked:
    """Fill the room of givers to the last byte."""
    plain = ReferencePool(dict.fromkeys(SENDERS, 0))
    pool = Mempool(lambda sender: plain.nonces[sender], TransactionVerifier())
    transaction = Transaction(SENDERS[0], 0, 1, 1, 1, 1, 1, ExecuteActor(bytes(20), "", b""), bytes(64))
    half = bytes(_BYTES_MAX // 2)
    # Memory that nobody writes into takes none.
    for nonce, (giver, encoded) in enumerate(((1, half), (1, half), (1, b"1"), (2, half), (CLIENTS, half))):
        pooled = Pooled(structs.replace(transaction, nonce=nonce), encoded, b"%d" % nonce, giver)
        yield "the room of a giver ends elsewhere than at 64 MiB", pool.add(pooled) == plain.add(pooled)
