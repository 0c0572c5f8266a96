"""Spread: a transaction that was given to a validator and does not wait there."""

from unittest.mock import create_autospec

import msgspec
import pytest

from checker.checks.context import Sample
from checker.checks.mirror import SettledBlock
from checker.checks.planned import PlannedFault, PlannedRun
from checker.checks.service import spread
from checker.checks.service.spread import MempoolSpread
from checker.checks.service.transactions import BYTES_MAX
from checker.oracle import blocks as oracle_blocks
from faults.events import Crashed, TransactionSubmitted
from network.events import Delivered, Event, Sent, TimerElapsed, WorkFinished
from network.types import SUPERVISOR
from scheduler import TimerConfig
from tests.support.chain_harness import SENDERS, make_engine, make_genesis, pay, propose
from tests.support.checks import make_run, show
from validators.events import BlockFinalized, Booted, Halted, SnapshotJoined
from validators.execution.blocks import ExecuteActor, encode_transaction, transaction_digest
from validators.mempool.pool import Pooled

SECOND = 1_000_000
PLAN = PlannedRun(regossip_us=SECOND)
HANDED = pay(1, 0, SENDERS[0], 5)
DIGEST = transaction_digest(HANDED)
BOOT = Booted(0, 1, 0, b"")


def make_pool(*transactions):
    pooled = [Pooled(each, encode_transaction(each), transaction_digest(each)) for each in transactions]
    return {each.digest: each for each in pooled}


@pytest.fixture(autouse=True)
def parts(monkeypatch):
    """Leave out which part leaves when: the message with the checksum `one` holds the transaction."""
    made = create_autospec(spread.GossipParts, instance=True)
    made.content.side_effect = lambda checksum: (DIGEST,) if checksum == b"one" else ()
    monkeypatch.setattr(spread, "GossipParts", lambda _run, _tally: made)
    return made


@pytest.fixture(autouse=True)
def signatures(monkeypatch):
    """Take the harness's signatures for sound ones, as its engine does."""
    monkeypatch.setattr(oracle_blocks, "is_signed", lambda transaction: transaction.signature[0] == 0)


class Run:
    """A transaction is given to validator 1, in whose mempool there is nothing unless it is said."""

    def __init__(self, *, pool=(), plan=PLAN, handed=HANDED, offers=("trace", "receipts", "tables")):
        engine = make_engine(make_genesis())
        executed = propose(engine, [])
        self.header, self.summary = executed.header, executed.summary
        self.state = dict(engine.database.items())
        self.pools = [{}, make_pool(*pool)]
        self.at_us = 10 * SECOND
        submissions = {transaction_digest(HANDED): encode_transaction(handed)}
        run = make_run(
            plan=plan, honest=(0, 1), sample_pools=self.sample, submissions=lambda: submissions, offers=offers
        )
        self.check = MempoolSpread(run)
        self.show(BOOT)

    def sample(self):
        return Sample(self.at_us, self.pools, (0, 1))

    def show(self, body, node=1):
        show(self.check, Event(self.at_us, node, body))

    def hand_in(self, outcome="submitted"):
        """Let a client give the transaction."""
        self.show(TransactionSubmitted(outcome, 1, DIGEST), SUPERVISOR)

    def bring(self, *, checksum=b"one"):
        """Let a part bring the transaction."""
        self.show(Delivered(0, 0, "TransactionGossip", 100, checksum))

    def settle(self, wait):
        """Let a block become final after a time in seconds."""
        self.at_us += wait * SECOND
        self.check.settle(
            SettledBlock(
                header=self.header,
                digest=b"",
                root=b"",
                transactions=(),
                length_bytes=100,
                parent_view=0,
                now=0,
                receipts=(),
                changes={},
                before=self.state,
                config=TimerConfig(),
                summary=self.summary,
            )
        )

    def judge(self, *, wait=6):
        self.settle(wait)
        self.settle(1)
        return self.check.finish()


def test_a_transaction_of_a_client_that_is_not_pooled_is_named():
    run = Run()
    run.hand_in()
    result = run.judge()

    assert (result.status, result.exit_class) == ("failed", "liveness")
    assert result.summary == (
        f"validator 1 has not pooled transaction {DIGEST[:6].hex()}, which a client gave to it at 10.000 s"
    )


def test_a_transaction_of_a_part_that_is_not_pooled_is_named():
    run = Run()
    run.bring()

    assert "which validator 0 gave to it at 10.000 s" in run.judge().summary


@pytest.mark.parametrize("give", [Run.hand_in, Run.bring])
def test_a_transaction_that_waits_is_counted(give):
    """So a run in which all is pooled is conclusive, and one in which nothing is given is not asked."""
    run = Run(pool=[HANDED])
    assert run.check.not_asked()

    give(run)
    assert run.judge().status == "passed"


@pytest.mark.parametrize(
    "given",
    [
        {"pool": [pay(1, 0, SENDERS[0], 6)]},
        {"handed": msgspec.structs.replace(HANDED, signature=bytes((1,)) * 64)},
        {"handed": msgspec.structs.replace(HANDED, call=ExecuteActor(bytes(20), "", bytes(BYTES_MAX)))},
        {"plan": PLAN._replace(faults=[PlannedFault("slow", 0, 90 * SECOND, (1,), slows=True)])},
        {"offers": ("trace", "events")},
    ],
    ids=["its nonce is taken", "a wrong signature", "too long", "a slow machine", "an application"],
)
def test_a_transaction_that_need_not_be_there_passes(given):
    run = Run(**given)
    run.hand_in()
    run.bring()

    assert run.judge().status != "failed"


def test_a_transaction_of_a_moment_ago_may_be_verified_still():
    run = Run()
    run.hand_in()

    assert run.judge(wait=3).status != "failed"
    assert run.judge().status == "failed"


def test_a_nonce_spent_in_a_later_block_of_the_instant_is_of_no_use():
    """The first of those blocks is settled while the transactions of all have left the mempools already."""
    engine = make_engine(make_genesis())
    engine.finalize(propose(engine, [HANDED]).digest)
    run = Run()
    run.hand_in()
    run.settle(6)
    run.settle(0)
    run.state = dict(engine.database.items())
    run.settle(1)

    assert run.check.finish().status != "failed"


def test_a_damaged_part_brings_nothing():
    run = Run()
    run.bring(checksum=b"two")

    assert run.check.not_asked()
    assert run.judge().status != "failed"


def test_a_client_that_was_refused_gave_nothing():
    run = Run()
    run.hand_in("refused")

    assert run.judge().status != "failed"


@pytest.mark.parametrize(
    ("events", "status"),
    [
        ([(Crashed(1, 0), SUPERVISOR), (BOOT, 1)], "inconclusive"),
        ([(Halted("disk"), 1)], "inconclusive"),
        ([(BOOT, 1)], "failed"),
    ],
    ids=["a new life", "a halt", "a second start"],
)
def test_a_life_that_ends_takes_its_mempool_along(events, status):
    """A second start in a life keeps the mempool (seed 421967)."""
    run = Run()
    run.hand_in()
    for body, node in events:
        run.show(body, node)

    assert run.judge().status == status


def test_a_replica_that_has_not_started_takes_nothing():
    """A recovering replica refuses transactions (seed 422777)."""
    run = Run()
    run.show(Crashed(1, 0), SUPERVISOR)
    run.hand_in()
    run.show(BOOT)

    assert run.judge().status == "inconclusive"


class TestOfParts:
    """The events that `gossip_parts` follows."""

    def test_a_timer_shows_the_mempool_of_which_a_part_leaves(self, parts):
        run = Run(pool=[HANDED])
        run.show(TimerElapsed("regossip", SECOND))
        run.show(TimerElapsed("answers", SECOND))

        parts.elapse.assert_called_once_with(1, run.at_us, run.pools[1])

    def test_a_replica_that_is_hindered_is_left_out(self, parts):
        paused = PlannedFault("pause", 0, SECOND, nodes=(1,), pauses=True)
        Run(plan=PLAN._replace(faults=(paused,))).show(TimerElapsed("regossip", SECOND))

        parts.elapse.assert_not_called()

    @pytest.mark.parametrize(
        "body", [WorkFinished("cpu", 0), BlockFinalized(1, 1, b"", b""), SnapshotJoined(1, b"", b"")]
    )
    def test_an_event_that_may_change_the_mempool_disturbs(self, parts, body):
        run = Run()
        run.show(body)

        parts.disturb.assert_called_once_with(1, run.at_us)

    def test_messages_with_transactions_are_passed_on(self, parts):
        run = Run()
        sent = Sent(0, 1, "TransactionGossip", 100, b"one")
        run.show(sent)
        run.show(Sent(0, 1, "BlockRequest", 100, b"one"))

        parts.send.assert_called_once_with(1, run.at_us, sent)
