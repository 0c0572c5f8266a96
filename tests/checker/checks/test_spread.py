"""Spread: a transaction that parts of a mempool do not bring to the others."""

from unittest.mock import create_autospec

import msgspec
import pytest

from checker.checks import spread
from checker.checks.context import Sample
from checker.checks.mirror import SettledBlock
from checker.checks.planned import PlannedFault, PlannedRun
from checker.checks.spread import MempoolSpread
from checker.oracle import blocks as oracle_blocks
from faults.events import Crashed, TransactionSubmitted
from network.events import Delivered, Event, Sent, TimerElapsed
from network.types import SUPERVISOR
from scheduler import TimerConfig
from tests.support.chain_harness import SENDERS, make_engine, make_genesis, pay, propose
from tests.support.checks import make_run, show
from validators.events import Booted
from validators.execution.blocks import encode_transaction, transaction_digest
from validators.mempool.pool import Pooled

SECOND = 1_000_000
PLAN = PlannedRun(regossip_us=SECOND)


def make_pool(*transactions):
    pooled = [Pooled(each, encode_transaction(each), transaction_digest(each)) for each in transactions]
    return {each.digest: each for each in pooled}


@pytest.fixture(autouse=True)
def rounds(monkeypatch):
    """Leave out what a part has to hold: those of these tests only come and go."""
    monkeypatch.setattr(spread, "GossipRounds", create_autospec(spread.GossipRounds))


class Run:
    """Validator 0 has a transaction that validator 1 lacks; each second a part leaves and arrives."""

    def __init__(self, *, plan=PLAN, other=(), state=None, **facts):
        engine = make_engine(make_genesis())
        executed = propose(engine, [])
        self.header, self.summary = executed.header, executed.summary
        self.state = dict(engine.database.items()) if state is None else state
        self.pools = [make_pool(pay(0, 0, SENDERS[1], 5)), make_pool(*other)]
        self.at_us = 10 * SECOND
        run = make_run(plan=plan, honest=(0, 1), sample_pools=self.sample, state=self.state, **facts)
        self.spread = MempoolSpread(run)
        self.settle()

    def sample(self):
        return Sample(self.at_us, self.pools, (0, 1))

    def show(self, body, node=0):
        show(self.spread, Event(self.at_us, node, body))

    def part(self, *, checksum=b"one", receivers=(1,), length=100_000):
        """Let a part leave, and arrive with this checksum, a second after the last."""
        self.at_us += SECOND
        self.show(TimerElapsed("regossip", SECOND))
        for peer in receivers:
            self.show(Sent(peer, self.at_us, "TransactionGossip", length, b"one"))
        for peer in receivers:
            self.show(Delivered(0, self.at_us, "TransactionGossip", length, checksum), peer)

    def settle(self, transactions=()):
        self.at_us += SECOND
        self.spread.settle(
            SettledBlock(
                header=self.header,
                digest=b"",
                root=b"",
                transactions=transactions,
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

    def finish(self, parts=2, **part):
        for _ in range(parts):
            self.part(**part)
        self.at_us += SECOND
        self.settle()
        return self.spread.finish()


def test_what_a_peer_lacks_after_two_rounds_is_named():
    """With both validators, and since when it has waited."""
    result = Run().finish()

    assert (result.status, result.exit_class) == ("failed", "liveness")
    assert "waits at validator 0, which has sent validator 1 2 parts since 11.000 s" in result.summary


@pytest.mark.parametrize(
    "given",
    [{"parts": 1}, {"checksum": b"two"}, {"receivers": (1, 2)}],
    ids=["one part", "damaged", "sent to all at once"],
)
def test_parts_that_need_not_have_brought_it_do_not_count(given):
    """The round may not be over, or the part was no part."""
    assert Run().finish(**given).status != "failed"


def test_a_full_mempool_takes_more_parts():
    """Two rounds of two parts each."""
    run = Run()
    run.pools[0] |= make_pool(*(pay(0, nonce, SENDERS[1], 5) for nonce in range(1, 70)))
    run.settle()

    assert run.finish(3).status != "failed"
    assert run.finish(1).status == "failed"


def test_what_comes_is_counted():
    """So a run in which everything spreads is conclusive, and one in which nothing had to is not asked."""
    run = Run()
    run.pools[1] |= run.pools[0]

    assert run.spread.not_asked()
    assert run.finish(0).status == "passed"


def test_a_mempool_that_was_lost_begins_anew():
    """A part from before the restart was for the earlier life."""
    run = Run()
    run.part()
    run.part()
    run.show(Crashed(1, 0), SUPERVISOR)

    assert run.finish(1).status != "failed"


@pytest.mark.parametrize(("starts", "status"), [(0, "failed"), (1, "inconclusive"), (2, "failed")])
def test_a_life_begins_with_its_first_start(starts, status):
    """A recovering replica refuses transactions (seed 422777); a second start keeps the mempool (seed 421967)."""
    run = Run()
    if starts > 1:
        run.show(Booted(1, 5, 0, b""), 1)
        run.settle()
    run.part()
    if starts:
        run.show(Booted(1, 5, 0, b""), 1)

    assert run.finish(1).status == status


def test_a_nonce_that_is_taken_there_has_no_room_for_it():
    """Of two that exclude each other each mempool keeps the first."""
    assert Run(other=[pay(0, 0, SENDERS[1], 6)]).finish().status != "failed"


def test_a_nonce_that_is_spent_is_of_no_use():
    """The owner may lag behind finality."""
    engine = make_engine(make_genesis())
    executed = propose(engine, [pay(0, 0, SENDERS[1], 6)])
    engine.finalize(executed.digest)

    assert Run(state=dict(engine.database.items())).finish().status != "failed"


def test_blocks_of_one_instant_are_all_settled_before_it_is_judged():
    """The first of them is settled while the last one's transactions have left the other mempool."""
    engine = make_engine(make_genesis())
    executed = propose(engine, [pay(0, 0, SENDERS[1], 6)])
    engine.finalize(executed.digest)
    run = Run()
    run.part()
    run.part()
    run.settle()
    run.state |= dict(engine.database.items())

    assert run.finish(0).status != "failed"


def test_a_slow_machine_is_not_judged():
    """Its signatures may take any time."""
    slow = PlannedFault("slow", 0, 90 * SECOND, (1,), slows=True)

    assert Run(plan=PLAN._replace(faults=[slow])).finish().status != "failed"


class TestHandedIn:
    """Clients hand a transaction to validator 1, in whose mempool there is nothing unless it is said."""

    HANDED = pay(1, 0, SENDERS[0], 5)
    DIGEST = transaction_digest(HANDED)

    @pytest.fixture(autouse=True)
    def signatures(self, monkeypatch):
        """Take the harness's signatures for sound ones, as its engine does."""
        monkeypatch.setattr(oracle_blocks, "is_signed", lambda transaction: transaction.signature[0] == 0)

    def judge(self, *, handed=HANDED, wait=6, transactions=(), **given):
        run = Run(submissions=lambda: {self.DIGEST: encode_transaction(handed)}, **given)
        run.show(TransactionSubmitted("submitted", 1, self.DIGEST), SUPERVISOR)
        run.at_us += wait * SECOND
        run.settle()
        run.settle(transactions)
        return run.spread.finish()

    def test_one_that_is_not_pooled_is_named(self):
        result = self.judge()

        assert result.status == "failed"
        assert f"validator 1 has not pooled transaction {self.DIGEST[:6].hex()}" in result.summary

    @pytest.mark.parametrize(
        "given",
        [
            {"wait": 2},
            {"transactions": [encode_transaction(HANDED)]},
            {"handed": msgspec.structs.replace(HANDED, signature=bytes((1,)) * 64)},
            {"other": [pay(1, 0, SENDERS[0], 6)]},
        ],
        ids=["not for long", "final with the next block", "a wrong signature", "its nonce is taken"],
    )
    def test_one_that_need_not_be_there_passes(self, given):
        assert self.judge(**given).status != "failed"

    def test_one_that_was_pooled_has_to_leave_at_once(self):
        assert "sent 0 messages" in self.judge(other=[self.HANDED]).summary

    def test_messages_to_all_others_are_enough(self):
        run = Run(other=[self.HANDED])
        run.show(TransactionSubmitted("submitted", 1, self.DIGEST), SUPERVISOR)
        for peer in (0, 2, 3):
            run.show(Sent(peer, 1, "TransactionGossip", 100, b"one"), 1)
        run.settle()

        assert run.spread.finish().status == "passed"

    def test_handed_in_again_it_need_not_leave_again(self):
        run = Run(other=[self.HANDED])
        for peer in (0, 2, 3):
            run.show(Sent(peer, 1, "TransactionGossip", 100, b"one"), 1)
        for _ in range(2):
            run.show(TransactionSubmitted("submitted", 1, self.DIGEST), SUPERVISOR)
            run.at_us += 3 * SECOND
            run.settle()

        assert run.spread.finish().status == "passed"

    def test_it_leaves_once_in_a_life(self):
        run = Run(other=[self.HANDED])
        sent = Sent(0, 1, "TransactionGossip", 100, b"one")
        run.show(sent, 1)
        run.show(Crashed(1, 0), SUPERVISOR)
        run.show(sent, 1)
        assert run.spread.finish().status != "failed"

        run.show(sent, 1)
        assert "validator 1 sent validator 0 transactions of its clients once more" in run.spread.finish().summary

    def test_a_part_of_the_timer_is_none_of_them(self):
        run = Run(other=[self.HANDED])
        run.show(TransactionSubmitted("submitted", 1, self.DIGEST), SUPERVISOR)
        for _ in range(4):
            run.at_us += 1
            run.show(TimerElapsed("regossip", SECOND), 1)
            run.show(Sent(0, 1, "TransactionGossip", 100, b"one"), 1)
        run.at_us += SECOND
        run.settle()

        assert run.spread.finish().status == "failed"

    def test_one_that_is_paused_may_send_a_part_late(self):
        paused = PlannedFault("pause", 0, SECOND, nodes=(1,), pauses=True)
        run = Run(other=[self.HANDED], plan=PlannedRun(regossip_us=SECOND, faults=(paused,)))
        for _ in range(2):
            run.at_us += SECOND
            run.show(Sent(0, 1, "TransactionGossip", 100, b"one"), 1)

        assert run.spread.finish().status != "failed"
