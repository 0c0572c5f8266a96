"""Parts of mempools: a part that leaves at a timer is another one than that whose turn it was."""

import hashlib

import pytest

from checker.checks.service.gossip_parts import PART_BYTES, GossipParts
from checker.results import CheckTally
from network.events import Event, EventRouter, Sent
from tests.support.chain_harness import SENDERS, pay
from tests.support.checks import make_run
from validators.consensus.registry import ENGINES
from validators.events import Booted, Halted
from validators.execution.blocks import encode_transaction, transaction_digest
from validators.mempool.pool import Pooled
from validators.messages import TransactionGossip, message_codec

SECOND = 1_000_000
NODE = 2
CODEC = message_codec(ENGINES["simplex"])


def pool_of(count):
    pooled = [
        Pooled(each, encode_transaction(each), transaction_digest(each))
        for each in (pay(0, nonce, SENDERS[1], 5) for nonce in range(count))
    ]
    return {each.digest: each for each in pooled}


class Run:
    """Validator 2 of 4, at whose timers parts leave."""

    def __init__(self, pool, **facts):
        self.pool = pool
        self.all = list(pool.values())
        self.tally = CheckTally("parts", "liveness")
        run = make_run(**facts)
        self.world = EventRouter(run.world.handlers)
        self.boot()
        self.parts = GossipParts(run, self.tally)
        self.at_us = 0

    def boot(self):
        self.world.route(Event(0, NODE, Booted(0, 1, 0, b"")))

    def elapse(self):
        """Let a timer run out."""
        self.at_us += SECOND
        self.parts.elapse(NODE, self.at_us, self.pool)

    def send(self, peer, *places, after_us=0):
        """Let the transactions of these places leave for a peer."""
        message = CODEC.encode(TransactionGossip(tuple(self.all[place].encoded for place in places)))
        checksum = hashlib.blake2b(message, digest_size=8).digest()
        at_us = self.at_us + after_us
        self.parts.send(NODE, at_us, Sent(peer, at_us, "TransactionGossip", len(message), checksum))
        return checksum

    def part(self, peer, *places, after_us=0):
        self.elapse()
        return self.send(peer, *places, after_us=after_us)

    def disturb(self, after_us=0):
        self.parts.disturb(NODE, self.at_us + after_us)

    @property
    def has_failed(self):
        self.parts.finish()
        return self.tally.result("all parts").status == "failed"


def test_parts_go_to_all_others_in_turn():
    run = Run(pool_of(3))
    for peer in (3, 0, 1, 3):
        run.part(peer, 0, 1, 2)

    assert not run.has_failed
    assert run.tally.compared == 4


@pytest.mark.parametrize(
    "part", [(0, 0, 1, 2), (3, 0, 1), (3, 1, 0, 2), (3,)], ids=["another peer", "less", "another order", "nothing"]
)
def test_another_part_is_named(part):
    run = Run(pool_of(3))
    run.part(*part)

    assert run.has_failed
    assert "validator 2 did not send validator 3 the 3 transactions whose turn it was at 1.000 s" in (
        run.tally.result("").summary
    )


def test_a_part_of_a_later_instant_is_none():
    run = Run(pool_of(1))
    run.part(3, 0, after_us=1)

    assert run.has_failed


def test_a_failure_is_told_once():
    """The peers after a wrong one, and the next round of each, are judged by what left."""
    run = Run(pool_of(3))
    for peer in (0, 1, 3, 0):
        run.part(peer, 0, 1, 2)

    assert run.has_failed
    assert "more" not in run.tally.result("").summary


@pytest.mark.parametrize(("first", "has_failed"), [(64, False), (0, True)])
def test_the_rest_of_a_round_comes_before_another_one(first, has_failed):
    """Also when all of it would have fitted by then, and others have come."""
    run = Run(pool_of(67))
    (*_, last) = run.pool
    late = run.pool.pop(last)
    for peer in (3, 0, 1):
        run.part(peer, *range(64))
    run.pool[last] = late
    run.part(3, *range(first, min(first + 64, 66)))

    assert run.has_failed is has_failed


def test_what_left_the_mempool_is_in_no_part():
    run = Run(pool_of(66))
    for peer in (3, 0, 1):
        run.part(peer, *range(64))
    del run.pool[run.all[64].digest]
    run.part(3, 65)

    assert not run.has_failed


def test_what_does_not_fit_is_next():
    run = Run(pool_of(3))
    for digest, length in zip(list(run.pool), (10, PART_BYTES - 10, 1), strict=True):
        long = run.pool[digest]
        run.pool[digest] = Pooled(long.transaction, bytes(length), digest)
    run.all = list(run.pool.values())
    for places in ((0, 1), (2,)):
        for peer in (3, 0, 1):
            run.part(peer, *places)

    assert not run.has_failed


class TestDisturbed:
    """The mempool is looked into when the instant is over; found by the swarm (seed 301747, among others)."""

    def test_a_part_may_hold_more_or_less_then(self):
        for places, after_us, has_failed in (((0, 1), 0, False), ((0, 1), 1, True)):
            run = Run(pool_of(3))
            run.part(3, *places)
            run.disturb(after_us)

            assert run.has_failed is has_failed

    def test_it_has_to_go_to_the_right_peer_all_the_same(self):
        run = Run(pool_of(3))
        run.part(0, 0, 1)
        run.disturb()

        assert run.has_failed

    def test_it_may_have_held_nothing(self):
        """Nor is it the turn of the next peer then; a client's transaction that was verified goes to all others."""
        run = Run(pool_of(1))
        run.elapse()
        run.disturb()
        for peer in (3, 0, 1):
            run.send(peer, 0)
        run.part(3, 0)

        assert not run.has_failed

    @pytest.mark.parametrize(("receivers", "has_failed"), [((3, 0, 1, 3), False), ((3, 0, 1, 0), True)])
    def test_it_is_told_from_a_transaction_of_a_client(self, receivers, has_failed):
        run = Run(pool_of(2))
        run.elapse()
        run.disturb()
        for peer in receivers:
            run.send(peer, 0)

        assert run.has_failed is has_failed

    def test_what_is_left_of_a_round_is_not_known_then(self):
        """A full part looks the same with a late transaction or without."""
        run = Run(pool_of(66))
        for peer in (3, 0, 1):
            run.part(peer, *range(64))
            run.disturb()
        run.part(3, 64)

        assert not run.has_failed

    def test_what_is_left_is_known_again_after_a_part_with_all(self):
        run = Run(pool_of(3))
        run.part(3, 0, 1)
        run.disturb()
        for peer in (0, 1, 3, 0, 1):
            run.part(peer, 0, 1, 2)
        assert not run.has_failed

        run.part(3, 0, 1)
        assert run.has_failed


def test_a_life_begins_with_the_next_peer():
    run = Run(pool_of(1))
    run.part(3, 0)
    run.world.route(Event(run.at_us, NODE, Halted("over")))
    run.boot()
    run.part(3, 0)

    assert not run.has_failed


def test_an_empty_mempool_passes_nobody_over():
    run = Run(pool_of(1))
    run.part(3, 0)
    kept, run.pool = run.pool, {}
    run.elapse()
    run.pool = kept
    run.part(0, 0)

    assert not run.has_failed


def test_the_content_of_a_part_is_known_by_its_checksum():
    run = Run(pool_of(3))
    checksum = run.part(3, 0, 1, 2)

    assert list(run.parts.content(checksum)) == list(run.pool)
    assert list(run.parts.content(b"other")) == []


def test_a_transaction_that_goes_to_observers_too_is_no_part():
    """A client's transaction comes in the instant of a timer at which nothing waited."""
    run = Run({})
    run.all = list(pool_of(1).values())
    run.elapse()
    for peer in (0, 1, 3, 4, 5):
        run.send(peer, 0)
    run.pool = {each.digest: each for each in run.all}
    run.part(3, 0)

    assert not run.has_failed
