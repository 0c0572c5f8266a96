"""The bias auction in calls and in its timer phase: rows D-1 to D-12 of the rules, each by its name."""

from fractions import Fraction
from types import SimpleNamespace

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler import (
    POLICIES,
    BiasWindowClosed,
    Bid,
    BidLocked,
    Carry,
    GbaFailure,
    LaneConfig,
    RunOutcome,
    ScheduleRequest,
    TimerCancelledInsufficientFunds,
    TimerExpired,
    TimerFired,
)
from scheduler.bias import bias
from scheduler.bias_records import BIAS_WINDOW, SLOT_ROW, BiasBooks, BiasConfig, BiasWindow, SlotRow
from scheduler.bias_waits import WaitClock
from scheduler.errors import AgentFailed, BidBelowReserve, BidNotCovered, InvalidInput
from scheduler.gba_records import AuctionConfig
from scheduler.policies.bias_auction import BiasAuction
from tests.support.auction_bench import deferred, fired, held
from tests.support.bias_bench import PROPOSER, bias_bench

A, B, C = (bytes([byte]) * 20 for byte in (0xAA, 0xBB, 0xCC))
AGENT = b"\x77" * 20
RICH = 10**12
WATCHED = b"\x01" * 32


def auction(budget=1_000_000, **options):
    """Return a chain in which cells cost nothing, the loop is off, and three actors are rich."""
    bench = bias_bench(budget, **options)
    bench.ledger.balances.update({A: RICH, B: RICH, C: RICH})
    return bench


def request_of(actor, due=5, **options):
    return ScheduleRequest(actor=actor, sender=actor, nonce=0, due=due, payload=b"", **options)


def place_of(bench, timer_id):
    return bench.made[timer_id]


def tips(result):
    """Return what each fire paid, in order."""
    return [event.tip for event in result.events if isinstance(event, TimerFired)]


def total(bench):
    return sum(bench.ledger.balances.values()) + bench.ledger.burned


class TestCalls:
    def test_d9_a_bid_is_locked_in_the_call(self):
        bench = auction()
        timer = bench.timer(A, 5, bid=70)

        assert bench.ledger.balance(A) == RICH - 70
        assert bench.escrowed == (70, 70)
        assert bench.tables.timers[timer].quote is None

    def test_d9_an_event_tells_of_the_bid_and_of_none_of_zero(self):
        bench = auction()
        policy = bench.policy
        told = [policy.admit(request_of(A, bid=bid)).events[1:] for bid in (70, 0, None)]

        assert [[type(event) for event in events] for events in told] == [[BidLocked], [], []]
        assert (told[0][0].fee_payer, told[0][0].bid) == (A, 70)

    @pytest.mark.parametrize("bid", [1, 9])
    def test_d7_a_bid_between_nothing_and_the_reserve_is_refused(self, bid):
        with pytest.raises(BidBelowReserve):
            auction().timer(A, bid=bid)

    def test_d9_a_bid_that_the_payer_has_not_is_refused(self):
        bench = auction()
        bench.timer(A, bid=RICH)

        with pytest.raises(BidNotCovered):
            bench.timer(A, bid=10)

    def test_d12_the_agent_bids_once_in_the_call(self):
        bench = auction(cycle=3, cell=4)
        bench.agents[AGENT] = (0, 7, 0, 500)
        policy, request = bench.policy, request_of(A, due=9, fees=Bid(gba=AGENT), bid=None)
        admission = policy.admit(request)

        assert policy.cycles_to_admit(request) == 10_000
        assert (admission.bid, admission.timer.gas_limit, admission.timer.quote) == (3_500, 500, None)
        assert bench.contexts == [[9, 0, 3, 4, 10, RICH]]

    def test_d12_what_a_call_states_goes_before_the_answer(self):
        bench = auction()
        bench.agents[AGENT] = (0, 7, 0, 500)
        asked = [
            bench.policy.admit(request_of(A, fees=Bid(gba=AGENT), **stated))
            for stated in ({"bid": 90}, {"bid": None, "gas_limit": 20}, {"bid": 90, "gas_limit": 20})
        ]

        assert [(one.bid, one.timer.gas_limit) for one in asked] == [(90, 500), (140, 20), (90, 20)]
        assert len(bench.contexts) == 2
        assert bench.policy.cycles_to_admit(request_of(A, fees=Bid(gba=AGENT), bid=1, gas_limit=2)) == 0

    @pytest.mark.parametrize("answer", [GbaFailure.OVERRUN, b"\xc1", (0, -1, 0, 0), (0, 1, 2)])
    def test_d12_an_agent_without_an_answer_refuses_the_call(self, answer):
        bench = auction()
        bench.agents[AGENT] = answer

        with pytest.raises(AgentFailed):
            bench.policy.admit(request_of(A, fees=Bid(gba=AGENT), bid=None))


class TestWalk:
    def test_d1_no_bid_outranks_a_long_wait(self):
        """A timer without a bid fires in the block of which N_max speaks, against a rival in each block before."""
        bench = auction(100)
        waits = bench.timer(A, 1, gas_limit=100)
        for height in range(1, 60):
            bench.moment = bench.at(height - 1)
            bench.timer(B, height, bid=100, gas_limit=100)
            if waits in fired(bench.run(height)):
                break

        assert height == 1 + 47

    @given(
        timers=st.lists(st.tuples(st.integers(1, 9), st.integers(0, 60), st.integers(0, 400)), min_size=1, max_size=12),
        lambda_=st.sampled_from([1_000, 100_000, 1_000_000]),
    )
    def test_d2_the_order_is_the_plain_sort_by_exact_scores(self, timers, lambda_):
        bench = auction(10**7, own={"bias_lambda": lambda_, "reserve": 0})
        made = {bench.carried(A, due, bid, gas_limit=gas): (due, bid, gas) for due, bid, gas in timers}

        def rank(timer_id):
            due, bid, gas = made[timer_id]
            return -Fraction(bid * 10**18 + bias(9 - due, lambda_), max(gas, 1))

        assert fired(bench.run(9)) == sorted(made, key=lambda each: (rank(each), place_of(bench, each)))

    def test_d4_caps_and_budget_hold_together(self):
        bench = auction(2_500, own={"max_fires_per_actor": 2, "max_fires_per_block": 3, "reserve": 0})
        timers = [
            bench.timer(actor, bid=bid, gas_limit=gas)
            for actor, bid, gas in [(A, 50, 1_000), (A, 49, 1_000), (A, 48, 1_000), (B, 20, 1_000), (C, 4, 500)]
        ]
        result = bench.run(1)

        assert fired(result) == [timers[0], timers[1], timers[4]]
        assert deferred(result) == {timers[2]: "actor_cap", timers[3]: "lane_full"}

    def test_d4_room_goes_by_limits_and_not_by_use(self):
        bench = auction(1_000)
        bench.timer(A, gas_limit=600)
        bench.timer(A, gas_limit=600)
        result = bench.run(1, lambda timer: RunOutcome(True, 1, 0, ()))

        assert (len(fired(result)), held(result)) == (1, {"lane_full": 1})

    def test_d4_a_full_block_holds_back_what_would_fit(self):
        bench = auction(own={"max_fires_per_block": 2})
        timers = [bench.timer(actor, bid=bid, gas_limit=100) for actor, bid in ((A, 90), (B, 80), (C, 70))]

        assert deferred(bench.run(1)) == {timers[2]: "block_cap"}

    def test_a_paused_lane_fires_nothing_and_waits_grow(self):
        bench = auction(config={"execution_lane_paused": True})
        bench.timer(A, 1)

        assert held(bench.run(1)) == {"lane_full": 1}

    def test_a_limit_above_a_lowered_lane_waits_as_over_the_cap(self):
        bench = auction(100)
        timer = bench.carried(A, 1, gas_limit=90)
        bench.config = msgspec.structs.replace(bench.config, lane_timer_cycles=80)
        result = bench.run(1)

        assert (deferred(result), result.waiting_live) == ({timer: "over_cap"}, 1)


class TestPayments:
    @pytest.mark.parametrize(
        ("rule", "paid"),
        [("vcg-literal", [49, 49]), ("vcg-critical", [50, 50]), ("first-price", [100, 80])],
    )
    def test_d5_winners_pay_what_the_runner_up_sets(self, rule, paid):
        bench = auction(200, own={"payment": rule})
        for actor, bid in ((A, 100), (B, 80), (C, 50)):
            bench.timer(actor, bid=bid, gas_limit=100)
        result = bench.run(1)

        assert tips(result) == paid
        assert bench.ledger.balance(PROPOSER) == result.tips == sum(paid)
        assert bench.escrowed == (50, 50)

    def test_d5_who_is_out_for_its_actors_cap_sets_no_price(self):
        bench = auction(200, own={"payment": "vcg-critical", "max_fires_per_actor": 1})
        for actor, bid in ((A, 100), (A, 90), (B, 80), (C, 50)):
            bench.timer(actor, bid=bid, gas_limit=100)

        assert tips(bench.run(1)) == [50, 50]

    def test_d5_nobody_pays_more_than_its_bid(self):
        bench = auction(2_500, own={"max_fires_per_actor": 2, "reserve": 0})
        for actor, bid, gas in [(A, 50, 1_000), (A, 49, 1_000), (A, 48, 1_000), (B, 20, 1_000), (C, 4, 500)]:
            bench.timer(actor, bid=bid, gas_limit=gas)

        assert tips(bench.run(1)) == [19, 19, 4]

    def test_d6_by_first_price_the_bid_is_paid(self):
        bench = auction(own={"payment": "first-price"})
        bench.timer(A, bid=70, gas_limit=100)
        bench.timer(B, bid=0, gas_limit=100)

        assert tips(bench.run(1)) == [70, 0]

    def test_d7_the_reserve_is_paid_where_nobody_is_left_out(self):
        bench = auction()
        bench.timer(A, bid=70, gas_limit=100)
        bench.timer(B, bid=0, gas_limit=100)

        assert tips(bench.run(1)) == [10, 0]

    def test_d5_payments_come_after_the_last_run(self):
        """A handler sees neither a payment nor a returned bid, and every winner was charged before the first ran."""
        bench = auction(cycle=2)
        seen = []
        for actor in (A, B):
            bench.timer(actor, bid=100, gas_limit=100)

        def run(timer):
            seen.append([bench.ledger.balance(address) for address in (A, B, PROPOSER)])
            return RunOutcome(True, 10, 0, ())

        bench.run(1, run)
        spent = RICH - 100 - 200
        assert seen == [[spent, spent, 0], [spent + 180, spent, 0]]
        assert [bench.ledger.balance(address) for address in (A, B, PROPOSER)] == [RICH - 20 - 10, RICH - 20 - 10, 20]


class TestExits:
    def test_d9_the_bid_goes_back_whole_by_every_other_exit(self):
        bench = auction(100, cycle=1)
        before = total(bench)
        bench.ledger.balances[C] = 50
        by_owner, by_governance = bench.timer(A, 3, bid=20), bench.timer(A, 3, bid=30)
        expires, insolvent = bench.timer(B, 3, bid=40, expires_at=3), bench.timer(C, 4, bid=50, gas_limit=100)
        policy = bench.policy
        policy.cancel(A, by_owner)
        policy.cancel_by_governance(by_governance)
        result = bench.run(4)

        assert [type(event) for event in result.events] == [TimerExpired, TimerCancelledInsufficientFunds]
        assert [bench.ledger.balance(address) for address in (A, B, C)] == [RICH, RICH, 50]
        assert bench.escrowed == (0, 0)
        assert {expires, insolvent}.isdisjoint(bench.tables.timers)
        assert total(bench) == before - RICH + 50

    def test_q46_the_insolvent_set_no_price_and_take_no_room(self):
        bench = auction(200, cycle=1, own={"payment": "vcg-critical"})
        bench.ledger.balances[C] = 90
        broke = bench.timer(C, bid=90, gas_limit=100)
        for actor, bid in ((A, 80), (B, 70), (A, 60)):
            bench.timer(actor, bid=bid, gas_limit=100)
        result = bench.run(1)

        assert broke not in fired(result)
        assert (tips(result), result.insolvent, bench.ledger.balance(C)) == ([60, 60], 1, 90)

    def test_q46_without_gc_budget_the_insolvent_wait_as_dead(self):
        bench = auction(200, cycle=1, config={"gc_lane_paused": True})
        bench.ledger.balances[C] = 90
        bench.timer(C, bid=90, gas_limit=100)
        result = bench.run(1)

        assert (result.waiting_live, result.waiting_dead, result.insolvent, bench.escrowed) == (0, 1, 0, (90, 90))
        assert held(result) == deferred(result) == {}

    @given(
        timers=st.lists(
            st.tuples(
                *(st.sampled_from([A, B, C]), st.integers(10, 60), st.integers(0, 300), st.integers(1, 6)),
                st.sampled_from(["stays", "stays", "owner", "governance", "watches"]),
            ),
            min_size=1,
            max_size=14,
        ),
        rule=st.sampled_from(["vcg-literal", "vcg-critical", "first-price"]),
        poor=st.integers(0, 2_000),
    )
    def test_money_is_conserved_to_the_unit_through_every_exit(self, timers, rule, poor):
        bench = auction(
            300, cycle=2, own={"payment": rule, "max_fires_per_actor": 2}, config={"gc_cycles_per_block": 400}
        )
        bench.ledger.balances[C] = poor
        before = total(bench)
        for actor, bid, gas, expires_at, fate in timers:
            if bench.ledger.balance(actor) < bid:
                continue
            if fate == "watches":
                bench.watching(actor, WATCHED, bid=bid, gas_limit=gas, expires_at=expires_at)
                continue
            timer_id = bench.timer(actor, 1 + gas % 3, bid=bid, gas_limit=gas, expires_at=expires_at)
            if fate == "owner":
                bench.policy.cancel(actor, timer_id)
            elif fate == "governance":
                bench.policy.cancel_by_governance(timer_id)
        for height in range(1, 9):
            bench.changed = (WATCHED,) if height == 3 else ()
            bench.run(height, lambda timer: RunOutcome(bool(timer.gas_limit % 2), timer.gas_limit // 2, 0, ()))

            assert total(bench) == before
            assert len(set(bench.escrowed)) == 1


class TestWaits:
    def test_q45_a_block_that_serves_many_slots_counts_once(self):
        bench = auction(100, timebase="slot", config={"execution_lane_paused": True})
        bench.timer(A, 5, gas_limit=100)
        bench.timer(B, 30, gas_limit=100)
        bench.run(2, slot=9, parent_slot=4)
        bench.run(3, slot=40, parent_slot=9)
        bench.run(4, slot=40, parent_slot=40)

        assert bench.state.of(SLOT_ROW) == [SlotRow(9, 2, 0), SlotRow(40, 3, 0)]
        clock = wait_clock(bench)
        assert [clock.waited(due_at(due)) for due in (5, 9, 10, 30, 40)] == [2, 2, 1, 1, 1]

    def test_q45_rows_go_with_the_oldest_timer_that_waits(self):
        bench = auction(100, timebase="slot")
        for due in (1, 2, 3):
            bench.timer(A, due, gas_limit=60)
        rows = []
        for height in (1, 2, 3, 4):
            bench.run(height)
            rows.append([row.slot for row in bench.state.of(SLOT_ROW)])

        assert rows == [[], [], [], []]
        for due in (6, 6, 6):
            bench.timer(A, due, gas_limit=60)
        for height in (6, 7, 8):
            bench.run(height)
            rows.append([row.slot for row in bench.state.of(SLOT_ROW)])
        assert rows[4:] == [[6], [6, 7], []]

    @pytest.mark.parametrize(("activated_at", "waited"), [(1, 6), (5, 3)])
    def test_q45_waits_begin_with_the_activation(self, activated_at, waited):
        bench = auction(activated_at=activated_at)
        bench.moment = bench.at(8)

        assert wait_clock(bench).waited(due_at(2)) == waited

    @pytest.mark.parametrize("is_anybody_waiting", [False, True])
    def test_k45_a_wait_starts_at_the_hit_whoever_else_waits(self, is_anybody_waiting):
        """Two blocks share a slot, and the second one triggers; the row of the first is kept for who waited since."""
        bench = auction(100, timebase="slot", config={"execution_lane_paused": True})
        bench.watching(A, WATCHED, gas_limit=100)
        if is_anybody_waiting:
            bench.timer(B, 8, gas_limit=90)
        bench.run(2, slot=9, parent_slot=7)
        bench.changed = (WATCHED,)
        bench.run(3, slot=9, parent_slot=9)
        bench.changed = ()
        bench.run(4, slot=9, parent_slot=9)

        clock = wait_clock(bench)
        waits = {timer.actor: clock.waited(timer) for timer in bench.tables.timers.values()}
        assert waits == {A: 1, **({B: 2} if is_anybody_waiting else {})}

    def test_k45_each_block_of_a_slot_starts_the_waits_of_its_own_hits(self):
        """Also where the slot's bucket has been emptied, and begins again at its first place."""
        bench = auction(timebase="slot")

        def block(height, first=None):
            bench.moment = bench.at(height, slot=9, parent_slot=7)
            clock = wait_clock(bench)
            clock.open()
            if first is not None:
                clock.note_triggers(first)
            return [height - clock.waited(due_at(*place)) for place in ((7, 5), (9, 0), (9, 5), (9, 6))]

        assert block(2, 1) == [2, 2, 2, 2]
        assert block(3, 5) == [2, 2, 3, 3]
        assert block(4, 6) == block(5) == [2, 2, 3, 4]
        assert block(6, 0) == [2, 6, 6, 6]


def due_at(due, sequence=0):
    """Return a timer at this place."""
    return SimpleNamespace(due=due, sequence=sequence)


def wait_clock(bench):
    return WaitClock(bench.state, bench.moment, bench.activated_at)


class TestLoop:
    def test_d3_lambda_falls_and_rises_by_its_window(self):
        """Of two windows of three blocks, the first has long waits, and in the second the bias outgrows values."""
        own = {"lambda_window_blocks": 3, "target_wait": 1, "value_decay": (1, 1)}
        bench = auction(100, own=own, config={"execution_lane_paused": True})
        bench.timer(A, 1, gas_limit=100)
        told = [event for height in (1, 2, 3) for event in bench.run(height).events]

        assert [event for event in told if isinstance(event, BiasWindowClosed)] == [
            BiasWindowClosed(0, 2, 100_000, 112_500)
        ]
        bench.own = msgspec.structs.replace(bench.own, value_decay=(1, 100))
        for height in (4, 5, 6):
            bench.run(height)
        assert bench.books == BiasBooks(98_437, 100_000, 2, 7)
        assert bench.state.of(BIAS_WINDOW)[1] == BiasWindow(4, 6, 0, 0, 5, 112_500, 98_437)

    def test_d3_sums_are_of_fires(self):
        bench = auction(100, own={"lambda_window_blocks": 9})
        for _ in range(3):
            bench.timer(A, 1, gas_limit=100)
        for height in (1, 2, 3):
            bench.run(height)

        assert bench.books == BiasBooks(100_000, 100_000, 0, 1, 3, 3, 2)

    @pytest.mark.parametrize(("bound", "found"), [({"lambda_max": 105_000}, 105_000), ({"lambda_min": 95_000}, 95_000)])
    def test_d3_lambda_keeps_its_bounds(self, bound, found):
        falls = "lambda_min" in bound
        own = {"lambda_window_blocks": 1, "target_wait": 0, "value_decay": (0, 1) if falls else (9, 1), **bound}
        bench = auction(own=own, config={"execution_lane_paused": True})
        bench.timer(A, 1)
        bench.run(4)

        assert bench.books.lambda_ == found

    def test_d3_another_start_by_governance_counts_at_once(self):
        bench = auction(own={"lambda_window_blocks": 5})
        bench.run(1)
        bench.own = msgspec.structs.replace(bench.own, bias_lambda=200_000)
        bench.run(2)

        assert bench.books == BiasBooks(200_000, 200_000, 0, 1)

    def test_d3_a_loop_that_is_off_keeps_lambda(self):
        bench = auction(100, own={"target_wait": 0})
        bench.timer(A, 1)
        bench.run(9)

        assert bench.books == BiasBooks(100_000, 100_000, 0, 10)


def test_every_pair_of_policies_says_what_becomes_of_timers():
    followers = [name for name, policy in POLICIES.items() if isinstance(policy().carry(BiasAuction()), Carry)]
    previous = [name for name, policy in POLICIES.items() if isinstance(BiasAuction().carry(policy()), Carry)]

    assert (followers, previous) == (["fifo", "eip1559"], ["fifo", "fifo-free"])


def test_parameters_have_keys_of_their_own():
    kinds = AuctionConfig, BiasConfig, LaneConfig
    keys = [kind.key_of(field) for kind in kinds for field in kind.__struct_fields__]

    assert len(keys) == len(set(keys))


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"bias_lambda": 999}, "bias_lambda: 999 must be within lambda_min and lambda_max, 1000 and 1000000"),
        ({"lambda_max": 80_000_001}, "lambda_max: 80000001 must be at most 80000000"),
        ({"max_fires_per_block": 0}, "max_fires_per_block: 0 must be above 0"),
        ({"value_decay": (1, 0)}, "value_decay: .* must be two numbers"),
        ({"reserve": -1}, "reserve: -1 must be within"),
    ],
)
def test_parameters_that_no_chain_can_run_on_are_refused(wrong, words):
    with pytest.raises(InvalidInput, match=words):
        BiasConfig(**wrong)
