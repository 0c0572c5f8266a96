"""Transactions that leaders leave out: what counts against them, and what does not."""

import msgspec
import pytest

from checker.checks.context import Sample
from checker.checks.inclusion import Inclusion
from checker.checks.mirror import SettledBlock
from checker.checks.observations import rules_of
from faults.events import TransactionSubmitted
from network.events import Event, WorkFinished
from network.types import SUPERVISOR
from scheduler import TimerConfig
from tests.support.chain_harness import SENDERS, make_engine, make_genesis, pay, propose
from tests.support.checks import make_run, show
from validators.events import Entered
from validators.execution.blocks import encode_transaction, transaction_digest
from validators.mempool.pool import Pooled
from validators.settings import Costs

WAITING = pay(0, 0, SENDERS[1], 5)
"""A transaction that is valid in the first block."""


def tipped(sender, nonce, tip):
    """Return a payment with a priority fee; nobody verifies its signature here."""
    return msgspec.structs.replace(pay(sender, nonce, SENDERS[1], 5), priority_fee_per_cycle=tip)


class Run:
    """Blocks of validator 0, one a second, while transactions wait in its mempool and it takes none of them."""

    def __init__(self, *waiting):
        genesis = make_genesis()
        engine = make_engine(genesis)
        self.state = dict(engine.database.items())
        executed = propose(engine, [])
        self.header, self.summary = executed.header, executed.summary
        self.pool = {
            transaction_digest(each): Pooled(each, encode_transaction(each), transaction_digest(each))
            for each in waiting or (WAITING,)
        }
        rules = rules_of(genesis, digest=engine.genesis_digest, root=b"")
        self.inclusion = Inclusion(make_run(rules=rules, honest=(0, 1, 2), sample_pools=self.sample))

    def sample(self):
        """Look into the mempools; that of validator 1 is empty."""
        return Sample(0, [self.pool, {}], (0, 1))

    def enter(self, view=None, leader=0):
        """Let a leader enter the next view, or this one."""
        show(self.inclusion, Event(1, leader, Entered(view or self.header.view + 1, leader)))

    def hand_in(self, at_us, transaction=WAITING):
        """Let a client hand a transaction to validator 0."""
        submitted = TransactionSubmitted("submitted", 0, transaction_digest(transaction))
        show(self.inclusion, Event(at_us, SUPERVISOR, submitted))

    def block(self, *, leader=0, transactions=(), length_bytes=500, changes=None, worked_us=0, **used):
        """Let one more block become final, whose leader enters its view now."""
        self.header = msgspec.structs.replace(self.header, view=self.header.view + 1, proposer=leader)
        self.enter(self.header.view, leader)
        if worked_us:
            show(self.inclusion, Event(worked_us, leader, WorkFinished("cpu", 1, Costs().verify_signature_us)))
        self.inclusion.settle(
            SettledBlock(
                header=self.header,
                digest=b"",
                root=b"",
                transactions=[encode_transaction(each) for each in transactions],
                length_bytes=length_bytes,
                parent_view=0,
                now=0,
                receipts=(),
                changes=changes or {},
                before=self.state,
                config=TimerConfig(),
                summary=msgspec.structs.replace(self.summary, **used),
            )
        )
        return self.inclusion.finish()


def test_what_a_leader_leaves_out_is_named():
    """With its sender, the view and the block that left it out."""
    result = Run().block()

    assert (result.status, result.exit_class) == ("failed", "liveness")
    assert f"transaction {transaction_digest(WAITING)[:6].hex()} of {SENDERS[0].hex()}" in result.summary
    assert "the mempool of leader 0 as it entered view 2" in result.summary


def test_what_was_verified_in_the_first_instant_of_a_view_may_be_late():
    """It is in the mempool as the check looks, and came after the block was made; found by the swarm."""
    assert Run().block(worked_us=1).status != "failed"
    assert Run().block(worked_us=2).status == "failed"


@pytest.mark.parametrize(("at_us", "status"), [(0, "failed"), (1, "inconclusive")])
def test_what_a_client_hands_in_as_its_leader_enters_may_be_late(at_us, status):
    """It needs no time to be verified, and the block was begun before it; found by the swarm."""
    run = Run()
    run.hand_in(at_us)

    assert run.block().status == status


def test_the_next_nonce_behind_one_that_was_taken_has_its_turn_too():
    """A sender's last transaction came a block late, and no other block showed it."""
    run = Run(WAITING, pay(0, 1, SENDERS[1], 6))

    assert run.block(transactions=[WAITING, pay(0, 1, SENDERS[1], 6)]).status == "passed"
    assert "height" in Run(WAITING, pay(0, 1, SENDERS[1], 6)).block(transactions=[WAITING]).summary


@pytest.mark.parametrize(
    "block",
    [
        {"leader": 3},
        {"leader": 1},
        {"cycles_used": 9_700_000},
        {"cells_used": 9_995_000},
        {"length_bytes": 16 * 1024 * 1024 - 600},
        {"transactions": [pay(0, 0, SENDERS[1], 6)]},
        {"changes": {(b"\x01" + SENDERS[0]).ljust(32, b"\0"): msgspec.msgpack.encode([1, 0])}},
    ],
    ids=["a Byzantine leader", "not pooled", "no cycles", "no cells", "no bytes", "nonce taken", "funds gone"],
)
def test_a_block_that_could_not_have_it_does_not_count(block):
    """Such a block shows nothing about the transaction, whether its leader is honest or not."""
    assert Run().block(**block).status != "failed"


@pytest.mark.parametrize(
    "waiting",
    [
        pay(0, 1, SENDERS[1], 5),
        pay(0, 0, SENDERS[1], 5, max_fee_per_cycle=799, priority_fee_per_cycle=0),
        pay(0, 0, SENDERS[1], 5, max_fee_per_cell=799),
        pay(0, 0, SENDERS[1], 5, priority_fee_per_cycle=2_001),
        pay(0, 0, SENDERS[1], 5, max_fee_per_cycle=10**9),
        pay(0, 0, SENDERS[1], 5, cells_limit=10),
        pay(0, 0, SENDERS[1], 5, cycles_limit=999),
    ],
    ids=["a later nonce", "cheap cycles", "cheap cells", "tip above fee", "too poor", "few cells", "few cycles"],
)
def test_a_transaction_that_is_not_valid_may_be_left_out(waiting):
    """By the state before each block."""
    assert Run(waiting).block().status != "failed"


def test_what_the_others_of_its_sender_may_have_cost_is_not_there_for_it():
    """The first one may have moved nearly all that its sender has."""
    balance, _ = msgspec.msgpack.decode(Run().state[(b"\x01" + SENDERS[0]).ljust(32, b"\0")])
    first, second = pay(0, 0, SENDERS[1], balance - 10**9), pay(0, 1, SENDERS[1], 5)

    assert Run(first, second).block(transactions=[first]).status != "failed"


def test_a_leader_has_what_its_mempool_held_as_it_first_entered():
    """A later life enters the view again, and proposes nothing in it."""
    run = Run()
    pool, run.pool = run.pool, {}
    run.enter()
    run.pool = pool

    assert run.block().status != "failed"


def test_an_included_transaction_is_counted():
    """The comparison counts, so that a run whose leaders take everything is conclusive."""
    run = Run()
    assert run.inclusion.not_asked()

    assert run.block(transactions=[WAITING]).status == "passed"


def test_what_no_leader_was_seen_to_have_counts_for_nothing():
    """Such as the blocks of an earlier process: nothing of them could have failed."""
    run = Run()
    run.block(leader=3, transactions=[pay(1, 0, SENDERS[0], 5)])

    assert run.inclusion.not_asked()


class TestOrder:
    """Transactions stand in a block by priority fee, but for those that their own sender holds up."""

    def judge(self, *transactions, leader=0):
        return Run().block(transactions=transactions, leader=leader)

    def test_a_higher_fee_behind_a_lower_one_is_named(self):
        result = self.judge(tipped(0, 0, 1), tipped(1, 0, 300))

        assert result.status == "failed"
        assert "with a priority fee of 300 stands behind" in result.summary

    def test_equal_fees_stand_by_hash(self):
        both = sorted((tipped(0, 0, 7), tipped(1, 0, 7)), key=transaction_digest)

        assert self.judge(*both).status != "failed"
        assert self.judge(*reversed(both)).status == "failed"

    @pytest.mark.parametrize(
        "transactions",
        [
            (tipped(1, 0, 300), tipped(0, 0, 1)),
            (tipped(0, 0, 1), tipped(0, 1, 300)),
            (tipped(0, 0, 2), tipped(1, 0, 1), tipped(1, 1, 300)),
        ],
        ids=["highest first", "own sender", "held up by its sender"],
    )
    def test_what_follows_from_the_order_of_senders_passes(self, transactions):
        assert self.judge(*transactions).status != "failed"

    def test_the_order_of_a_byzantine_leader_is_its_own(self):
        assert self.judge(tipped(0, 0, 1), tipped(1, 0, 300), leader=3).status != "failed"


def test_a_second_life_of_a_leader_has_its_own_mempool():
    """It may propose in the view in which the first one went down, and has lost what that one had."""
    run = Run()
    run.enter()
    run.pool = {}
    run.enter()

    assert run.block().status != "failed"
