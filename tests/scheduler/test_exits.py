"""Every timer that leaves is given to its policy once, with the reason, after it was removed and has paid."""

import msgspec
import pytest

from scheduler import Exit, LaneConfig, Rejected, RunOutcome, TimerConfig
from scheduler.policies import fifo_free
from scheduler.policies.policy import PolicyInBlock
from scheduler.types import BlockPhase
from tests.support.lane_doubles import LaneBench, free
from tests.support.scheduler_doubles import Bench

ALICE, BOB = b"\xaa" * 20, b"\xbb" * 20
RICH = 10**15


@pytest.fixture
def exits(monkeypatch):
    """Return a list that grows with each exit: identifier, reason, and the payer's balance then."""
    noted = []

    def note(self, timer, exit_):
        assert self.block.timers.timer(timer.timer_id) is None, "it is still there"
        noted.append((timer.timer_id, exit_, self.block.ledger.balance(timer.fee_payer)))

    monkeypatch.setattr(PolicyInBlock, "leave", note)
    return noted


class TestFifo:
    def test_a_fire_is_an_exit_once_it_is_paid(self, exits):
        bench = Bench(TimerConfig(max_cells_per_fire=0), cycle=2)
        bench.ledger.balances = {ALICE: RICH}
        timer_id = bench.schedule(ALICE, 1)
        bench.run(1, lambda timer: RunOutcome(True, 100, 0, ()))

        assert exits == [(timer_id, Exit.FIRED, RICH - 200)]

    def test_a_reverted_fire_is_one_too(self, exits):
        bench = Bench()
        timer_id = bench.schedule(ALICE, 1)
        bench.run(1, lambda timer: RunOutcome(False, 0, 0, ()))

        assert exits == [(timer_id, Exit.FIRED, 0)]

    def test_the_dead_leave_as_expired_and_as_insolvent(self, exits):
        bench = Bench(cycle=2)
        old = bench.schedule(ALICE, 1, expires_at=1)
        poor = bench.schedule(BOB, 2)
        bench.run(2)

        assert exits == [(old, Exit.EXPIRED, 0), (poor, Exit.INSOLVENT, 0)]

    def test_a_held_timer_does_not_leave(self, exits):
        bench = Bench(TimerConfig(execution_lane_paused=True))
        bench.schedule(ALICE, 1)
        bench.run(1)

        assert exits == []

    def test_cancellations_say_by_whom(self, exits):
        bench = Bench()
        own, other = bench.schedule(ALICE, 5), bench.schedule(ALICE, 6)
        bench.policy.cancel(ALICE, own)
        bench.policy.cancel_by_governance(other)
        bench.policy.cancel_by_governance(other)

        assert exits == [(own, Exit.BY_OWNER, 0), (other, Exit.BY_GOVERNANCE, 0)]

    def test_a_refused_cancellation_is_no_exit(self, exits):
        bench = Bench()
        with pytest.raises(Rejected):
            bench.policy.cancel(BOB, bench.schedule(ALICE, 5))

        assert exits == []


def test_a_fire_for_nothing_is_an_exit(exits):
    bench = Bench()
    timer_id = bench.schedule(ALICE, 1)
    bench.moment = bench.at(1)
    fifo_free.FifoFree().open(bench.block(lambda timer: RunOutcome(True, 0, 0, ()))).run(BlockPhase.TIMERS)

    assert exits == [(timer_id, Exit.FIRED, 0)]


class TestLane:
    def bench(self, **lane):
        bench = LaneBench(free(), LaneConfig(**lane), basefee=1_000, cycle=7)
        bench.ledger.balances = {ALICE: RICH}
        return bench

    def offer(self, bench, actor, due, **options):
        return bench.bid(actor, due, fee=10**6, tip=1, gas_limit=1_000, **options)[0].timer_id

    @pytest.mark.parametrize("classification", ["eager", "cursor"])
    def test_fired_expired_and_insolvent(self, exits, classification):
        bench = self.bench(classification=classification)
        expected = {
            self.offer(bench, ALICE, 1): Exit.FIRED,
            self.offer(bench, ALICE, 2, expires_at=2): Exit.EXPIRED,
            self.offer(bench, BOB, 2): Exit.INSOLVENT,
        }
        bench.run(3, parent=0)

        assert {timer_id: exit_ for timer_id, exit_, _ in exits} == expected
        assert len(exits) == 3

    def test_overdue(self, exits):
        bench = self.bench(max_allowed_delays=0, excessive_delay="cancel")
        timer_id = bench.bid(ALICE, 1, fee=1_000, tip=0, gas_limit=1_000)[0].timer_id
        bench.lane_tables.left = msgspec.structs.replace(bench.lane_tables.left, basefee=10**6)
        bench.run(1)
        bench.run(2)

        assert [(found, exit_) for found, exit_, _ in exits] == [(timer_id, Exit.OVERDUE)]
