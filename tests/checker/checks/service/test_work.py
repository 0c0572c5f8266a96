"""Work: what ends too early or at another price, and what rests on an execution that is not over."""

from types import SimpleNamespace

import pytest

from checker.checks.planned import PlannedFault, PlannedRun
from checker.checks.service.work import PricedWork
from checker.observations import NO_SUMMARY
from faults.events import Crashed
from network.events import Delivered, Event, WorkFinished
from tests.support.checks import make_run, show
from validators.costs import Costs
from validators.events import BlockExecuted, BlockFinalized, Booted, Voted

PLAN = PlannedRun(costs=Costs(sync_us=2_000, block_us=500, verify_signature_us=60))
PAUSED = PLAN._replace(faults=(PlannedFault("still", 0, 9, (0,), pauses=True),))


def work(base_us, *, lane="cpu", at_us=1):
    return Event(at_us, 0, WorkFinished(lane, 0, base_us, 0))


def execute(mode="verify", *, at_us=1):
    return Event(at_us, 0, BlockExecuted(3, 4, b"one", b"", mode))


BOOT = Event(0, 0, Booted(0, 1, 0, b""))
VOTE = Event(2, 0, Voted("notarize", 4, b"one"))
FINALITY = Event(2, 0, BlockFinalized(3, 4, b"one", b""))


def judge(*events, **facts):
    check = PricedWork(make_run(**{"plan": PLAN, **facts}))
    show(check, BOOT, *events)
    return check.finish()


@pytest.mark.parametrize(("lane", "price"), [("disk", 2_000), ("pruning", 4_000)])
def test_a_sync_has_its_price(lane, price):
    assert judge(work(price, lane=lane)).status == "passed"
    assert judge(work(price - 1, lane=lane)).status == "failed"


def test_a_block_of_an_application_has_no_price():
    block = SimpleNamespace(digest=b"one", summary=NO_SUMMARY, changes={}, transactions=())
    for offers, status in ((("trace", "events"), "passed"), (("trace", "receipts", "tables"), "failed")):
        check = PricedWork(make_run(plan=PLAN, offers=offers))
        show(check, BOOT, work(77), execute(), VOTE)
        check.settle(block)

        assert check.finish().status == status


@pytest.mark.parametrize("after", [VOTE, FINALITY], ids=["a vote", "finality"])
def test_what_rests_on_an_execution_comes_after_it(after):
    assert judge(work(500), execute(), after).status == "passed"
    assert judge(execute("recover"), after).status == "passed"
    assert judge(after, work(500), execute()).status == "failed"
    assert judge(execute("diverged"), after).status == "failed"


def test_a_vote_before_the_execution_is_named():
    result = judge(VOTE)

    assert result.exit_class == "liveness"
    assert result.summary == (
        "validator 0 sent a notarize of view 4 for block 6f6e65 before its execution was over, at 0.000 s"
    )


class TestOfReading:
    """A message of 2,048 bytes costs 4 us, which its replica spends once its processor is free."""

    def judge(self, *events, **facts):
        # Without a price that was due nothing is compared; a sync is.
        return judge(work(2_000, lane="disk"), *events, **facts)

    def comes(self, at_us, *, length=2_048, label="BlockRelay"):
        return Event(at_us, 0, Delivered(1, 0, label, length, b"sum"))

    @pytest.mark.parametrize("first_us", [0, 30], ids=["by an idle replica", "by a busy one"])
    def test_a_message_is_read_at_its_price(self, first_us):
        first = [work(first_us, at_us=120)] if first_us else []
        later = [work(60, at_us=300)]
        start_us = 120 if first_us else 100

        assert self.judge(self.comes(100), *first, work(4, at_us=start_us + 4), *later).status == "passed"
        assert self.judge(self.comes(100), *first, *later).status == "failed"

    def test_a_message_that_was_not_read_is_named(self):
        assert self.judge(self.comes(100), work(600, at_us=700), work(60, at_us=1_000)).summary == (
            "validator 0 did no work of 4 us to read a BlockRelay that came at 0.000 s, at 0.001 s"
        )

    def test_each_message_is_paid_for(self):
        two = self.comes(100), self.comes(100)

        assert self.judge(*two, work(4, at_us=104), work(4, at_us=108), work(1, at_us=200)).status == "passed"
        assert self.judge(*two, work(4, at_us=104), work(1, at_us=200)).status == "failed"

    @pytest.mark.parametrize("length", [1_023, 2_047])
    def test_what_is_less_than_a_kib_is_free(self, length):
        rest = length // 1_024 * 2
        paid = [work(rest, at_us=100 + rest)] if rest else []

        assert self.judge(self.comes(100, length=length), *paid, work(60, at_us=300)).status == "passed"

    def test_what_comes_before_a_start_or_a_crash_is_not_read(self):
        boot = Event(200, 0, Booted(1, 1, 0, b""))
        crash = Event(150, -1, Crashed(0, 0))

        assert self.judge(self.comes(100), crash, self.comes(160), boot, work(60, at_us=300)).status == "passed"

    def test_a_paused_replica_may_read_later(self):
        assert self.judge(self.comes(100), work(60, at_us=300), plan=PAUSED).status == "passed"


class TestOfExecutions:
    """The price of a final block: 500 us, 20 for each thousand cycles begun, 5 for each write, 60 for a signature."""

    def judge(self, price_us, *, is_known=False, plan=PLAN):
        check = PricedWork(make_run(plan=plan))
        if is_known:
            check.settle(self.block)
        show(check, BOOT, work(price_us), execute(), VOTE)
        if not is_known:
            check.settle(self.block)
        return check.finish()

    @pytest.fixture(autouse=True)
    def make_block(self, settled_block):
        self.block = settled_block

    @pytest.mark.parametrize("is_known", [False, True])
    def test_it_is_that_of_its_cycles_writes_and_signatures(self, is_known):
        assert self.judge(500 + 40 + 10, is_known=is_known).status == "passed"
        assert self.judge(500 + 40 + 10 + 120, is_known=is_known).status == "passed"
        assert self.judge(500 + 20 + 10, is_known=is_known).status == "failed"
        assert self.judge(500 + 40 + 10 + 61, is_known=is_known).status == "failed"

    @pytest.mark.parametrize(
        ("events", "status"),
        [
            ((work(550), work(0), execute()), "passed"),
            ((work(550), work(9, at_us=2), execute(at_us=2)), "failed"),
            ((work(550), execute(at_us=2)), "failed"),
            ((work(9), execute("recover")), "passed"),
        ],
        ids=["with a piece behind it", "of an earlier instant", "none in its instant", "of a start"],
    )
    def test_it_ends_with_work_of_that_price(self, events, status):
        check = PricedWork(make_run(plan=PLAN))
        check.settle(self.block)
        show(check, BOOT, *events, VOTE)

        assert check.finish().status == status

    def test_a_paused_replica_may_read_later_that_it_is_over(self):
        assert self.judge(730).status == "failed"
        assert self.judge(730, plan=PAUSED).status == "passed"

    def test_it_has_no_more_signatures_than_the_block(self):
        assert self.judge(500 + 40 + 10 + 180).summary == (
            "validator 0 executed block 6f6e65 as work of 730 us ended, expected 550 us and 60 for each of at most 2 "
            "signatures, at 0.000 s"
        )


@pytest.fixture
def settled_block():
    """A final block of two transactions, 1,001 cycles and two writes."""
    summary = SimpleNamespace(cycles_used=900, lane_cycles=100, mailbox_cycles=1, gc_cycles=0)
    changes = {b"a": None, b"b": b""}
    return SimpleNamespace(digest=b"one", summary=summary, changes=changes, transactions=(b"", b""))
