"""Rounds of gossip: a part that is another one than that whose turn it was."""

import hashlib

import msgspec
import pytest

from checker.checks.context import Sample
from checker.checks.gossip_rounds import PART_BYTES, GossipRounds
from checker.checks.planned import PlannedFault, PlannedRun
from checker.results import CheckTally
from network.events import Delivered, Sent
from tests.support.chain_harness import SENDERS, make_engine, make_genesis, pay, propose
from tests.support.checks import make_run
from validators.consensus.registry import ENGINES
from validators.execution.blocks import encode_transaction, transaction_digest
from validators.mempool.pool import Pooled
from validators.messages import TransactionGossip, message_codec

SECOND = 1_000_000
NODE = 2
STATE = dict(make_engine(make_genesis()).database.items())
SLOW = PlannedRun(faults=[PlannedFault("slow", 0, 90 * SECOND, (3,), slows=True)])
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
        self.tally = CheckTally("rounds", "liveness")
        self.rounds = GossipRounds(make_run(**facts), self.tally)
        self.at_us = 0

    def part(self, peer, *places, after_us=0):
        """Let a timer run out, and the transactions of these places leave for a peer."""
        self.at_us += SECOND
        self.rounds.elapse(NODE, self.at_us, self.pool)
        message = CODEC.encode(TransactionGossip(tuple(self.all[place].encoded for place in places)))
        checksum = hashlib.blake2b(message, digest_size=8).digest()
        sent = Sent(peer, self.at_us, "TransactionGossip", len(message), checksum)
        self.rounds.send(NODE, self.at_us + after_us, sent)
        return Delivered(NODE, self.at_us, "TransactionGossip", len(message), checksum)

    def look(self, node, pool):
        """Look into another mempool 6 seconds later."""
        self.at_us += 6 * SECOND
        self.rounds.compare(Sample(self.at_us, [pool], [node]), STATE)

    def finish(self):
        self.rounds.finish()
        return self.tally.result("all parts")


def test_parts_go_to_all_others_in_turn():
    run = Run(pool_of(3))
    for peer in (3, 0, 1, 3):
        run.part(peer, 0, 1, 2)

    assert run.finish().status == "passed"


def test_what_was_verified_as_the_timer_ran_out_may_be_in_the_next_round():
    """The mempool is looked into when the instant is over; found by the swarm."""
    run = Run(pool_of(3))
    run.part(3, 0, 1)
    run.rounds.work(NODE, run.at_us)
    assert run.finish().status == "passed"

    run = Run(pool_of(3))
    run.part(3, 0, 1)
    run.rounds.work(NODE, run.at_us + 1)
    assert run.finish().status == "failed"


@pytest.mark.parametrize(("late_us", "status"), [(0, "passed"), (1, "failed")])
def test_nor_is_it_in_the_rest_of_a_round_that_began_there(late_us, status):
    """A full part looks the same with it or without; found by the swarm."""
    run = Run(pool_of(66))
    for peer in (3, 0, 1):
        run.part(peer, *range(64))
        run.rounds.work(NODE, run.at_us + late_us)
    run.part(3, 64)

    assert run.finish().status == status


def test_what_was_verified_after_the_timer_found_nothing_need_not_leave():
    """Nor is it the turn of the next peer then."""
    run = Run(pool_of(1))
    run.at_us += SECOND
    run.rounds.elapse(NODE, run.at_us, run.pool)
    run.rounds.work(NODE, run.at_us)
    run.part(3, 0)

    assert run.finish().status == "passed"


class TestFinalAsTheTimerRanOut:
    """The mempool lacks what the part held, and is looked into when the instant is over; found by seed 301747."""

    def shrunk(self, count, *gone, late_us=0):
        """A run whose first part holds these transactions besides those that are left."""
        run = Run(pool_of(count))
        for place in gone:
            del run.pool[run.all[place].digest]
        run.part(3, *range(min(count, 64)))
        run.rounds.shrink(NODE, run.at_us + late_us)
        return run

    def test_the_part_held_more_than_is_left(self):
        run = self.shrunk(4, 1, 2)
        run.part(0, 0, 3)

        assert run.finish().status == "passed"

    def test_what_goes_later_does_not_count(self):
        assert self.shrunk(4, 1, 2, late_us=1).finish().status == "failed"

    def test_a_part_has_to_leave_all_the_same(self):
        run = Run(pool_of(1))
        run.part(0, 0)
        run.rounds.shrink(NODE, run.at_us)

        assert "validator 2 did not send validator 3 the 1 transactions" in run.finish().summary

    def test_nothing_left_is_a_turn_too(self):
        run = self.shrunk(2, 0, 1)
        run.pool |= pool_of(2)
        run.part(0, 0, 1)

        assert run.finish().status == "passed"

    @pytest.mark.parametrize(("first", "status"), [(64, "passed"), (68, "failed")])
    def test_the_next_part_begins_where_this_one_may_have_ended(self, first, status):
        """Of 70, 64 have left, three of which are final."""
        run = self.shrunk(70, 3, 5, 60)
        left = [place for place in range(70) if place not in (3, 5, 60)]
        run.part(0, *left[:64])
        run.part(1, *left[:64])
        run.part(3, *range(first, 70))

        assert run.finish().status == status


@pytest.mark.parametrize(
    "part", [(0, 0, 1, 2), (3, 0, 1), (3, 1, 0, 2), (3,)], ids=["another peer", "less", "another order", "nothing"]
)
def test_another_part_is_named(part):
    run = Run(pool_of(3))
    run.part(*part)

    assert (
        "validator 2 did not send validator 3 the 3 transactions whose turn it was at 1.000 s" in run.finish().summary
    )


def test_a_part_of_a_later_instant_is_none():
    run = Run(pool_of(1))
    run.part(3, 0, after_us=1)

    assert run.finish().status == "failed"


def test_the_rest_of_a_round_comes_before_another_one():
    """Also when all of it would have fitted by then, and others have come."""
    run = Run(pool_of(67))
    (*later, last) = run.pool
    late = run.pool.pop(last)
    for peer in (3, 0, 1):
        run.part(peer, *range(64))
    for digest in later[:60]:
        del run.pool[digest]
    run.pool[last] = late
    run.part(3, 64, 65)
    run.part(0, 64, 65)
    run.part(1, 64, 65)
    run.part(3, *range(60, 67))
    assert run.finish().status == "passed"

    run.part(0, 66)
    assert run.finish().status == "failed"


def test_what_does_not_fit_is_next():
    run = Run(pool_of(3))
    for digest, length in zip(list(run.pool), (10, PART_BYTES - 10, 1), strict=True):
        long = run.pool[digest]
        run.pool[digest] = Pooled(long.transaction, bytes(length), digest)
    run.all = list(run.pool.values())
    for places in ((0, 1), (2,)):
        for peer in (3, 0, 1):
            run.part(peer, *places)

    assert run.finish().status == "passed"


def test_a_life_begins_with_the_next_peer():
    run = Run(pool_of(1))
    run.part(3, 0)
    run.rounds.forget(NODE)
    run.part(3, 0)

    assert run.finish().status == "passed"


def test_an_empty_mempool_passes_nobody_over():
    run = Run(pool_of(1))
    run.part(3, 0)
    kept, run.pool = run.pool, {}
    run.at_us += SECOND
    run.rounds.elapse(NODE, run.at_us, run.pool)
    run.pool = kept
    run.part(0, 0)

    assert run.finish().status == "passed"


class TestOfWhatComes:
    """A part of three comes to validator 3."""

    def judge(self, *places, checksum=None, moment=0, **facts):
        run = Run(pool_of(3), **facts)
        delivered = run.part(3, 0, 1, 2)
        if checksum is not None:
            delivered = msgspec.structs.replace(delivered, checksum=checksum)
        run.rounds.deliver(3, run.at_us + moment, delivered)
        run.look(3, {run.all[place].digest: run.all[place] for place in places})
        return run.finish()

    def test_all_of_it_is_pooled(self):
        assert self.judge(0, 1, 2).status == "passed"

    def test_what_is_not_is_named(self):
        assert "validator 3 has not pooled transaction" in self.judge(0, 1).summary

    @pytest.mark.parametrize(
        "given",
        [{"checksum": b"two"}, {"moment": 2 * SECOND}, {"plan": SLOW}],
        ids=["damaged", "a moment ago", "a slow machine"],
    )
    def test_what_need_not_be_there_yet_passes(self, given):
        assert self.judge(0, 1, **given).status == "passed"

    def test_what_is_spent_is_of_no_use(self):
        """The state has a block with the first two."""
        engine = make_engine(make_genesis())
        executed = propose(engine, [each.transaction for each in pool_of(2).values()])
        engine.finalize(executed.digest)
        run = Run(pool_of(3))
        run.rounds.deliver(3, run.at_us, run.part(3, 0, 1, 2))
        run.rounds.compare(Sample(20 * SECOND, [dict([run.pool.popitem()])], [3]), dict(engine.database.items()))

        assert run.finish().status == "passed"
