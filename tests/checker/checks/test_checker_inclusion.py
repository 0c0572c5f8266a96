"""Transactions that leaders leave out: what counts against them, and what does not."""

import msgspec
import pytest

from checker.checks.context import Sample
from checker.checks.inclusion import BLOCKS_MAX, Inclusion
from checker.checks.mirror import SettledBlock
from checker.checks.observations import rules_of
from network.events import Event
from scheduler import TimerConfig
from tests.support.chain_harness import SENDERS, make_engine, make_genesis, pay, propose
from tests.support.checks import make_run, show
from validators.events import Booted, Entered
from validators.execution.blocks import encode_transaction, transaction_digest
from validators.mempool.pool import Pooled

WAITING = pay(0, 0, SENDERS[1], 5)
"""A transaction that is valid in the first block."""


def tipped(sender, nonce, tip):
    """Return a payment with a priority fee; nobody verifies its signature here."""
    return msgspec.structs.replace(pay(sender, nonce, SENDERS[1], 5), priority_fee_per_cycle=tip)


class Run:
    """Blocks of validator 0, one a second, while a transaction stands in the mempools and no leader takes it."""

    def __init__(self, waiting=WAITING):
        genesis = make_genesis()
        engine = make_engine(genesis)
        self.state = dict(engine.database.items())
        executed = propose(engine, [])
        self.header, self.summary = executed.header, executed.summary
        digest = transaction_digest(waiting)
        self.pool = {digest: Pooled(waiting, encode_transaction(waiting), digest)}
        self.others = self.pool
        self.at_us = 0
        rules = rules_of(genesis, digest=engine.genesis_digest, root=b"")
        self.inclusion = Inclusion(make_run(rules=rules, honest=(0, 1, 2), sample_pools=self.sample))
        self.block()

    def sample(self):
        """Look into both mempools."""
        return Sample(self.at_us, [self.pool, self.others])

    def block(self, *, leader=0, entered_us=1, transactions=(), length_bytes=500, **used):
        """Let one more block become final; its leader entered its view `entered_us` after the last look."""
        self.header = msgspec.structs.replace(self.header, view=self.header.view + 1, proposer=leader)
        show(self.inclusion, Event(self.at_us + entered_us, leader, Entered(self.header.view, leader)))
        self.at_us += 1_000_000
        summary = msgspec.structs.replace(self.summary, **used)
        self.inclusion.settle(
            SettledBlock(
                header=self.header,
                digest=b"",
                root=b"",
                transactions=transactions,
                length_bytes=length_bytes,
                parent_view=0,
                now=0,
                receipts=(),
                changes={},
                before=self.state,
                config=TimerConfig(),
                summary=summary,
            )
        )

    def blocks(self, count=BLOCKS_MAX, **block):
        """Let some become final, and return what the check says."""
        for _ in range(count):
            self.block(**block)
        return self.inclusion.finish()


def test_what_honest_leaders_leave_out_is_named():
    """With its sender, since when it was everywhere, and the last block that left it out."""
    result = Run().blocks()

    assert (result.status, result.exit_class) == ("failed", "liveness")
    assert f"transaction {transaction_digest(WAITING)[:6].hex()} of {SENDERS[0].hex()}" in result.summary
    assert "from 1.000 s on" in result.summary


def test_two_blocks_are_not_enough():
    """The third is the one that fails."""
    assert Run().blocks(BLOCKS_MAX - 1).status == "passed"


@pytest.mark.parametrize(
    "block",
    [
        {"leader": 3},
        {"entered_us": -9_000_000},
        {"cycles_used": 9_700_000},
        {"cells_used": 9_995_000},
        {"length_bytes": 16 * 1024 * 1024 - 600},
        {"transactions": [encode_transaction(pay(0, 0, SENDERS[1], 6))]},
    ],
    ids=["a Byzantine leader", "entered before", "no cycles", "no cells", "no bytes", "another of the sender"],
)
def test_a_block_that_could_not_have_it_does_not_count(block):
    """Such a block shows nothing about the transaction, whether its leader is honest or not."""
    assert Run().blocks(5, **block).status != "failed"


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
    assert Run(waiting).blocks(5).status != "failed"


def test_a_transaction_that_one_mempool_lacks_is_not_followed():
    """Its leaders may be those who never had it."""
    run = Run()
    run.others = {}

    assert run.blocks(5).status != "failed"


def test_a_leader_that_started_again_since_may_have_lost_it():
    """It has to be seen in its mempool once more."""
    run = Run()
    show(run.inclusion, Event(run.at_us + 1, 0, Booted(0, 1, 0, b"")))

    assert run.blocks(5, entered_us=2).status != "failed"


def test_an_included_transaction_that_waited_is_counted():
    """The comparison counts, so that a run whose leaders take everything is conclusive."""
    run = Run()
    assert not run.inclusion.is_asked
    run.block(transactions=[encode_transaction(WAITING)])

    assert run.inclusion.finish().status == "passed"


def test_what_no_mempool_was_seen_to_have_counts_for_nothing():
    """Such as the blocks of an earlier process: nothing of them could have failed."""
    run = Run()
    run.block(leader=3, transactions=[encode_transaction(pay(1, 0, SENDERS[0], 5))])

    assert not run.inclusion.is_asked


class TestOrder:
    """Transactions stand in a block by priority fee, but for those that their own sender holds up."""

    def judge(self, *transactions, leader=0):
        run = Run()
        run.block(transactions=[encode_transaction(each) for each in transactions], leader=leader)
        return run.inclusion.finish()

    def test_a_higher_fee_behind_a_lower_one_is_named(self):
        result = self.judge(tipped(0, 0, 1), tipped(1, 0, 300))

        assert result.status == "failed"
        assert "a priority fee of 300 stands behind one of 1" in result.summary

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
