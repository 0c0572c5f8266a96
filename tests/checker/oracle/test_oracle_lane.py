"""The timer lane as the oracle restates it: values worked out by hand, where no golden case has them."""

from hashlib import sha256

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checker.oracle.calls import RevertedError
from checker.oracle.contents import Quote
from checker.oracle.gas import OutOfGasError
from checker.oracle.lane_config import Calendar, LaneConfig, lane_config_of
from checker.oracle.policies import configurations
from checker.oracle.records import MalformedError, read_genesis, write
from checker.oracle.system import _configs_of
from checker.oracle.tiers import radix_root, tier_of
from tests.support.oracle_bench import OWNER, PROPOSER, RICH, Bench, address, reported

PLENTY = Quote(10**6, 5, None)
SMALL = {"gas_limit": 1_000}


def reasons(events):
    return {event[1].decode(): event[2] for event in events if event[0] == 2}


class TestQuotes:
    def test_a_timer_from_before_the_activation_offers_twice_its_basefee(self):
        """900 at the activation: it pays up to 1,800, without a tip, and no more."""
        bench = Bench({"a": RICH}, lane={"initial_lane_basefee": 900}, activation=2)
        for name, due in (("1", 2), ("2", 3), ("3", 4)):
            bench.add(name, "a", due, **SMALL)
        assert bench.run_block() == []
        first = bench.run_block()
        bench.contents.market.put(None, bench.contents.market.rows[None]._replace(basefee=1_800))
        second = bench.run_block()
        bench.contents.market.put(None, bench.contents.market.rows[None]._replace(basefee=1_801))

        assert reported(1, first) == ["1"]
        assert reported(1, second) == ["2"]
        assert reasons(bench.run_block()) == {"3": "below_basefee"}

    def test_what_is_not_stated_is_frozen_at_scheduling(self):
        """Twice the lane's price, and the median tip of the block before."""
        bench = Bench({"a": RICH}, lane={})
        bench.set_market(1_000, 7)
        bench.schedule("a", 9)
        (timer,) = bench.contents.timers.rows.values()

        assert timer.quote == (2_000, 7, None)

    def test_fees_not_stated_stay_open_where_defaults_are_taken_at_the_fire(self):
        """Nothing to clamp yet."""
        bench = Bench({"a": RICH}, lane={"default_gba": "fire"})
        bench.set_market(1_000, 7)
        events = bench.schedule("a", 9, max_priority_fee_per_cycle=5_000)
        (timer,) = bench.contents.timers.rows.values()

        assert timer.quote == (None, 5_000, None)
        assert [event[0] for event in events] == [0]

    def test_a_hint_stands_for_a_tip(self):
        """Five halves of 7 are 17."""
        bench = Bench({"a": RICH}, lane={})
        bench.set_market(1_000, 7)
        bench.schedule("a", 9, priority_tier_hint="urgent")
        (timer,) = bench.contents.timers.rows.values()

        assert timer.quote.max_priority_fee_per_cycle == 17

    def test_an_agent_beside_two_fees_is_not_kept(self):
        """There is nothing left to ask it."""
        bench = Bench({"a": RICH}, lane={})
        bench.schedule("a", 9, max_fee_per_cycle=3_000, max_priority_fee_per_cycle=2, gba=address("a"))
        (timer,) = bench.contents.timers.rows.values()

        assert timer.quote == (3_000, 2, None)

    @pytest.mark.parametrize(
        ("stated", "error"),
        [
            ({"priority_tier_hint": "now"}, "InvalidInput"),
            ({"max_priority_fee_per_cycle": -1}, "InvalidInput"),
            ({"max_fee_per_cycle": 999}, "TimerRejectedBelowBasefee"),
            ({"max_fee_per_cycle": 999, "gba": b"\x05" * 20}, "TimerRejectedBelowBasefee"),
        ],
    )
    def test_fees_that_are_refused(self, stated, error):
        """Each by its name."""
        bench = Bench({"a": RICH}, lane={})
        bench.set_market(1_000)

        assert bench.schedule("a", 9, **stated) == error

    def test_the_multiplier_prices_the_lane_but_does_not_move_its_basefee(self):
        """Half of 1,001 is 500: what is charged, burned and asked for; the basefee itself goes on from 1,001."""
        bench = Bench({"a": RICH}, lane={"lane_multiplier": (1, 2)}, timers={"max_cells_per_fire": 0})
        bench.set_market(1_001)
        bench.add("1", "a", 1, quote=Quote(500, 0, None), uses=1_000, gas_limit=1_000)
        events = bench.run_block()

        assert reported(1, events) == ["1"]
        assert RICH - bench.units("a") == 1_000 * (800 + 500)
        assert bench.contents.market.rows[None][:2] == (1_001 - 125, 0)
        assert bench.contents.market.rows[None].burned == 1_000 * 500


class TestAgents:
    def bench(self, storage, **lane):
        bench = Bench({"a": RICH, "agent": RICH}, lane=lane)
        bench.set_market(1_000, 7)
        for key, value in storage.items():
            bench.contents.storage.put((address("agent"), key), value)
        return bench

    def answer(self, *fields):
        return {b"answer": msgspec.msgpack.encode(list(fields))}

    def test_the_answer_prices_the_timer(self):
        """1,300 at most and 400 as tip: 300 remain for it."""
        bench = self.bench(self.answer(1_300, 400, 0, 0))
        bench.add("1", "a", 1, quote=Quote(None, None, address("agent")), **SMALL)
        (fired,) = bench.run_block()[:1]

        assert fired[8] == 200 * 300

    def test_what_is_stated_counts_more_than_the_answer(self):
        """The tip is the timer's own."""
        bench = self.bench(self.answer(1_300, 400, 0, 0))
        bench.add("1", "a", 1, quote=Quote(None, 11, address("agent")), **SMALL)
        (fired,) = bench.run_block()[:1]

        assert fired[8] == 200 * 11

    @pytest.mark.parametrize(
        ("storage", "reason"),
        [
            ({b"answer": b"x"}, "absurd"),
            ({b"answer": msgspec.msgpack.encode([1, 2, 3])}, "absurd"),
            ({b"answer": msgspec.msgpack.encode([1, 2, 3, 2**63])}, "absurd"),
            ({b"answer": msgspec.msgpack.encode([1, 2, 3, -1])}, "absurd"),
            ({b"answer": msgspec.msgpack.encode([1, 2, 3, True])}, "absurd"),
            ({}, "absurd"),
            ({b"writes": b"1"}, "failed"),
            ({b"uses": (10_000).to_bytes(2, "big")}, "overrun"),
        ],
    )
    def test_what_is_no_answer_is_told_and_the_default_holds(self, storage, reason):
        """Median tip 7."""
        bench = self.bench(storage)
        bench.add("1", "a", 1, quote=Quote(None, None, address("agent")), **SMALL)
        failed, fired = bench.run_block()[:2]

        assert failed == [12, b"1", reason, 1]
        assert fired[8] == 200 * 7
        assert (address("agent"), b"x") not in bench.contents.storage.rows

    def test_an_agent_that_does_not_exist_has_failed(self):
        """The agent's existence is checked only when it is asked."""
        bench = self.bench({})
        bench.add("1", "a", 1, quote=Quote(None, None, b"\x09" * 20), **SMALL)

        assert bench.run_block()[0] == [12, b"1", "failed", 1]

    def test_more_than_may_be_asked_have_the_default_values(self):
        """The oldest are asked; one event for all others."""
        bench = self.bench(self.answer(1_300, 400, 0, 0), max_gba_calls_per_block=1)
        for name in ("1", "2", "3"):
            bench.add(name, "a", 1, quote=Quote(None, None, address("agent")), **SMALL)
        events = bench.run_block()

        assert events[0] == [12, b"2", "call_limit", 2]
        assert [event[8] for event in events[1:4]] == [200 * 300, 200 * 7, 200 * 7]

    def test_the_expired_and_those_over_the_cap_are_not_asked(self):
        """Nothing is told of agents that would fail."""
        bench = self.bench({})
        bench.add("1", "a", 1, quote=Quote(None, None, address("agent")), expires_at=0)
        bench.add("2", "a", 1, quote=Quote(None, None, address("agent")), gas_limit=250_001)

        assert [event[0] for event in bench.run_block()] == [3, 2, 6]


class TestHolding:
    def test_the_summary_counts_by_reason_in_its_order(self):
        """Each is told once, when it is held for the first time."""
        bench = Bench({"a": RICH}, lane={}, timers={"lane_timer_cycles": 300_000})
        bench.add("1", "a", 1, quote=Quote(1, 0, None))
        bench.add("2", "a", 1, quote=PLENTY, gas_limit=250_001)
        bench.add("3", "a", 1, quote=PLENTY, uses=200_000)
        bench.add("4", "a", 1, quote=PLENTY)
        events = bench.run_block()

        assert reported(1, events) == ["3"]
        assert reasons(events) == {"1": "below_basefee", "2": "over_cap", "4": "lane_full"}
        assert events[-1] == [6, [["lane_full", 1], ["over_cap", 1], ["below_basefee", 1]]]
        assert [event[0] for event in bench.run_block()] == [1, 6]

    def test_a_default_gas_limit_follows_the_cap(self):
        """It was 550,000 when the timer was made."""
        bench = Bench({"a": RICH}, lane={}, timers={"max_cells_per_fire": 0})
        bench.add("1", "a", 1, quote=PLENTY, gas_limit=550_000, gas_limit_is_default=True, uses=250_000)

        assert reported(1, bench.run_block()) == ["1"]
        assert bench.result.counts["lane_cycles"] == 250_000

    def test_whoever_is_held_by_its_price_is_not_judged_by_its_payer(self):
        """No attempt, no cost to compare; until it expires."""
        bench = Bench({"poor": 0}, lane={})
        bench.add("1", "poor", 1, quote=Quote(1, 0, None), expires_at=1)
        bench.add("2", "poor", 1, quote=PLENTY, gas_limit=250_001, expires_at=1)

        assert reasons(bench.run_block()) == {"1": "below_basefee", "2": "over_cap"}
        assert reported(3, bench.run_block()) == ["1", "2"]

    @pytest.mark.parametrize(
        ("account", "misfit", "fired"),
        [
            ("use", "skip", ["1", "2", "4"]),
            ("use", "stop", ["1", "2"]),
            ("limit", "skip", ["1", "4"]),
            ("limit", "stop", ["1"]),
        ],
    )
    def test_how_the_lane_is_filled(self, account, misfit, fired):
        """A lane of 1,000: 1 uses 300 of its 600, 2 asks for 500 and uses 400, 3 asks for 800, 4 for 300."""
        lane = {"packing_account": account, "packing_misfit": misfit}
        bench = Bench({"a": RICH}, lane=lane, timers={"lane_timer_cycles": 1_000})
        for name, gas_limit, uses in (("1", 600, 300), ("2", 500, 400), ("3", 800, 800), ("4", 300, 200)):
            bench.add(name, "a", 1, quote=PLENTY, gas_limit=gas_limit, uses=uses)

        assert reported(1, bench.run_block()) == fired

    @pytest.mark.parametrize(("tie", "fired"), [("id", ["1", "2"]), ("age", ["2", "1"])])
    def test_what_decides_a_tie(self, tie, fired):
        """The identifier, or who came first."""
        bench = Bench({"a": RICH}, lane={"tie_break": tie})
        for name in ("2", "1"):
            bench.add(name, "a", 1, quote=PLENTY, **SMALL)

        assert reported(1, bench.run_block()) == fired

    @pytest.mark.parametrize(("weight", "fired"), [("multiplicative", ["1", "2"]), ("additive", ["2", "1"])])
    def test_a_weight_that_is_added_counts_without_a_tip(self, weight, fired):
        """Actor b has not fired of late, and offers nothing on top."""
        bench = Bench({"a": RICH, "b": RICH}, lane={"weight": weight})
        bench.contents.fires.put(0, {address("a"): 3})
        bench.set_market(800)
        bench.contents.market.put(None, bench.contents.market.rows[None]._replace(window_start=0))
        bench.add("1", "a", 1, quote=Quote(10**6, 0, None), **SMALL)
        bench.add("2", "b", 1, quote=Quote(10**6, 0, None), **SMALL)

        assert reported(1, bench.run_block()) == fired


class TestFairness:
    def test_the_window_forgets_what_is_behind_it(self):
        """Two blocks long: the fire of block 1 counts in 2 and 3."""
        bench = Bench({"a": RICH}, lane={"fairness_window_blocks": 2})
        bench.add("1", "a", 1, quote=PLENTY, **SMALL)
        seen = []
        for _ in range(4):
            bench.run_block()
            recent = bench.contents.recent_fires.rows.get(address("a"), 0)
            seen.append((recent, bench.contents.market.rows[None].window_start, sorted(bench.contents.fires.rows)))

        assert seen == [(1, 1, [1]), (1, 1, [1]), (1, 1, [1]), (0, 2, [])]

    def test_fires_can_be_those_of_the_owner(self):
        """All actors of the bench have one."""
        bench = Bench({"a": RICH, "b": RICH}, lane={"fairness_subject": "deployer"})
        for name in ("a", "b"):
            bench.add(name, name, 1, quote=PLENTY, **SMALL)
        bench.run_block()

        assert bench.contents.fires.rows == {1: {OWNER: 2}}


class TestCursor:
    def bench(self, **lane):
        timers = {"gc_cycles_per_block": 400}
        bench = Bench({"a": RICH}, lane={"classification": "cursor"} | lane, timers=timers)
        for name in ("1", "2", "3", "4", "5"):
            is_dead = name in "245"
            bench.add(name, "a", 1, quote=Quote(1, 0, None), expires_at=0 if is_dead else 9)
        return bench

    def test_it_looks_at_so_many_and_goes_on_where_it_was(self):
        """Two a block, round once at the end."""
        bench = self.bench(gc_scan_per_block=2)
        found = [(reported(3, bench.run_block()), bench.contents.gc_cursor.rows[None]) for _ in range(4)]

        assert found == [(["2"], (1, 1)), (["4"], (1, 3)), (["5"], (1, 0)), ([], (1, 0))]

    def test_it_stops_where_the_budget_ends(self):
        """Two removals, and no look at the timer behind them."""
        bench = self.bench(gc_scan_per_block=9)

        assert reported(3, bench.run_block()) == ["2", "4"]
        assert bench.contents.gc_cursor.rows[None] == (1, 3)

    def test_it_does_not_begin_without_a_budget(self):
        """No place is written; what has expired waits as dead and is held by nothing."""
        bench = Bench({"a": RICH}, lane={"classification": "cursor"}, timers={"gc_lane_paused": True})
        bench.add("1", "a", 1, expires_at=0, quote=PLENTY)

        assert bench.run_block() == []
        assert bench.contents.gc_cursor.rows == {}
        assert bench.result.counts["waiting_dead"] == 1

    def test_an_insolvent_timer_is_also_found_at_its_turn(self):
        """Far behind what the cursor looked at."""
        bench = Bench({"a": RICH, "poor": 0}, lane={"classification": "cursor", "gc_scan_per_block": 1})
        bench.add("1", "a", 1, quote=PLENTY, **SMALL)
        bench.add("2", "poor", 1, quote=PLENTY._replace(max_priority_fee_per_cycle=9), **SMALL)

        assert [event[0] for event in bench.run_block()] == [4, 1]

    @pytest.mark.parametrize("misfit", ["skip", "stop"])
    def test_in_a_paused_lane_it_is_nobodys_turn(self, misfit):
        """Whom the cursor does not find counts as held, whatever his payer has."""
        timers = {"execution_lane_paused": True, "gc_cycles_per_block": 0}
        bench = Bench({"poor": 0}, lane={"classification": "cursor", "packing_misfit": misfit}, timers=timers)
        bench.add("1", "poor", 1, quote=PLENTY, **SMALL)

        assert [event[0] for event in bench.run_block()] == [2, 6]
        assert bench.result.counts["waiting_dead"] == 0

    def test_an_insolvency_states_the_balance_by_which_it_was_found(self):
        """The proposer, who pays for one, has nothing when the phase begins; at its turn it has the tip of another."""
        bench = Bench({"a": RICH}, lane={"classification": "cursor", "gc_scan_per_block": 0})
        bench.add("1", "a", 1, quote=Quote(10**9, 10**8, None), **SMALL)
        bench.add("2", "a", 1, quote=PLENTY, fee_payer=PROPOSER, gas_limit=250)
        events = {event[0]: event for event in bench.run_block()}

        assert events[1][8] > events[4][3]
        assert events[4][4] == 0

    def test_an_insolvent_timer_that_does_not_fit_is_not_looked_at(self):
        """It counts as held."""
        bench = Bench(
            {"a": RICH, "poor": 0},
            lane={"classification": "cursor", "gc_scan_per_block": 1},
            timers={"lane_timer_cycles": 1_000},
        )
        bench.add("1", "a", 1, quote=PLENTY, **SMALL)
        bench.add("2", "poor", 1, quote=PLENTY._replace(max_priority_fee_per_cycle=4), gas_limit=900)

        assert reasons(bench.run_block()) == {"2": "lane_full"}

    @pytest.mark.parametrize("classification", ["eager", "cursor"])
    def test_an_insolvent_timer_that_does_not_fit_ends_no_lane_that_stops(self, classification):
        """The one after it fires under both."""
        bench = Bench(
            {"a": RICH, "poor": 0},
            lane={"classification": classification, "packing_misfit": "stop", "gc_scan_per_block": 0},
            timers={"lane_timer_cycles": 1_500, "max_cells_per_fire": 0},
        )
        for name, actor, tip, gas_limit in (("1", "a", 9, 1_000), ("2", "poor", 8, 1_000), ("3", "a", 7, 400)):
            quote = PLENTY._replace(max_priority_fee_per_cycle=tip)
            bench.add(name, actor, 1, quote=quote, gas_limit=gas_limit, uses=gas_limit)

        assert reported(1, bench.run_block()) == ["1", "3"]


timer_shapes = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", "poor"]),
        st.sampled_from([0, 3, 9]),
        st.sampled_from([1, 900, 10**6]),
        st.sampled_from([500, 1_000, 250_001]),
        st.sampled_from([0, 9]),
    ),
    max_size=12,
)


packings = st.fixed_dictionaries(
    {"packing_account": st.sampled_from(["use", "limit"]), "packing_misfit": st.sampled_from(["skip", "stop"])}
)


@given(timer_shapes, packings, st.integers(0, 12), st.integers(0, 3))
def test_eager_and_cursor_fire_the_same_timers(shapes, packing, scan, removals):
    """From one state, in one block."""
    fired = []
    for classification in ("eager", "cursor"):
        bench = Bench(
            {"a": RICH, "b": 3_000_000, "poor": 0},
            lane={"classification": classification, **packing, "gc_scan_per_block": scan},
            timers={"lane_timer_cycles": 2_000, "gc_cycles_per_block": 200 * removals, "max_cells_per_fire": 0},
        )
        for number, (actor, tip, most, gas_limit, expires_at) in enumerate(shapes):
            fields = {"quote": Quote(most, tip, None), "expires_at": expires_at}
            bench.add(f"{number}", actor, 1, gas_limit=gas_limit, uses=gas_limit - 100, **fields)
        fired.append(reported(1, bench.run_block()))

    assert fired[0] == fired[1]


class TestTiers:
    def test_the_tree_over_three_heights(self):
        """4 = 100, 6 = 110, 7 = 111: they part at bit 62, then at 63."""
        leaves = [(4, b"r4"), (6, b"r6"), (7, b"r7")]
        four, six, seven = (sha256(b"\0" + height.to_bytes(8, "big") + record).digest() for height, record in leaves)
        pair = sha256(b"\1\x3f" + six + seven).digest()

        assert radix_root(leaves) == sha256(b"\1\x3e" + four + pair).digest()

    def test_what_was_made_far_off_enters_the_ring_when_its_epoch_begins(self):
        """By the introduction's numbers: 1,500 and 1,255 scheduled at 1,000, and 50,000; 256 do not hold 360."""
        intro = Calendar(256, 360, 13)

        def first_in_ring(height, made_at):
            queued = height - made_at >= intro.ring_size
            return next(now for now in range(made_at, height) if tier_of(height, now, queued, intro)[0] == "ring")

        assert [first_in_ring(height, 1_000) for height in (1_255, 1_500, 1_700, 50_000)] == [
            1_000,
            1_440,
            1_445,
            49_745,
        ]

    def test_the_flag_is_decided_when_a_bucket_is_made_or_made_again(self):
        """Another timer of the height does not change it, a ring that grew does not either."""
        bench = Bench({"a": RICH}, lane={"ring_size": 4, "epoch_length": 8})
        bench.schedule("a", 6)
        bench.chain.header = bench.next_header
        bench.schedule("a", 5)
        bench.schedule("a", 6)
        flags = {due: bucket.queued for due, bucket in bench.contents.buckets.rows.items()}
        assert flags == {6: True, 5: False}

        for timer in list(bench.contents.timers.rows.values()):
            bench.call("a").cancel(timer.timer_id)
        bench.chain.header = bench.next_header
        bench.schedule("a", 6)
        assert [bucket.queued for bucket in bench.contents.buckets.rows.values()] == [False]

    def test_far_heights_are_counted_and_promoted(self):
        """Ring 2, epochs of 4, one ahead: at block 4 the second epoch begins and height 9 comes within its reach."""
        lane = {"ring_size": 2, "epoch_length": 4, "epoch_horizon": 1}
        bench, seen = Bench({"a": RICH}, lane=lane), []
        for name, due in (("1", 3), ("2", 5), ("3", 9), ("4", 13)):
            bench.add(name, "a", due, quote=PLENTY, **SMALL)
        for _ in range(8):
            events = bench.run_block()
            overflow = bench.contents.overflow.get(None)
            promoted = [event[1:] for event in events if event[0] == 13]
            seen.append((bench.contents.epochs.rows.copy(), overflow[0] if overflow else 0, promoted))

        assert seen[0] == ({0: 1, 1: 1}, 2, [])
        assert seen[1] == ({1: 1}, 2, [])
        assert seen[2] == ({1: 1}, 2, [])
        assert seen[3] == ({2: 1}, 1, [[1, 1]])
        assert seen[7] == ({3: 1}, 0, [[2, 1]])

    def test_without_a_lane_tiers_are_kept_and_epochs_told_alike(self):
        """They are the calendar's, which every chain has."""
        bench = Bench({"a": RICH}, lane={"ring_size": 2, "epoch_length": 2, "epoch_horizon": 0}, activation=9)
        bench.add("1", "a", 20)

        assert [bench.run_block() for _ in range(3)] == [[], [[13, 1, 0]], []]
        assert bench.contents.overflow.rows[None][0] == 1


def test_a_bid_is_refused_from_the_activation_on():
    """The release that still takes it is the time before; a configuration may add blocks of grace."""
    for grace, expected in ((0, "TimerArgDeprecated"), (5, list)):
        bench = Bench({"a": RICH}, lane={"bid_deprecation_blocks": grace} if grace else {}, activation=3)
        before = bench.schedule("a", 9, bid=7)
        bench.jump(3)
        after = bench.schedule("a", 9, bid=7)

        assert isinstance(before, list)
        assert after == expected if isinstance(expected, str) else isinstance(after, expected)


class TestIndexCells:
    def cells_of(self, *dues, payload=b"", **timers):
        """Return the cells that scheduling for these heights, one after the other in one call, takes each."""
        call = Bench({"a": RICH}, timers=timers).call("a")
        found = []
        for due in dues:
            before = call.gas.cells
            call.schedule(due, payload)
            found.append(call.gas.cells - before)
        return found

    def test_a_timer_pays_for_its_record_its_entry_and_a_new_bucket(self):
        """The second one of a height finds the bucket there."""
        first, second, other = self.cells_of(9, 9, 10)
        record = 32 + 1 + 34 + 22 + 1 + 1 + 2 + 13 + 22 + 5 + 1 + 5 + 1

        assert (first, second, other) == (record + 67 + 37, record + 67, record + 67 + 37)

    def test_the_payload_is_paid_for_once(self):
        """Its cells are those of the call as before; the record counts as if it had none."""
        (plain,), (long) = self.cells_of(9), self.cells_of(9, payload=bytes(1_000))

        assert long == [plain + 1_000]

    def test_a_configuration_may_leave_them_out(self):
        """Then scheduling takes the payload's alone."""
        assert self.cells_of(9, payload=b"seven..", charges_index_cells=False) == [7]

    def test_a_limit_that_does_not_hold_them_is_out_of_gas_and_writes_nothing(self):
        """They are charged after admission and before anything is written."""
        bench = Bench({"a": RICH})
        call = bench.call("a")
        call.gas.cells_limit = self.cells_of(9)[0] - 1

        with pytest.raises(OutOfGasError):
            call.schedule(9, b"")

        assert bench.contents.timers.rows == {}

    def test_a_refused_timer_pays_none(self):
        """A refused timer has no index."""
        call = Bench({"a": RICH}).call("a")

        with pytest.raises(RevertedError):
            call.schedule(0, b"abc")

        assert call.gas.cells == 3


class TestConfiguration:
    def change(self, changes, lane=True):
        bench = Bench({"a": RICH}, lane={} if lane else None)
        encoded = changes if isinstance(changes, bytes) else msgspec.msgpack.encode(changes)
        return [config for _, config in _configs_of(encoded, bench.contents)]

    def test_keys_of_both_configurations(self):
        """A tier's multiplier has a longer one."""
        timers, calendar, lane = self.change(
            {
                "system:cip1:packing_misfit": "stop",
                "system:cip1:priority_tier_multipliers.fast": [7, 4],
                "system:cip1:ring_size": 7,
                "timer_config.gc_lane_paused": True,
            }
        )

        assert (timers.gc_lane_paused, calendar.ring_size) == (True, 7)
        assert (lane.packing_misfit, lane.fast) == ("stop", [7, 4])
        assert lane.urgent == [5, 2]

    @pytest.mark.parametrize(
        "changes",
        [
            {},
            {"system:cip1:ring_size": 0},
            {"system:cip1:ring_size": 65_537},
            {"system:cip1:ring_size": True},
            {"system:cip1:fast": [1, 1]},
            {"system:cip1:weight_max": [1, 2]},
            {"system:cip1:weight_max": [1, 0]},
            {"system:cip1:weight_max": [3]},
            {"system:cip1:target_utilisation": [1, 1]},
            {"system:cip1:min_lane_basefee": 7},
            {"system:cip1:max_lane_basefee": 2**62 + 1},
            {"system:cip1:slope": "steep"},
            {"timer_config.lane_timer_cycles": 0},
            {"timer_config.gc_lane_paused": 1},
            {"timer_config.unknown": 1},
            {"timer_config.gc_cycles_per_block": 1, "system:cip1:ring_size": 5},
            {1: 2},
            b"\x81\xd9\x15system:cip1:ring_size\x05"[:-1],
            b"\x81\xd9\x15system:cip1:ring_size\xcc\x05",
        ],
    )
    def test_what_no_chain_can_run_on_is_refused(self, changes):
        """As a whole."""
        with pytest.raises(RevertedError, match="InvalidInput"):
            self.change(changes)

    def test_a_key_of_the_lane_is_unknown_in_a_chain_without_it(self):
        """There it changes nothing."""
        with pytest.raises(RevertedError, match="InvalidInput"):
            self.change({"system:cip1:slope": "classic"}, lane=False)
        assert self.change({"system:cip1:ring_size": 5}, lane=False)[1].ring_size == 5

    def test_the_defaults_are_a_configuration(self):
        """All thirty fields."""
        assert lane_config_of(LaneConfig()) == LaneConfig()


LANE = write(LaneConfig())


class TestGenesis:
    @pytest.mark.parametrize(
        "policies",
        [
            [],
            [[2, "fifo", b""]],
            [[1, "fifo", b""], [1, "eip1559", LANE]],
            [[1, "fifo", LANE]],
            [[1, "eip1559", b""]],
            [[1, "eip1559", b"\x90"]],
            [[1, "eip1559", write([LANE, write([64, 0, 1])])]],
            [[1, "eip1559", write([LANE, write([64, 8])])]],
            [[1, "eip1559", write(LaneConfig()._replace(min_lane_basefee=0))]],
        ],
    )
    def test_policies_that_make_no_chain_are_no_genesis(self, policies):
        """Heights begin at 1 and ascend, and a configuration is the policy's."""
        genesis = Bench({"a": RICH}, lane={}).chain.genesis
        assert len(configurations(read_genesis(write(genesis)))) == 1

        with pytest.raises(MalformedError):
            configurations(read_genesis(write(genesis._replace(policies=policies))))

    def test_a_calendar_that_no_chain_can_run_on_is_no_genesis(self):
        """A ring without a place, for instance."""
        genesis = Bench({"a": RICH}).chain.genesis

        with pytest.raises(MalformedError, match="calendar"):
            read_genesis(write(genesis._replace(calendar=[0, 1, 1])))
