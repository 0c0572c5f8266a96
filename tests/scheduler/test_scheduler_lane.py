"""The lane's rules one by one: bids, agents, the GC cursor, and what must hold whatever happens."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler import (
    Bid,
    FeeParams,
    GbaFailed,
    GbaFailure,
    InvalidInput,
    LaneConfig,
    RunOutcome,
    Timer,
    TimerArgDeprecated,
    TimerConfig,
    TimerDeferred,
    TimerExpired,
    TimerFired,
    TimerRejectedBelowBasefee,
)
from scheduler.fairness import read_weights
from scheduler.fee_market import next_lane_basefee
from scheduler.types import MAX_U63, Quote
from tests.support.lane_doubles import PROPOSER, LaneBench, free
from tests.support.properties import examples
from tests.support.scheduler_doubles import Bench

ALICE, BOB = b"\xaa" * 20, b"\xbb" * 20
AGENT = b"\x99" * 20
RICH = 10**15


def make_bench(config=None, lane=None, **options):
    bench = LaneBench(config or free(), lane, **({"basefee": 1_000, "p50": 40} | options))
    bench.ledger.balances = {ALICE: RICH, BOB: RICH}
    return bench


def quote_of(bench, events):
    return bench.tables.timers[events[0].timer_id].quote


class TestBids:
    def test_defaults_are_frozen_at_scheduling(self):
        """Twice the lane price and the median tip of the block that schedules."""
        bench = make_bench()

        assert quote_of(bench, bench.bid(ALICE, 5)) == Quote(2_000, 40)

    def test_defaults_are_left_open_where_they_are_taken_at_the_fire(self):
        """Each is open by itself; what is stated stays stated."""
        bench = make_bench(lane=LaneConfig(default_gba="fire"))

        assert quote_of(bench, bench.bid(ALICE, 5)) == Quote(None, None)
        assert quote_of(bench, bench.bid(ALICE, 6, fee=1_500)) == Quote(1_500, None)
        assert quote_of(bench, bench.bid(ALICE, 7, tip=9_999)) == Quote(None, 9_999)

    def test_explicit_fees_win_over_an_agent(self):
        """An agent that has nothing to decide is not kept."""
        bench = make_bench()

        assert quote_of(bench, bench.bid(ALICE, 5, fee=1_500, tip=3, gba=AGENT)) == Quote(1_500, 3)
        assert quote_of(bench, bench.bid(ALICE, 6, fee=1_500, gba=AGENT)) == Quote(1_500, None, AGENT)
        assert quote_of(bench, bench.bid(ALICE, 7, gba=AGENT)) == Quote(None, None, AGENT)

    def test_a_hint_is_a_stated_tip(self):
        """It stands beside an agent as a stated tip does, and a stated tip goes before it."""
        bench = make_bench()

        assert quote_of(bench, bench.bid(ALICE, 5, tier="urgent", gba=AGENT)) == Quote(None, 100, AGENT)
        assert quote_of(bench, bench.bid(ALICE, 6, tier="fast", tip=1)) == Quote(2_000, 1)

    def test_an_unknown_tier_is_invalid(self):
        """Even beside a stated tip."""
        with pytest.raises(InvalidInput, match="economy, standard, fast, urgent"):
            make_bench().bid(ALICE, 5, tier="cheap", tip=1)

    def test_a_fee_below_the_price_is_refused_beside_an_agent_too(self):
        """The price is that with the lane's multiplier."""
        bench = make_bench(lane=LaneConfig(lane_multiplier=(3, 2)))

        with pytest.raises(TimerRejectedBelowBasefee):
            bench.bid(ALICE, 5, fee=1_499, gba=AGENT)
        assert quote_of(bench, bench.bid(ALICE, 5, fee=1_500, gba=AGENT)) == Quote(1_500, None, AGENT)

    def test_bid_is_ignored_and_later_refused(self):
        """The height of the block decides; outside the lane it is always ignored."""
        bench = make_bench(lane=LaneConfig(bid_deprecation_blocks=10), activated_at=100)
        bench.moment = bench.at(109)
        bench.bid(ALICE, 200, bid=7)
        bench.moment = bench.at(110)

        with pytest.raises(TimerArgDeprecated):
            bench.bid(ALICE, 200, bid=7)
        assert Bench().schedule(ALICE, 5, bid=7, fees=Bid(0, MAX_U63, "no such tier"))

    def test_outside_the_lane_a_timer_has_no_quote(self):
        """And in the lane it is read as twice the first lane basefee, without a tip."""
        outside = Bench()
        timer = outside.tables.timers[outside.schedule(ALICE, 1, fees=Bid(5_000, 50))]
        bench = make_bench()
        bench.tables.insert(timer)

        (event,) = [event for event in bench.run(1).events if isinstance(event, TimerFired)]

        assert timer.quote is None
        assert event.tip == 0

    def test_a_timer_without_a_quote_bids_twice_the_first_basefee(self):
        """Derived on read, it is the same in every block, and its record is never rewritten."""
        outside = Bench()
        timer = outside.tables.timers[outside.schedule(ALICE, 1)]
        bench = make_bench()
        bench.tables.insert(timer)
        bench.lane_tables.left = msgspec.structs.replace(bench.lane_tables.left, basefee=2_001)

        assert TimerDeferred(timer.timer_id, "below_basefee") in bench.run(1).events
        assert bench.tables.timers[timer.timer_id] is timer


class TestAgents:
    def run_two(self, bench, **options):
        """Schedule two timers with an agent, run their block, and return its events."""
        for due in (1, 2):
            bench.bid(ALICE, due, gba=AGENT, gas_limit=1_000, **options)
        return bench.run(2, bench.run_whole, parent=0).events

    def tips(self, events):
        return [event.tip for event in events if isinstance(event, TimerFired)]

    def test_an_answer_prices_the_timer(self):
        """The answer's tip is paid for each cycle used."""
        bench = make_bench()
        bench.agents[AGENT] = FeeParams(5_000, 70, 0, 0)

        assert self.tips(self.run_two(bench)) == [70_000, 70_000]

    def test_an_answer_fills_what_is_open_alone(self):
        """The stated fee leaves room for a tip of 30."""
        bench = make_bench()
        bench.agents[AGENT] = FeeParams(5_000, 70, 0, 0)

        assert self.tips(self.run_two(bench, fee=1_030)) == [30_000, 30_000]

    @pytest.mark.parametrize(
        ("answer", "reason"),
        [
            (GbaFailure.FAILED, "failed"),
            (GbaFailure.OVERRUN, "overrun"),
            (FeeParams(-1, 0, 0, 0), "absurd"),
            (FeeParams(5_000, 70, 0, MAX_U63 + 1), "absurd"),
        ],
    )
    def test_a_failure_gives_default_values_and_an_event(self, answer, reason):
        """Each failing call has its event, before anything else of the phase."""
        bench = make_bench()
        bench.agents[AGENT] = answer

        events = self.run_two(bench)

        assert [(event.reason, event.count) for event in events[:2]] == [(reason, 1)] * 2
        assert self.tips(events) == [40_000, 40_000]

    def test_the_oldest_are_asked_and_the_rest_have_default_values(self):
        """One event says how many were not asked, and names the first."""
        bench = make_bench(lane=LaneConfig(max_gba_calls_per_block=1))
        bench.agents[AGENT] = FeeParams(5_000, 70, 0, 0)

        events = self.run_two(bench)
        first, second = (event.timer_id for event in events if isinstance(event, TimerFired))

        assert bench.asked == [first]
        assert events[0] == GbaFailed(second, "call_limit", 1)
        assert self.tips(events) == [70_000, 40_000]

    def test_who_cannot_have_an_attempt_is_not_asked(self):
        """Neither an expired timer nor one over the cap takes a call from another."""
        bench = make_bench(lane=LaneConfig(max_gba_calls_per_block=1))
        bench.bid(ALICE, 1, gba=AGENT, expires_at=1)
        bench.bid(ALICE, 1, gba=AGENT, gas_limit=250_000)
        (asked, *_) = bench.bid(ALICE, 1, gba=AGENT, gas_limit=1_000)
        bench.lane_config = LaneConfig(max_gba_calls_per_block=1, max_cycles_per_fire_auction_phase=1_000)
        bench.run(2, parent=0)

        assert bench.asked == [asked.timer_id]

    def test_the_context_tells_the_block_and_the_actor(self):
        """Prices with the multiplier, the last block's use and median, and what the timer's actor has."""
        bench = make_bench(lane=LaneConfig(lane_multiplier=(1, 2)), cycle=7, cell=3)
        bench.config = TimerConfig()
        bench.lane_tables.left = msgspec.structs.replace(bench.lane_tables.left, used_cycles=123)
        contexts = []
        bench.agents[AGENT] = lambda context: contexts.append(context) or GbaFailure.FAILED
        bench.bid(ALICE, 4, gba=AGENT)
        bench.run(6, parent=0)

        (context,) = contexts
        assert tuple(getattr(context, name) for name in context.__struct_fields__) == (4, 6, 7, 3, 500, 123, 40, RICH)


class TestCursor:
    def bench(self, scan, **config):
        """Return a chain under the cursor with six timers, the even ones of them expired."""
        bench = make_bench(
            free(execution_lane_paused=True, **config), LaneConfig(classification="cursor", gc_scan_per_block=scan)
        )
        for number in range(6):
            bench.bid(ALICE, 1, expires_at=1 if number % 2 == 0 else 100, gas_limit=1_000)
        return bench

    def removed(self, result):
        return sum(isinstance(event, TimerExpired) for event in result.events)

    def test_the_walk_goes_on_where_it_stopped_and_round(self):
        """Two looks a block find one dead timer each; then the walk begins anew behind the last place."""
        bench = self.bench(2)

        assert [self.removed(bench.run(height)) for height in (2, 3, 4, 5)] == [1, 1, 1, 0]
        assert bench.lane_tables.cursor == (1, 3)

    def test_the_walk_looks_at_no_timer_twice(self):
        """However many it may look at, it goes round once."""
        bench = self.bench(100)

        assert self.removed(bench.run(2)) == 3
        assert bench.lane_tables.cursor == (1, 5)

    def test_the_walk_ends_with_the_budget(self):
        """One removal a block: the cursor stays at it."""
        bench = self.bench(6, gc_cycles_per_block=200)

        assert self.removed(bench.run(2)) == 1
        assert bench.lane_tables.cursor == (1, 0)

    def test_a_paused_gc_lane_looks_at_nothing(self):
        """The cursor does not move, and what is dead waits as dead."""
        bench = self.bench(6, gc_lane_paused=True)
        result = bench.run(2)

        assert bench.lane_tables.cursor is None
        assert (result.waiting_live, result.waiting_dead) == (3, 3)

    def test_an_insolvent_timer_is_found_at_its_turn(self):
        """The cursor did not reach it, and the execution lane removes it with the GC budget."""
        bench = make_bench(lane=LaneConfig(classification="cursor", gc_scan_per_block=0))
        bench.ledger.balances[ALICE] = 0
        bench.bid(ALICE, 1)
        bench.bid(BOB, 1)
        result = bench.run(1)

        assert (result.insolvent, result.fired) == (1, 1)

    @pytest.mark.parametrize("classification", ["eager", "cursor"])
    def test_an_insolvent_timer_that_does_not_fit_ends_no_lane_that_stops(self, classification):
        """It was no candidate from the start: timers after it fire, however and whenever that was found out."""
        configuration = LaneConfig(classification=classification, packing_misfit="stop", gc_scan_per_block=0)
        bench = make_bench(free(lane_timer_cycles=1_500), configuration)
        bench.ledger.balances[ALICE] = 0
        for actor, tip, gas_limit in ((BOB, 300, 1_000), (ALICE, 200, 1_000), (BOB, 100, 400)):
            bench.bid(actor, 1, fee=10_000, tip=tip, nonce=tip, gas_limit=gas_limit)

        assert bench.run(1, bench.run_whole).fired == 2


@pytest.mark.parametrize(
    ("account", "misfit", "fired"),
    [
        ("use", "skip", [400, 350, 200, 60]),
        ("use", "stop", [400, 350, 200]),
        ("limit", "skip", [400, 350, 60]),
        ("limit", "stop", [400, 350]),
    ],
)
def test_room_is_accounted_and_a_misfit_treated_as_two_switches_say(account, misfit, fired):
    """A lane of 900, in the order of the auction: 400 uses 300, 350 uses 300, 200 fits beside what was used alone."""
    bench = make_bench(free(lane_timer_cycles=900), LaneConfig(packing_account=account, packing_misfit=misfit))
    for nonce, gas_limit in enumerate((400, 350, 200, 250, 60)):
        bench.bid(ALICE, 1, fee=2_000, tip=100 - nonce, gas_limit=gas_limit, nonce=nonce)
    ran = []

    def run(timer):
        ran.append(timer.gas_limit)
        return RunOutcome(True, min(timer.gas_limit, 300), 0, ())

    bench.run(1, run)

    assert ran == fired


class TestWhatAlwaysHolds:
    @given(st.integers(8, 2**62), st.integers(0, 10**6), st.sampled_from(("literal", "classic")))
    def test_a_basefee_moves_by_an_eighth_at_most(self, basefee, used, slope):
        """And by one at least above the target; never below the floor, never above the ceiling."""
        config = LaneConfig(min_lane_basefee=8, slope=slope)
        found = next_lane_basefee(basefee, used, 10**6, config)

        assert 8 <= found <= 2**62
        assert abs(found - basefee) <= max(basefee // 8, 1)
        assert (found > basefee) == (used > 500_000 and basefee < 2**62)

    @given(st.dictionaries(st.binary(min_size=1, max_size=1), st.integers(1, 50)), st.integers(0, 60))
    def test_a_weight_lies_between_one_and_two_and_falls_with_own_fires(self, sums, more):
        """One more fire of an actor, everything else equal, never raises its weight against the same median."""
        bench = make_bench()
        for subject, count in sums.items():
            bench.lane_tables.set_recent_fires(subject, count)
        weights = read_weights(bench.lane)
        bench.lane_tables.sums[b"own"] = more
        before = weights.weight(b"own")
        bench.lane_tables.sums[b"own"] = more + 1

        assert 1 <= weights.weight(b"own") <= before <= 2
        assert weights.weight(b"unheard of") == 2

    @examples(60)
    @given(
        st.permutations(range(9)),
        st.lists(st.tuples(st.integers(1_000, 1_300), st.integers(0, 99), st.integers(1, 900)), min_size=9, max_size=9),
    )
    def test_the_order_of_insertion_decides_nothing(self, places, offers):
        """The same timers at other places of the bucket fire in the same order."""
        fired = []
        for order in (range(9), places):
            bench = make_bench(free(lane_timer_cycles=1_500))
            for number, (sequence, (fee, tip, gas_limit)) in enumerate(zip(order, offers, strict=True)):
                quote = Quote(fee, tip)
                bench.tables.insert(
                    Timer(bytes([number]), ALICE, 1, sequence, b"", "tick", ALICE, gas_limit, False, 99, quote)
                )
            events = bench.run(1, bench.run_whole).events
            fired.append([event for event in events if isinstance(event, TimerFired)])

        assert fired[0] == fired[1]

    @examples(60)
    @given(
        st.integers(0, 1_000),
        st.integers(0, 20),
        st.integers(0, 99),
        st.booleans(),
        st.sampled_from(("additive", "literal")),
    )
    def test_what_is_charged_is_burned_tipped_or_refunded(self, used, cells, tip, ok, settlement):
        """Nothing is made or lost in a fire, a revert included."""
        lane = LaneConfig(settlement=settlement)
        bench = make_bench(TimerConfig(max_cells_per_fire=20), lane, cycle=11, cell=3)
        bench.bid(ALICE, 1, fee=2_000, tip=tip, gas_limit=1_000)
        before = sum(bench.ledger.balances.values())
        result = bench.run(1, lambda timer: RunOutcome(ok, used, cells if ok else 0, ()))

        assert result.fired == 1
        assert sum(bench.ledger.balances.values()) + bench.ledger.burned == before
        assert bench.ledger.burned == result.burned
        assert bench.ledger.balance(PROPOSER) == result.tips == used * tip
        assert bench.lane_tables.left.burned == result.lane_burned
