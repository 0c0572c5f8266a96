"""Timers inside real blocks: order, payment, carry-over, outages, storms."""

import pytest

from scheduler import TimerConfig, TimerExpired, TimerFired, TimerScheduled
from tests.support.chain_harness import (
    ALICE,
    BALANCE,
    HEART,
    POOR,
    PUPPET,
    STORM,
    advance,
    balance_of,
    do,
    in_lane,
    make_engine,
    make_genesis,
    order,
    receipt,
    stored,
)
from validators.actors import HeartbeatOrder, StormOrder
from validators.execution import decode_entry
from validators.execution.schema import bucket_key


def bucket_of(engine, due):
    return decode_entry(bucket_key(due), engine.database.get(bucket_key(due))).record


@pytest.mark.parametrize(("first", "flag"), [((), True), ((["cancel_last"],), False)])
def test_the_flag_of_a_bucket_says_where_it_was_made_and_dies_with_it(first, flag):
    """Made at height 1 out of range of a ring of four; emptied at height 4, it is made anew in range (K-32)."""
    engine = make_engine(make_genesis(**in_lane(ring_size=4, epoch_length=8)))
    advance(engine, [do(0, 0, ["timer", 6, [], 50_000])])
    assert bucket_of(engine, 7).queued is True
    advance(engine)
    advance(engine)
    advance(engine, [do(0, 1, *first, ["timer", 3, [], 50_000])])

    assert bucket_of(engine, 7).queued is flag


class TestTimersInBlocks:
    def test_a_timer_fires_after_the_transactions_of_its_block(self):
        """Transactions come first; the timer sees what they wrote and its owner pays."""
        engine = make_engine()
        advance(engine, [do(0, 0, ["timer", 1, [["put", b"k", b"timer"]], 10_000])])
        executed = advance(engine, [do(0, 1, ["put", b"k", b"transaction"])])
        event = executed.events[-1]

        assert stored(engine, PUPPET, b"k") == b"timer"
        assert isinstance(event, TimerFired)
        assert (event.used_cycles, event.used_cells) == (300, 6)
        assert balance_of(engine, PUPPET) == BALANCE - 306 * 800
        assert receipt(executed, -1).event == event

    def test_a_reverted_fire_is_gone_and_wrote_nothing(self):
        """The timer leaves; its handler's writes and timers do not come in."""
        engine = make_engine()
        advance(engine, [do(0, 0, ["timer", 1, [["put", b"k", b"v"], ["timer", 1, []], ["revert", "no"]], 10_000])])
        executed = advance(engine)

        assert (executed.summary.fired, executed.summary.reverted) == (1, 1)
        assert stored(engine, PUPPET, b"k") is None
        assert engine.due_heights(10**6) == []

    def test_a_timer_of_an_actor_may_be_paid_by_the_sender(self):
        """The poor actor's timer fires at the sender's cost; without a payer it is destroyed."""
        engine = make_engine()
        timers = (["timer", 1, [], 1_000, None, ALICE], ["timer", 1, [], 1_000])
        advance(engine, [do(0, 0, *timers, actor=POOR)])
        before = balance_of(engine, ALICE)
        executed = advance(engine)

        assert (executed.summary.fired, executed.summary.insolvent) == (1, 1)
        assert balance_of(engine, ALICE) == before - 200 * 800

    def test_cancelling_from_a_handler_is_too_late_for_the_same_block(self):
        """Q-28: what the phase has collected fires, and the program can see why its cancel failed."""
        engine = make_engine()
        advance(engine, [do(0, 0, ["timer", 1, [["cancel_last"]], 10_000], ["timer", 1, [], 10_000])])
        executed = advance(engine)

        assert executed.summary.fired == 2
        assert [event.topic for event in executed.events if type(event).__name__ == "Emitted"] == ["AlreadyCollected"]

    def test_a_deferred_timer_can_be_cancelled_and_extended_in_the_next_block(self):
        """A waiting timer is still its owner's, and the carried list follows."""
        config = TimerConfig(max_cells_per_fire=0, lane_timer_cycles=10_000)
        engine = make_engine(make_genesis(timer_config=config))
        blocker = ["timer", 1, [["compute", 9_000]], 10_000]
        advance(engine, [do(0, 0, blocker, ["timer", 1, [], 10_000, 5])])
        assert advance(engine).summary.waiting_live == 1
        extended = advance(engine, [do(0, 1, ["extend_last", 500], ["timer", 1, [], 10_000])])
        assert extended.summary.fired == 1

        advance(engine, [do(0, 2, blocker, ["timer", 1, [], 10_000])])
        assert advance(engine).summary.waiting_live == 1
        assert advance(engine, [do(0, 3, ["cancel_last"])]).summary.waiting_live == 0

    def test_an_extension_reaches_a_timer_that_waits(self):
        """A deferred timer lives by its new expiry, not by the one that it was first deferred with."""
        config = TimerConfig(max_cells_per_fire=0, lane_timer_cycles=10_000)
        engine = make_engine(make_genesis(timer_config=config))
        blockers = [["timer", 1, [["compute", 9_000]], 10_000]] * 3
        advance(engine, [do(0, 0, *blockers, ["timer", 1, [], 10_000, 1])])
        advance(engine)
        advance(engine, [do(0, 1, ["extend_last", 50])])
        rest = [advance(engine).summary for _ in range(2)]

        assert [(summary.fired, summary.expired) for summary in rest] == [(1, 0), (1, 0)]

    @pytest.mark.parametrize("is_due", [True, False])
    def test_a_reverted_cancel_changes_nothing(self, is_due):
        """Neither the list of what waits nor the index of heights keeps a trace of a cancel that was taken back."""
        config = TimerConfig(max_cells_per_fire=0, lane_timer_cycles=10_000)
        engine = make_engine(make_genesis(timer_config=config))
        blocker = ["timer", 1, [["compute", 9_000]], 10_000]
        advance(engine, [do(0, 0, blocker, ["timer", 1 if is_due else 3, [], 10_000])])
        advance(engine)
        advance(engine, [do(0, 1, ["cancel_last"], ["revert", "no"])])
        fired = [advance(engine).summary.fired for _ in range(1)]

        assert fired == [0 if is_due else 1]
        assert engine.due_heights(10**6) == []
        assert not [key for key, value in engine.database.items() if decode_entry(key, value).table == "timer"]

    def test_every_missed_slot_is_due_at_once_after_an_outage(self):
        """Slot time goes on while the chain is down: what expired meanwhile leaves, what lives fires."""
        engine = make_engine(make_genesis(timebase="slot"))
        timers = [["timer", delay, [], 1_000, 50] for delay in range(1, 101)]
        advance(engine, [do(0, 0, *timers)])
        executed = advance(engine, after_ms=100_000)

        assert executed.header.height == 2
        assert executed.header.slot == 101
        assert (executed.summary.expired, executed.summary.fired) == (49, 51)
        dues = [event.due for event in executed.events if isinstance(event, TimerFired)]
        assert dues == list(range(51, 102))

    def test_dead_timers_drain_within_the_gc_budget_while_live_ones_fire(self):
        """A storm takes as many blocks as the budget says, and a heartbeat beats in each of them."""
        config = TimerConfig(max_cells_per_fire=400, gc_cycles_per_block=200 * 100)
        engine = make_engine(make_genesis(timer_config=config, timebase="slot"))
        storm = StormOrder(count=1_000, delay=1, not_before=5, spread=7, ttl=3, gas_limit=1_000, payload_size=8)
        advance(engine, [order(0, 0, STORM, "make", storm), order(0, 1, HEART, "start", HeartbeatOrder(1, 5_000))])
        advance(engine, after_ms=60_000)
        drained = [advance(engine).summary for _ in range(9)]

        assert [summary.expired for summary in drained] == [100] * 9
        assert [summary.fired for summary in drained] == [1] * 9
        assert drained[-1].waiting_dead == 0
        assert all(summary.gc_cycles <= 20_000 for summary in drained)

    def test_a_storm_is_made_whole_or_not_at_all(self):
        """An order beyond the per-actor cap reverts and leaves nothing."""
        engine = make_engine()
        storm = StormOrder(count=1_025, delay=1, not_before=0, spread=7, ttl=3, payload_size=0)
        executed = advance(engine, [order(0, 0, STORM, "make", storm)])

        assert (receipt(executed).status, receipt(executed).error) == (1, "TooManyTimers")
        assert not any(isinstance(event, TimerScheduled) for event in executed.events)

    def test_an_over_long_outage_expires_by_the_edge(self):
        """At expires_at a timer still fires; one later it is expired."""
        engine = make_engine()
        advance(engine, [do(0, 0, ["timer", 1, [], 1_000, 0])])
        assert advance(engine).summary.fired == 1

        engine = make_engine(make_genesis(timebase="slot"))
        advance(engine, [do(0, 0, ["timer", 1, [], 1_000, 0])])
        event = advance(engine, after_ms=2_000).events[-1]
        assert isinstance(event, TimerExpired)
        assert (event.expires_at, event.current_height) == (2, 3)
