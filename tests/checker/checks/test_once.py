"""Once: executions and stored blocks that are there a second time."""

import hashlib
from types import SimpleNamespace

import pytest

from checker.checks.observations import DiskFaults
from checker.checks.once import DoneOnce
from checker.checks.planned import PlannedFault, PlannedRun
from faults.events import Crashed, Restarted, TransactionSubmitted
from network.events import Delivered, Event, TimerElapsed, WorkFinished
from network.types import SUPERVISOR
from tests.support.chain_harness import BOB, pay
from tests.support.checks import finish, make_run, show
from validators.consensus.registry import ENGINES
from validators.events import BlockExecuted, BlockFinalized, Booted, SnapshotJoined
from validators.execution.blocks import encode_transaction
from validators.messages import TransactionGossip, message_codec
from validators.storage import BlockFile, SimulatedDisk


def execute(mode, digest=b"one", node=0):
    return Event(1, node, BlockExecuted(3, 4, digest, b"", mode))


def judge(*events, disk=None, **facts):
    check = DoneOnce(make_run(honest=(0,), disks=(disk or SimulatedDisk(),), chain=[None] * bool(disk), **facts))
    show(check, *events)
    return finish(check)


def test_a_block_that_is_executed_again_fails():
    result = judge(execute("verify"), execute("verify"))

    assert (result.status, result.exit_class) == ("failed", "liveness")
    assert result.summary == "validator 0 executed block 6f6e65 of height 3 once more"


@pytest.mark.parametrize(
    "between",
    [Event(2, SUPERVISOR, Restarted(0)), Event(2, 0, SnapshotJoined(9, b"", b""))],
    ids=["another life", "another state"],
)
def test_a_block_may_be_executed_again_where_it_was_forgotten(between):
    assert judge(execute("verify"), between, execute("verify")).status == "passed"


def test_a_block_that_comes_back_or_was_recovered_is_no_second_one():
    assert judge(execute("recover"), execute("verify"), execute("reapply")).status == "passed"


def make_disk():
    disk = SimulatedDisk()
    for _ in range(2):
        BlockFile(disk).append(height=3, digest=b"one", block=b"")
    return disk


def test_a_block_that_is_stored_twice_fails():
    assert judge(disk=make_disk()).summary == "the disk of validator 0 holds block 6f6e65 of height 3 twice"


def test_a_block_that_a_bad_disk_has_lost_may_be():
    assert judge(disk=make_disk(), disk_faults=DiskFaults(touched=(0,))).status != "failed"


PAYMENT, OTHER, RIVAL = (encode_transaction(each) for each in (pay(0, 0, BOB, 1), pay(1, 0, BOB, 1), pay(0, 0, BOB, 2)))
ALL_HONEST = {"honest": (0, 1, 2, 3), "disks": (), "validators": 4}


def gossip(at_us, encoded=PAYMENT):
    """A message with one transaction that comes to validator 0."""
    message = message_codec(ENGINES["simplex"]).encode(TransactionGossip((encoded,)))
    checksum = hashlib.blake2b(message, digest_size=8).digest()
    return Event(at_us, 0, Delivered(1, at_us, "TransactionGossip", len(message), checksum))


def work(at_us, base_us=0, lane="cpu"):
    """A piece of work of validator 0 that is over."""
    return Event(at_us, 0, WorkFinished(lane, 0, base_us, 0))


BLOCK = execute("verify")
"""Something to compare, whatever comes of the transaction."""

BOOT = Event(1, 0, Booted(0, 1, 4, b""))
FIRST = (BOOT, gossip(10), work(70, 60))
"""The transaction comes, and is verified; the final height is 4."""


class TestOfKnownTransactions:
    """The transaction comes again in instant 100, and nothing is verified; it is final in block 6."""

    def judge(self, *events, height=6, handed_in=(PAYMENT, OTHER), **facts):
        block = SimpleNamespace(height=height, transactions=[OTHER, PAYMENT])
        chain = [SimpleNamespace(block=block)] * height
        submissions = dict(enumerate(handed_in))
        given = {**ALL_HONEST, "chain": chain, "submissions": lambda: submissions, **facts}
        check = DoneOnce(make_run(**given))
        show(check, *events, work(500, 60))
        check.settle(block)
        return finish(check)

    def test_a_known_transaction_that_begins_work_fails(self):
        assert self.judge(*FIRST, gossip(100)).status == "passed"
        result = self.judge(*FIRST, gossip(100), work(100))
        assert (result.status, result.exit_class) == ("failed", "liveness")
        assert result.summary == (
            "validator 0 began to verify a transaction again that was in its mempool, as it came at 0.000 s"
        )
        assert self.judge(*FIRST, gossip(100), work(160, 60)).status == "failed"

    @pytest.mark.parametrize(
        "events",
        [
            (gossip(100, OTHER), work(100)),
            (Event(90, 0, BlockFinalized(6, 6, b"", b"")), gossip(100), work(100)),
            (Event(90, SUPERVISOR, Crashed(0, 0)), Event(95, 0, Booted(1, 1, 4, b"")), gossip(100), work(100)),
            (Event(90, 0, SnapshotJoined(5, b"", b"")), gossip(100), work(100)),
            (Event(100, 0, TimerElapsed("regossip")), gossip(100), work(100)),
            (gossip(100), Event(100, 0, Delivered(1, 1, "Notarize", 80, b"")), work(100)),
            (work(100, 9, "disk"), gossip(100), work(100)),
            (gossip(100), work(100), Event(100, SUPERVISOR, TransactionSubmitted("submitted", 0, b""))),
            (gossip(100), work(130, 60)),
        ],
        ids=[
            "another one",
            "one that is final there",
            "one of an earlier life",
            "another state",
            "a timer beside it",
            "a message beside it",
            "a sync that is over",
            "one of a client beside it",
            "in the midst of work",
        ],
    )
    def test_work_that_may_be_of_something_else_passes(self, events):
        assert self.judge(*FIRST, *events, BLOCK).status == "passed"

    def test_a_nonce_that_two_transactions_share_may_be_taken(self):
        assert self.judge(*FIRST, gossip(100), work(100), BLOCK, handed_in=(PAYMENT, RIVAL)).status == "passed"

    def test_beside_an_adversary_or_in_a_pause_nothing_is_judged(self):
        paused = PlannedRun(faults=(PlannedFault("still", 0, 9, (0,), pauses=True),))
        events = *FIRST, gossip(100), work(100), BLOCK

        assert self.judge(*events, honest=(0, 1, 2)).status == "passed"
        assert self.judge(*events, plan=paused).status == "passed"
