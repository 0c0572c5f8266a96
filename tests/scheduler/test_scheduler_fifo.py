"""The policy `fifo` rule by rule."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler import (
    MAX_U63,
    AlreadyCollected,
    Basefees,
    DeferralReason,
    DeferredSummary,
    GasLimitTooHigh,
    HandlerTooLong,
    HeightNotInFuture,
    InvalidInput,
    Moment,
    PayloadTooLarge,
    RunOutcome,
    ScheduleRequest,
    TimerCancelledInsufficientFunds,
    TimerConfig,
    TimerDeferred,
    TimerExpired,
    TimerFired,
    TooManyTimers,
    TtlTooLong,
    Unauthorized,
    UnknownTimer,
    call_of,
    classify,
    schedule,
)
from tests.support.scheduler_doubles import Bench

ALICE, BOB, CAROL = (bytes([letter]) * 20 for letter in b"abc")
RICH = 10**12


def fired_ids(result):
    return [event.timer_id for event in result.events if isinstance(event, TimerFired)]


def uses(cycles, *, ok=True):
    return lambda timer: RunOutcome(ok, min(cycles, timer.gas_limit), 0, ())


class TestAdmission:
    def test_a_timer_due_now_is_refused_and_one_due_next_is_admitted(self):
        """The due height must be strictly above the present, so nothing runs in the block that made it."""
        bench = Bench()
        bench.moment = bench.at(7)

        with pytest.raises(HeightNotInFuture):
            bench.schedule(ALICE, 7)
        assert bench.tables.timers[bench.schedule(ALICE, 8)].due == 8

    @pytest.mark.parametrize(
        ("options", "error"),
        [
            ({"payload": bytes(1_048_577)}, PayloadTooLarge),
            ({"handler": "h" * 257}, HandlerTooLong),
            ({"handler": "\u00e9" * 129}, HandlerTooLong),
            ({"handler": "\ud800"}, InvalidInput),
            ({"gas_limit": 550_001}, GasLimitTooHigh),
            ({"gas_limit": -1}, InvalidInput),
            ({"expires_at": 2_592_001}, TtlTooLong),
            ({"expires_at": -1}, InvalidInput),
            ({"due": MAX_U63 + 1}, InvalidInput),
            ({"fee_payer": BOB}, InvalidInput),
            ({"fee_payer": bytes(19) + b"\x0f"}, InvalidInput),
        ],
    )
    def test_a_refused_request_leaves_nothing_behind(self, options, error):
        """Each limit has its named error, and the actor's counter does not move."""
        bench = Bench()
        request = {"actor": ALICE, "sender": ALICE, "nonce": 0, "due": 5, "payload": b""} | options

        with pytest.raises(error):
            schedule(bench.context, ScheduleRequest(**request))
        assert not bench.tables.timers
        assert bench.tables.scheduled_timers(ALICE) == 0

    def test_limits_are_inclusive(self):
        """Payload, handler, gas limit and expiry may be exactly at their limits."""
        bench = Bench()

        bench.schedule(ALICE, 5, bytes(1_048_576), handler="h" * 256, gas_limit=550_000, expires_at=2_592_000)

        assert len(bench.tables.timers) == 1

    def test_defaults_are_the_actor_the_lower_cap_and_the_longest_life(self):
        """A default gas limit never exceeds the lane, or the head would block it for ever."""
        bench = Bench(TimerConfig(lane_timer_cycles=1_000))
        timer = bench.tables.timers[bench.schedule(ALICE, 5)]

        assert (timer.fee_payer, timer.gas_limit, timer.gas_limit_is_default) == (ALICE, 1_000, True)
        assert timer.expires_at == 2_592_000
        with pytest.raises(GasLimitTooHigh):
            bench.schedule(ALICE, 5, gas_limit=1_001)

    def test_the_cap_counts_live_timers_after_own_cancels(self):
        """A cancel frees a place at once."""
        bench = Bench(TimerConfig(max_timers_per_actor=1))
        first = bench.schedule(ALICE, 5)

        with pytest.raises(TooManyTimers):
            bench.schedule(ALICE, 5)
        bench.cancel_timer(ALICE, first)
        bench.schedule(ALICE, 5)
        bench.schedule(BOB, 5)
        assert len(bench.tables.timers) == 2

    def test_equal_requests_get_different_identifiers(self):
        """The actor's counter is part of the identifier, so handlers without a nonce do not collide."""
        bench = Bench()

        assert bench.schedule(ALICE, 5) != bench.schedule(ALICE, 5)

    def test_the_sender_may_pay(self):
        """The fee payer may be the transaction's sender."""
        bench = Bench()
        event = schedule(bench.context, ScheduleRequest(ALICE, BOB, 0, 5, b"", fee_payer=BOB))[0]

        assert event.fee_payer == BOB


class TestChangesByTheOwner:
    def test_only_the_owner_cancels_and_extends(self):
        """Any other caller gets Unauthorized, whether paying or not."""
        bench = Bench()
        timer = bench.schedule(ALICE, 5)

        with pytest.raises(Unauthorized):
            bench.cancel_timer(BOB, timer)
        with pytest.raises(Unauthorized):
            bench.extend_timer(BOB, timer, 50)
        assert bench.cancel_timer(ALICE, timer).timer_id == timer
        with pytest.raises(UnknownTimer):
            bench.cancel_timer(ALICE, timer)

    def test_a_collected_timer_can_no_longer_be_changed(self):
        """A handler of the phase comes too late for every timer on the list, and in time for those not yet due."""
        bench = Bench()
        first, second, later = bench.schedule(ALICE, 5), bench.schedule(ALICE, 5), bench.schedule(ALICE, 6)

        def run(timer):
            if timer.timer_id == first:
                with pytest.raises(AlreadyCollected):
                    bench.cancel_timer(ALICE, second)
                with pytest.raises(AlreadyCollected):
                    bench.extend_timer(ALICE, second, 99)
                bench.cancel_timer(ALICE, later)
            return RunOutcome(True, 0, 0, ())

        assert fired_ids(bench.run(5, run)) == [first, second]
        assert not bench.tables.timers

    def test_expired_stays_expired(self):
        """An expired timer that still waits for removal cannot be extended back to life."""
        bench = Bench(TimerConfig(gc_lane_paused=True))
        timer = bench.schedule(ALICE, 1, expires_at=2)
        bench.run(3)

        with pytest.raises(InvalidInput, match="expired"):
            bench.extend_timer(ALICE, timer, 50)


class TestExecutionLane:
    def test_the_head_blocks_what_comes_after_it(self):
        """A smaller timer does not pass one whose limit does not fit: strictly first in, first out."""
        bench = Bench(TimerConfig(lane_timer_cycles=100))
        big, bigger, small = (bench.schedule(ALICE, 1, gas_limit=limit) for limit in (60, 50, 10))
        first = bench.run(1, uses(60))

        assert fired_ids(first) == [big]
        assert first.waiting_live == 2
        assert fired_ids(bench.run(2, uses(60))) == [bigger, small]

    def test_the_lane_is_gated_by_limits_and_accounted_by_use(self):
        """Cycles that a handler does not use are there for the next one."""
        bench = Bench(TimerConfig(lane_timer_cycles=100))
        for _ in range(5):
            bench.schedule(ALICE, 1, gas_limit=60)
        result = bench.run(1, uses(20))

        assert result.fired == 3
        assert result.lane_cycles == 60

    def test_older_heights_come_first_and_waiting_does_not_change_places(self):
        """A waiting timer keeps its place before all that become due later."""
        bench = Bench(TimerConfig(lane_timer_cycles=10))
        late, early_a, early_b = bench.schedule(ALICE, 2), bench.schedule(BOB, 1), bench.schedule(ALICE, 1)

        assert fired_ids(bench.run(1, uses(10))) == [early_a]
        assert fired_ids(bench.run(2, uses(10))) == [early_b]
        assert fired_ids(bench.run(3, uses(10))) == [late]

    def test_a_limit_above_a_lowered_lane_is_passed_over(self):
        """It waits without blocking, with its own reason, until its time to live ends."""
        bench = Bench()
        huge = bench.schedule(ALICE, 1, gas_limit=500, expires_at=2)
        small = bench.schedule(ALICE, 1, gas_limit=50)
        bench.config = TimerConfig(lane_timer_cycles=100)
        first = bench.run(1)

        assert fired_ids(first) == [small]
        assert TimerDeferred(huge, DeferralReason.OVER_CAP) in first.events
        assert first.events[-1] == DeferredSummary(((DeferralReason.OVER_CAP, 1),))
        assert not any(isinstance(event, TimerDeferred) for event in bench.run(2).events)
        assert bench.run(3).events == (TimerExpired(huge, 2, 3),)

    def test_a_paused_lane_fires_nothing_not_even_what_costs_nothing(self):
        """A paused execution lane has no budget; the GC lane goes on."""
        bench = Bench(TimerConfig(execution_lane_paused=True))
        bench.schedule(ALICE, 1, gas_limit=0)
        bench.schedule(ALICE, 1, expires_at=1)
        result = bench.run(2)

        assert (result.fired, result.waiting_live, result.expired) == (0, 1, 1)

    def test_a_deferral_is_told_once(self):
        """TimerDeferred comes at the first attempt; later blocks only count."""
        bench = Bench(TimerConfig(execution_lane_paused=True))
        timer = bench.schedule(ALICE, 3)
        summary = DeferredSummary(((DeferralReason.LANE_FULL, 1),))

        assert bench.run(3).events == (TimerDeferred(timer, DeferralReason.LANE_FULL), summary)
        assert bench.run(4).events == (summary,)
        assert bench.run(4, parent=4).events == (summary,)

    def test_missed_slots_are_all_attempted_for_the_first_time(self):
        """After an outage every timer due since the parent's slot is newly due."""
        bench = Bench(TimerConfig(execution_lane_paused=True))
        old, *missed = [bench.schedule(ALICE, due) for due in (3, 4, 9, 10)]
        bench.run(3)
        result = bench.run(10, parent=3)

        assert [event.timer_id for event in result.events if isinstance(event, TimerDeferred)] == missed
        assert old not in missed

    def test_a_reschedule_from_the_handler_does_not_run_in_the_same_block(self):
        """The list is built first, and a handler finds its own place under the cap free."""
        bench = Bench(TimerConfig(max_timers_per_actor=1))
        bench.schedule(ALICE, 1)

        def again(timer):
            bench.schedule(ALICE, bench.moment.now + 1)
            return RunOutcome(True, 0, 0, ())

        assert [bench.run(height, again).fired for height in (1, 2, 3)] == [1, 1, 1]

    def test_a_revert_pays_for_its_cycles_and_is_gone(self):
        """A reverted fire burns the gas used, gets the rest back and leaves through the same exit."""
        bench = Bench(TimerConfig(max_cells_per_fire=10), cycle=3, cell=5)
        bench.ledger.balances[ALICE] = RICH
        bench.schedule(ALICE, 1, gas_limit=100)
        result = bench.run(1, uses(40, ok=False))

        assert (result.fired, result.reverted, result.burned) == (1, 1, 120)
        assert bench.ledger.balance(ALICE) == RICH - 120
        assert bench.ledger.burned == 120
        assert not bench.tables.timers


class TestGarbageLane:
    def test_a_storm_of_dead_timers_does_not_crowd_out_live_ones(self):
        """The budgets are independent: a live timer behind a thousand dead ones fires at once."""
        bench = Bench(TimerConfig(gc_cycles_per_block=1_000))
        for _ in range(1_000):
            bench.schedule(ALICE, 1, expires_at=1)
        live = bench.schedule(BOB, 2)
        result = bench.run(2)

        assert fired_ids(result) == [live]
        assert (result.expired, result.waiting_dead, result.gc_cycles) == (5, 995, 1_000)

    def test_dead_timers_leave_in_waiting_order(self):
        """First in, first out holds for removals too."""
        bench = Bench(TimerConfig(gc_cycles_per_block=400))
        late = bench.schedule(ALICE, 2, expires_at=2)
        early = [bench.schedule(ALICE, 1, expires_at=1) for _ in range(3)]

        assert [event.timer_id for event in bench.run(3).events] == early[:2]
        assert [event.timer_id for event in bench.run(4).events] == [early[2], late]

    def test_expiry_goes_before_insolvency(self):
        """A timer that is both leaves as expired."""
        bench = Bench(cycle=1)
        timer = bench.schedule(ALICE, 1, expires_at=1)

        assert bench.run(2).events == (TimerExpired(timer, 1, 2),)

    def test_an_insolvent_timer_leaves_with_its_cost_and_the_balance(self):
        """The event has the greatest cost and the balance."""
        bench = Bench(TimerConfig(max_cells_per_fire=7), cycle=2, cell=10)
        bench.ledger.balances[ALICE] = 269
        timer = bench.schedule(ALICE, 1, gas_limit=100)

        assert bench.run(1).events == (TimerCancelledInsufficientFunds(timer, ALICE, 270, 269),)
        assert bench.ledger.balance(ALICE) == 269

    @pytest.mark.parametrize(("gc_budget", "is_left"), [(1, False), (0, True)])
    def test_a_candidate_insolvent_at_settlement_needs_gc_budget_to_leave(self, gc_budget, is_left):
        """It does not fire and does not block; without GC budget it waits for the next block."""
        bench = Bench(TimerConfig(gc_cycles_per_block=200 * gc_budget, max_cells_per_fire=0), cycle=1)
        bench.ledger.balances |= {ALICE: 150, BOB: RICH}
        first, second, other = [bench.schedule(actor, 1, gas_limit=100) for actor in (ALICE, ALICE, BOB)]
        result = bench.run(1, uses(100))

        assert fired_ids(result) == [first, other]
        assert (second in bench.tables.timers) is is_left
        assert result.waiting_dead == is_left
        assert result.insolvent == gc_budget

    def test_the_gc_budget_is_shared_by_both_kinds_of_removal(self):
        """Dead timers take the budget before a candidate that became insolvent."""
        bench = Bench(TimerConfig(gc_cycles_per_block=200, max_cells_per_fire=0), cycle=1)
        bench.ledger.balances[ALICE] = 150
        bench.schedule(BOB, 1, expires_at=1, gas_limit=1)
        for _ in range(2):
            bench.schedule(ALICE, 2, gas_limit=100)
        result = bench.run(2, uses(100))

        assert (result.expired, result.insolvent, result.waiting_dead) == (1, 0, 1)
        assert result.gc_cycles == 200


class TestPayloadConvention:
    @pytest.mark.parametrize(
        ("payload", "expected"),
        [
            (b' \n{"_handler": "tick", "_payload": ""}', ("tick", b"")),
            (b'{"_handler": "tick", "_payload": "aGk=", "more": [1]}', ("tick", b"hi")),
            (b'{"_handler": "tick", "_payload": "aGl="}', None),
            (b'{"_handler": "tick", "_payload": "aG k="}', None),
            (b'{"_handler": "tick", "_payload": "\\u00e9"}', None),
            (b'{"_handler": 7, "_payload": "aGk="}', None),
            (b'{"_handler": "' + b"h" * 257 + b'", "_payload": "aGk="}', None),
            (b'["_handler", "_payload"]', None),
            (b'{"_handler": "\xff", "_payload": "aGk="}', None),
            (b'{"_handler": "tick", "_payload": "aGk=", "x": ' + b"[" * 64 + b"]" * 64 + b"}", None),
            (b"{" * 100_000, None),
        ],
    )
    def test_only_two_strings_and_canonical_base64_name_a_handler(self, payload, expected):
        """Everything else, hostile nesting included, is delivered to the default handler as it is."""
        bench = Bench()
        timer = bench.tables.timers[bench.schedule(ALICE, 1, payload)]

        assert call_of(timer) == (expected or ("handle_timer", payload))

    def test_an_explicit_handler_gets_the_raw_payload(self):
        """The convention is for timers that name no handler."""
        bench = Bench()
        payload = b'{"_handler": "tick", "_payload": "aGk="}'
        timer = bench.tables.timers[bench.schedule(ALICE, 1, payload, handler="own")]

        assert call_of(timer) == ("own", payload)

    @given(st.binary(max_size=200))
    def test_no_payload_raises(self, payload):
        """Arbitrary bytes resolve to something."""
        bench = Bench()
        timer = bench.tables.timers[bench.schedule(ALICE, 1, payload)]

        assert call_of(timer)[0]


def test_classification_asks_for_each_payer_once():
    """Balances are looked up once for each payer, however many timers it has."""
    bench = Bench(cycle=1)
    for _ in range(50):
        bench.schedule(ALICE, 1)
        bench.schedule(BOB, 1)
    asked = []
    bench.ledger.balance = lambda address: asked.append(address) or 0

    classes = classify(
        bench.tables.collect(1), now=1, config=bench.config, basefees=Basefees(1, 1), ledger=bench.ledger
    )

    assert len(classes.dead) == 100
    assert asked == [ALICE, BOB]


def test_the_present_follows_the_timebase():
    """Height time counts blocks, slot time counts slots, and the parent's present goes with it."""
    by_height, by_slot = (Moment(5, 40, 31, timebase) for timebase in ("height", "slot"))

    assert (by_height.now, by_height.parent_now) == (5, 4)
    assert (by_slot.now, by_slot.parent_now) == (40, 31)
