"""Transactions that leaders leave out: what counts against them, and what does not."""

import msgspec
import pytest

from checker.checks.context import Sample
from checker.checks.mirror import SettledBlock
from checker.checks.service.inclusion import Inclusion
from checker.observations import rules_of
from network.events import Event, WorkFinished
from scheduler import TimerConfig
from tests.support.chain_harness import SENDERS, make_engine, make_genesis, pay, propose
from tests.support.checks import make_run, show
from validators.events import Entered
from validators.execution.blocks import encode_transaction, transaction_digest
from validators.mempool.pool import Pooled

WAITING = pay(0, 0, SENDERS[1], 5)
"""A transaction that is valid in the first block."""


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

    def enter(self, view, leader=0):
        """Let validators 0 and 1 enter a view."""
        for node in (0, 1):
            show(self.inclusion, Event(1, node, Entered(view, leader)))

    def block(self, *works, leader=0, transactions=(), length_bytes=500, changes=None, **used):
        """Let one more block become final, whose leader enters its view now, after which works end."""
        self.header = msgspec.structs.replace(self.header, view=self.header.view + 1, proposer=leader)
        self.enter(self.header.view, leader)
        show(self.inclusion, *works)
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


@pytest.mark.parametrize(
    ("lane", "at_us", "node", "status"),
    [("cpu", 1, 0, "inconclusive"), ("cpu", 2, 0, "failed"), ("disk", 1, 0, "failed"), ("cpu", 1, 1, "failed")],
)
def test_a_transaction_that_came_in_the_first_instant_may_be_late(lane, at_us, node, status):
    """It is in the mempool as the check looks, and was verified after the block was made; found by the swarm."""
    assert Run().block(Event(at_us, node, WorkFinished(lane, 0))).status == status


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


@pytest.mark.parametrize("is_first", [True, False])
def test_a_second_life_of_a_leader_has_its_own_mempool(is_first):
    """It may propose in the view in which the first one went down: only what both had counts."""
    run = Run()
    pool = run.pool
    run.pool = {} if is_first else pool
    run.enter(2)
    run.pool = pool if is_first else {}

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
