"""The mempool: bounded, one transaction per nonce, offered in an order that content alone fixes."""

from dataclasses import replace
from types import SimpleNamespace

from validators.execution.blocks import Transaction, Transfer, encode_transaction, transaction_digest
from validators.identity import TransactionVerifier
from validators.mempool.pool import Arrivals, Mempool, Pooled, TransactionPool


def pooled(sender=1, nonce=0, tip=1, amount=1):
    transaction = Transaction(
        public_key=bytes([sender]) * 32,
        nonce=nonce,
        cycles_limit=1,
        cells_limit=1,
        max_fee_per_cycle=tip,
        max_fee_per_cell=1,
        priority_fee_per_cycle=tip,
        call=Transfer(b"t" * 20, amount),
        signature=bytes(64),
    )
    return Pooled(transaction, encode_transaction(transaction), transaction_digest(transaction))


def make_pool(spent=None, **limits):
    """Return an empty mempool over a state in which these nonces are the next, by sender, and 0 all others."""
    nonces = {} if spent is None else spent
    return Mempool(lambda public_key: nonces.get(public_key[0], 0), TransactionVerifier(), **limits)


def block_of(*included):
    """Return a block of these transactions."""
    return SimpleNamespace(transactions=tuple(each.encoded for each in included))


def offered(pool):
    return [(each.public_key[0], each.nonce) for each in pool.candidates()]


def test_the_highest_tip_is_offered_first_and_nonces_of_one_sender_ascend():
    """A sender's later nonce waits for its earlier one, whatever it tips."""
    pool = make_pool()
    for each in (pooled(1, 1, tip=9), pooled(1, 0, tip=1), pooled(2, 0, tip=5), pooled(3, 4, tip=3)):
        assert pool.add(each)

    assert offered(pool) == [(2, 0), (3, 4), (1, 0), (1, 1)]


def test_the_first_transaction_of_a_nonce_stands():
    """A second one with the same sender and nonce is not taken, nor is a known one."""
    pool = make_pool()

    assert pool.add(pooled(1, 0, amount=1))
    assert not pool.add(pooled(1, 0, amount=2))
    assert not pool.add(pooled(1, 0, amount=1))
    assert len(pool) == 1


def test_a_giver_that_fills_its_room_takes_none_of_the_others():
    """Anybody can sign any number of transactions with keys that own nothing."""
    junk = [replace(pooled(sender), giver=3) for sender in range(1, 4)]
    pool = make_pool(bytes_max=2 * len(junk[0].encoded) + 1)

    assert [pool.add(each) for each in junk] == [True, True, False]
    assert pool.add(replace(pooled(9), giver=2))
    assert pool.add(pooled(10))


def test_a_full_pool_takes_nothing_more_until_something_leaves():
    """The bound is in bytes."""
    first, second = pooled(1), pooled(2)
    pool = make_pool(bytes_max=len(first.encoded) + 1)

    assert pool.add(first)
    assert not pool.add(second)
    pool.remove_included(block_of(first))
    assert pool.add(second)


def test_a_finalized_nonce_makes_the_earlier_ones_void():
    """A transaction that can never be valid again is forgotten."""
    pool = make_pool()
    for nonce in range(4):
        pool.add(pooled(1, nonce))

    pool.remove_included(block_of(pooled(1, 2)))

    assert offered(pool) == [(1, 3)]
    assert pooled(1, 1).digest not in pool


def test_what_waits_of_a_span_of_arrivals_comes_in_their_order():
    """One that has left in between is not counted, and one that came later belongs to another span."""
    pool = make_pool()
    for sender in (3, 1, 2, 4):
        pool.add(pooled(sender))
    pool.remove_included(block_of(pooled(1)))

    def waiting(after, until, count=2):
        return [each.transaction.public_key[0] for each in pool.waiting(Arrivals(after, until), count)]

    assert pool.arrivals == Arrivals(0, 4)
    assert (waiting(0, 3), waiting(0, 4, 1), waiting(3, 4), waiting(4, 4)) == ([3, 2], [3], [4], [])


def test_a_nonce_that_is_spent_in_the_finalized_state_is_void():
    """A peer that lags may repeat a final transaction; it does not come back, be it after a restart."""
    pool = make_pool(spent={1: 5})

    assert not pool.add(pooled(1, 4))
    assert pool.add(pooled(1, 5))


def test_what_another_state_has_spent_leaves_the_pool():
    """A snapshot skips the blocks that its transactions are in."""
    spent = {}
    pool = make_pool(spent=spent)
    for nonce in range(3):
        pool.add(pooled(1, nonce))

    spent[1] = 2
    stale = pool.derived()
    pool.remove_spent()
    fresh = pool.derived()

    assert offered(pool) == [(1, 2)]
    assert len(stale.kept.keys() - stale.rebuilt.keys()) == 2
    assert fresh.kept == fresh.rebuilt


def test_what_is_refused_leaves_nothing_behind():
    """A full pool does not grow by those it turns away."""
    pool = make_pool(bytes_max=0)
    for sender in range(50):
        assert not pool.add(pooled(sender))

    assert pool._by_sender == {}


class TestOpaque:
    """The pool of any other chain: bytes by arrival."""

    def pool(self, **limits):
        return TransactionPool(lambda encoded: "too long" if len(encoded) > 9 else "", **limits)

    def test_a_leader_tries_what_came_first(self):
        pool = self.pool()
        for content in (b"three", b"one", b"two"):
            assert pool.add(pool.read(content, 1))

        assert list(pool.candidates()) == [b"three", b"one", b"two"]
        assert [each.encoded for each in pool.waiting(pool.arrivals, 2)] == [b"three", b"one"]

    def test_the_same_bytes_wait_once(self):
        pool = self.pool()

        assert [pool.add(pool.read(b"one", giver)) for giver in (1, 2)] == [True, False]

    def test_a_fault_is_the_chains_own(self):
        pool = self.pool()

        assert [pool.find_fault(pool.read(content, 1)) for content in (b"one", b"ten letters")] == ["", "too long"]
        assert pool.take_unpaid() == 0

    def test_what_a_block_holds_gives_its_room_back(self):
        pool = self.pool(bytes_max=4)
        first, second = pool.read(b"one", 1), pool.read(b"two", 1)
        assert (pool.add(first), pool.add(second), pool.add(pool.read(b"two", 2))) == (True, False, True)
        pool.remove_included(block_of(first, pool.read(b"unknown", 1)))

        assert pool.add(pool.read(b"six", 1))
        assert list(pool.candidates()) == [b"two", b"six"]
        assert pool.derived().kept == pool.derived().rebuilt

    def test_what_a_block_held_does_not_wait_again(self, monkeypatch):
        """A peer that has not applied the block yet would bring it back, and from there it would go round for ever."""
        monkeypatch.setattr("validators.mempool.pool.SPENT_MAX", 2)
        pool = self.pool()
        one, two, three = (pool.read(content, 1) for content in (b"one", b"two", b"three"))
        pool.add(one)
        pool.remove_included(block_of(one, two))
        assert (one.digest in pool, pool.add(one), pool.add(two), list(pool.candidates())) == (True, False, False, [])

        pool.spend(three.digest)
        assert [pool.add(each) for each in (one, two, three)] == [True, False, False]
        assert [(each.found, each.bound) for each in pool.derived().sizes[-1:]] == [(2, 2)]
