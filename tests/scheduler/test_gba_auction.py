"""The GBA auction in its timer phase: rows B-1 to B-11 of the rules, each by its name."""

import re

import msgspec
import pytest

from checker.record.root import PROJECT_ROOT
from scheduler import (
    POLICIES,
    AuctionRule,
    Bid,
    Carry,
    GbaFailed,
    GbaFailure,
    LaneConfig,
    Quote,
    RunOutcome,
    TimerConfig,
)
from scheduler.errors import AgentRequired, AlreadyCollected, InvalidInput
from scheduler.gba_records import (
    AUCTION_BOOKS,
    AUCTION_CURSOR,
    AUCTION_TALLY,
    AUCTION_WEIGHT,
    DEFAULT_AGENT,
    ActorTally,
    AuctionBooks,
    AuctionConfig,
    AuctionCursor,
)
from scheduler.policies.gba_auction import GbaAuction
from scheduler.types import BlockPhase
from tests.support.auction_bench import AuctionBench, deferred, fired, held

A, B, C = (bytes([byte]) * 20 for byte in (0xAA, 0xBB, 0xCC))
AGENT = b"\x77" * 20
RICH = 10**12


def auction(budget=1_000_000, config=None, **options):
    """Return a chain in which cells cost nothing, and three rich actors."""
    own = AuctionConfig(**options.pop("own", {}))
    bench = AuctionBench(TimerConfig(lane_timer_cycles=budget, max_cells_per_fire=0, **(config or {})), own, **options)
    bench.ledger.balances.update({A: RICH, B: RICH, C: RICH})
    return bench


class TestCalls:
    def test_b2_a_call_without_an_agent_is_refused_by_name(self):
        with pytest.raises(AgentRequired):
            auction().schedule(A, 1)

    def test_b2_the_owner_pays_and_no_payer_can_be_named(self):
        with pytest.raises(InvalidInput, match="fee_payer: the owner pays"):
            auction().schedule(A, 1, fees=Bid(gba=AGENT), fee_payer=A)

    def test_b2_a_timer_keeps_its_agent_and_none_of_the_fees(self):
        bench = auction()
        timer = bench.tables.timers[bench.schedule(A, 1, fees=Bid(5, 3, "urgent", AGENT))]

        assert timer.quote == Quote(None, None, AGENT)
        assert timer.gas_limit == 550_000


class TestAgents:
    def test_b3_an_agent_is_told_six_things(self):
        bench = auction(cycle=7, cell=9)
        bench.timer(A, 2)
        bench.run(1)
        opened = bench.policy
        opened.close(1_234)
        bench.run(4)

        assert bench.contexts == [[2, 4, 7, 9, 1_234, RICH]]

    @pytest.mark.parametrize(
        ("answer", "reason"),
        [
            (GbaFailure.FAILED, "failed"),
            (GbaFailure.OVERRUN, "overrun"),
            (b"\xc1", "absurd"),
            (b"\x94\x01\xff\x01\x01", "absurd"),
        ],
    )
    def test_b3_a_timer_whose_agent_fails_waits(self, answer, reason):
        """It is in no way destroyed, and nothing stands in for the answer."""
        bench = auction()
        timer = bench.timer(A, agent=AGENT)
        bench.agents[AGENT] = answer
        result = bench.run(1)

        assert result.events[0] == GbaFailed(timer, reason, 1)
        assert (deferred(result), held(result)) == ({timer: "agent_failed"}, {"agent_failed": 1})
        assert result.waiting_live == 1

    def test_b3_asking_goes_on_behind_the_last_one(self):
        """Two agents a block: failing ones at the front keep nobody else waiting (Q-48)."""
        bench = auction(own={"max_gba_calls_per_block": 2})
        failing = [bench.timer(A, agent=AGENT) for _ in range(3)]
        good = bench.timer(B)
        first = bench.run(1)
        second = bench.run(2)

        assert deferred(first) == dict.fromkeys(failing[:2], "agent_failed") | {
            failing[2]: "not_asked",
            good: "not_asked",
        }
        assert (fired(first), fired(second)) == ([], [good])
        assert bench.state.of(AUCTION_CURSOR) == [AuctionCursor(1, 3)]

    def test_b3_asking_begins_anew_behind_the_last_timer(self):
        bench = auction(own={"max_gba_calls_per_block": 2})
        for _ in range(3):
            bench.timer(A, agent=AGENT)
        counts = []
        for height in (1, 2, 3):
            bench.run(height)
            counts.append(bench.state.of(AUCTION_CURSOR)[0].sequence)

        assert counts == [1, 0, 2]

    def test_b3_expired_and_oversized_timers_are_not_asked(self):
        bench = auction(budget=100_000)
        bench.timer(A, agent=AGENT, gas_limit=10, expires_at=1)
        bench.carried(A, gas_limit=100_000)
        bench.config = TimerConfig(lane_timer_cycles=99_999, max_cells_per_fire=0)
        result = bench.run(2)

        assert bench.asked == []
        assert (result.expired, held(result)) == (1, {"over_cap": 1})

    def test_a_paused_lane_asks_nobody(self):
        bench = auction(config={"execution_lane_paused": True})
        bench.timer(A)
        result = bench.run(1)

        assert (bench.asked, held(result)) == ([], {"lane_full": 1})


class TestOrder:
    def test_b4_the_greatest_tip_fires_first(self):
        bench = auction()
        low, high = bench.timer(A, tip=1, gas_limit=10), bench.timer(B, tip=2, gas_limit=10)

        assert fired(bench.run(1)) == [high, low]

    def test_b4_a_bid_that_does_not_cover_its_tip_waits(self):
        """As stated, the tip is whole or not at all; cut to its room it fires for less."""
        reasons = {}
        for reading in ("bid", "intro"):
            bench = auction(own={"effective_tip": reading}, cycle=50)
            timer = bench.timer(A, fee=60, tip=20, gas_limit=10)
            result = bench.run(1)
            reasons[reading] = deferred(result).get(timer), result.tips

        assert reasons == {"bid": ("below_basefee", 0), "intro": (None, 100)}

    def test_b8_equal_tips_go_by_weight_then_by_identifier(self):
        bench = auction()
        timers = {bench.timer(actor, gas_limit=10): actor for actor in (A, B, C)}
        bench.weigh(B, 1_500_000)
        order = fired(bench.run(1))

        assert timers[order[0]] == B
        assert order[1:] == sorted(order[1:])

    def test_e7_by_the_page_a_carried_timer_stands_behind_newer_ones(self):
        """Between equal tips and weights; a greater tip goes first wherever it stands."""
        bench = auction(own={"tie_break": "append"})
        bench.config = TimerConfig(max_cells_per_fire=0, execution_lane_paused=True)
        carried = [bench.timer(A, 1, gas_limit=10), bench.timer(A, 1, tip=1, gas_limit=10)]
        newer = [bench.timer(B, 2, gas_limit=10) for _ in range(2)]
        bench.run(1)
        bench.config = TimerConfig(max_cells_per_fire=0)
        result = bench.run(2)

        assert fired(result) == [carried[1], *newer, carried[0]]
        assert AuctionRule.CARRIED_BEHIND_NEW in result.reached


class TestBudget:
    def test_b5_the_budget_is_a_hard_cap(self):
        bench = auction()
        for _ in range(4):
            bench.timer(A, gas_limit=400_000)
        result = bench.run(1)

        assert (result.fired, result.lane_cycles, held(result)) == (2, 800_000, {"lane_full": 2})

    def test_b5_literally_the_last_fire_exceeds_it(self):
        bench = auction(own={"budget": "literal"})
        for _ in range(4):
            bench.timer(A, gas_limit=400_000)
        result = bench.run(1)

        assert (result.fired, result.lane_cycles) == (3, 1_200_000)
        assert AuctionRule.BUDGET_OVERSHOT in result.reached

    def test_b8_a_slice_stops_the_greater_tips_of_one_actor(self):
        """Equal weights, half the budget each: the second timer of the greatest tip stands behind another actor's."""
        bench = auction(budget=1_000)
        greedy = [bench.timer(A, tip=9, gas_limit=400) for _ in range(2)]
        other = bench.timer(B, tip=1, gas_limit=400)
        result = bench.run(1)

        assert sorted(fired(result)) == sorted([min(greedy), other])
        assert AuctionRule.SLICE_EXCEEDED in result.reached

    def test_b8_what_slices_leave_over_goes_in_the_order_of_tips(self):
        """By use and not by limits: both actors used less than they reserved."""
        bench = auction(budget=1_000)
        for actor, tip in ((A, 9), (A, 8), (B, 1)):
            bench.timer(actor, tip=tip, gas_limit=500)
        result = bench.run(1, lambda timer: RunOutcome(True, 100, 0, ()))

        assert [event.tip for event in result.events] == [900, 100, 800]
        assert AuctionRule.FIRED_FROM_REST in result.reached

    def test_b8_weights_apportion_the_budget(self):
        """Three to one: of four equal timers the heavier actor fires three."""
        bench = auction(budget=400)
        timers = {bench.timer(actor, gas_limit=100): actor for actor in (A, A, A, B, B, B)}
        bench.weigh(A, 500_000)
        bench.weigh(B, 1_500_000)
        order = [timers[timer] for timer in fired(bench.run(1))]

        assert order == [B, B, B, A]


class TestFunds:
    def test_b10_who_cannot_pay_waits_and_is_not_destroyed(self):
        bench = auction(cycle=1)
        bench.ledger.balances[A] = 999
        timer = bench.timer(A, gas_limit=1_000)
        result = bench.run(1)

        assert (deferred(result), result.insolvent) == ({timer: "funds"}, 0)
        bench.ledger.balances[A] = 1_000
        assert fired(bench.run(2)) == [timer]

    def test_b10_who_cannot_pay_at_any_bid_costs_no_ask(self):
        """Nothing is asked for a payer without the basefee; one that cannot pay its own tip is asked in vain."""
        bench = auction(cycle=1, own={"max_gba_calls_per_block": 2})
        bench.ledger.balances |= {A: 999, B: 1_000}
        broke = [bench.timer(A, gas_limit=1_000) for _ in range(3)]
        greedy, good, late = bench.timer(B, tip=1, gas_limit=1_000), bench.timer(C, gas_limit=10), bench.timer(C)
        result = bench.run(1)

        assert deferred(result) == dict.fromkeys([*broke, greedy], "funds") | {late: "not_asked"}
        assert (fired(result), bench.state.of(AUCTION_CURSOR)) == ([good], [AuctionCursor(1, 4)])
        assert AuctionRule.UNPAYABLE_UNASKED in result.reached

    def test_b10_cells_count_in_what_has_to_be_covered(self):
        bench = auction(cell=2)
        bench.config = TimerConfig(max_cells_per_fire=10)
        bench.ledger.balances[A] = 19
        bench.timer(A, gas_limit=1_000)

        assert held(bench.run(1)) == {"funds": 1}

    def test_b10_the_second_of_two_waits_when_the_first_has_spent_it(self):
        bench = auction(cycle=1)
        bench.ledger.balances[A] = 150
        for _ in range(2):
            bench.timer(A, gas_limit=100)
        result = bench.run(1)

        assert (result.fired, held(result)) == (1, {"funds": 1})
        assert AuctionRule.FUNDS_SPENT in result.reached

    def test_b10_the_owner_pays_basefee_and_tip(self):
        bench = auction(cycle=3)
        bench.timer(A, tip=2, gas_limit=100)
        result = bench.run(1, lambda timer: RunOutcome(False, 60, 0, ()))

        assert (bench.ledger.balance(A), result.burned, result.tips) == (RICH - 300, 180, 120)


class TestEpochs:
    def test_b6_a_block_adds_up_what_its_actors_did(self):
        bench = auction(budget=1_000)
        bench.timer(A, 1, tip=5, gas_limit=600)
        bench.timer(A, 1, tip=4, gas_limit=600)
        bench.run(3, parent=0)

        assert bench.state.of(AUCTION_TALLY) == [ActorTally(1, 1, 5, 2, 600, 1)]
        assert bench.state.of(AUCTION_BOOKS) == [AuctionBooks(600, 0, 1, 1_000)]

    def test_b6_a_later_failure_is_no_second_deferral(self):
        bench = auction(budget=1_000, own={"max_gba_calls_per_block": 0})
        bench.timer(A, 1)
        for height in (1, 2, 3):
            bench.run(height)

        assert bench.state.of(AUCTION_TALLY) == [ActorTally(deferrals=1)]

    def test_b9_the_first_phase_of_an_epoch_goes_by_the_new_weights(self):
        """An actor that failed and one that did not: the tie of the next epoch goes the other way."""
        bench = auction(budget=1_000, epoch_length=10)
        bench.timer(A, 1, gas_limit=10)
        bench.timer(B, 1, gas_limit=10)
        bench.run(1, lambda timer: RunOutcome(timer.actor == B, 10, 0, ()))
        later = {bench.timer(actor, 10, gas_limit=10): actor for actor in (A, B)}
        order = [later[timer] for timer in fired(bench.run(10))]

        assert order == [B, A]
        assert len(bench.state.of(AUCTION_WEIGHT)) == 2


class TestCarried:
    def test_b2_a_timer_without_an_agent_is_asked_of_the_default_one(self):
        bench = auction()
        timers = [bench.carried(A, gas_limit=10), bench.carried(B, quote=Quote(None, None), gas_limit=10)]
        result = bench.run(1)

        assert bench.asked == [DEFAULT_AGENT] * 2
        assert sorted(fired(result)) == sorted(timers)

    def test_fees_that_a_timer_states_hold(self):
        bench = auction(cycle=5)
        bench.agents[DEFAULT_AGENT] = (100, 50)
        bench.carried(A, quote=Quote(7, 2), gas_limit=10)
        bench.carried(B, quote=Quote(7, None), gas_limit=10)
        result = bench.run(1)

        assert (result.tips, held(result)) == (20, {"below_basefee": 1})

    def test_a_payer_that_another_policy_let_in_still_pays(self):
        bench = auction(cycle=1)
        bench.carried(A, gas_limit=10)
        (timer,) = bench.tables.timers.values()
        bench.tables.replace(msgspec.structs.replace(timer, fee_payer=B))
        bench.run(1)

        assert (bench.ledger.balance(A), bench.ledger.balance(B)) == (RICH, RICH - 10)


class TestGuarantees:
    def test_b11_a_block_asks_and_fires_no_more_than_its_limits(self):
        """Bounded work, and the dearest bids first, however many timers wait."""
        bench = auction(budget=1_000, own={"max_gba_calls_per_block": 50})
        bench.config = TimerConfig(lane_timer_cycles=1_000, max_cells_per_fire=0, max_timers_per_actor=1_000)
        for tip in range(100):
            bench.timer(A, tip=tip, gas_limit=400)
        result = bench.run(1)

        assert len(bench.asked) == 50
        assert [event.tip // 400 for event in result.events[:2]] == [49, 48]
        assert held(result) == {"lane_full": 48, "not_asked": 50}

    def test_b11_spam_that_bids_nothing_is_priced_out(self):
        bench = auction(budget=1_000)
        for _ in range(20):
            bench.timer(A, gas_limit=100)
        paying = bench.timer(B, tip=1, gas_limit=100)

        assert fired(bench.run(1))[0] == paying

    def test_b11_what_waits_is_asked_again_until_it_fires(self):
        bench = auction(budget=100)
        for _ in range(5):
            bench.timer(A, gas_limit=100)
        counts = [bench.run(height).fired for height in range(1, 7)]

        assert counts == [1, 1, 1, 1, 1, 0]

    def test_b1_expired_timers_leave_by_the_gc_lane_within_its_budget(self):
        bench = auction(config={"gc_cycles_per_block": 400})
        for _ in range(3):
            bench.timer(A, expires_at=1)
        result = bench.run(2)

        assert (result.expired, result.waiting_dead, result.gc_cycles) == (2, 1, 400)


class TestPhase:
    def test_k1_timers_come_before_the_transactions_where_that_is_set(self):
        first, last = GbaAuction().phases(AuctionConfig(timer_phase="before")), GbaAuction().phases(AuctionConfig())

        assert [phases.index(BlockPhase.TIMERS) for phases in (first, last)] == [0, 1]

    @pytest.mark.parametrize("timer_phase", ["before", "after"])
    def test_k1_a_transaction_cancels_what_the_phase_left_waiting(self, timer_phase):
        """Behind a phase that stands before the transactions; at the end of the block it is too late (Q-28)."""
        bench = auction(budget=100, own={"timer_phase": timer_phase})
        timers = [bench.timer(A, gas_limit=100) for _ in range(2)]
        bench.moment = bench.at(1)
        opened = GbaAuction().open(bench.block(lambda timer: RunOutcome(True, 100, 0, ())))
        opened.begin()
        result = opened.run(BlockPhase.TIMERS)
        (left,) = [timer for timer in timers if timer not in fired(result)]

        if timer_phase == "after":
            with pytest.raises(AlreadyCollected):
                opened.cancel(A, left)
            return
        opened.cancel(A, left)
        assert AuctionRule.CANCELLED_BEHIND_PHASE in opened.reached
        assert opened.close(100).waiting_live == 0


def test_every_rule_of_part_b_has_a_test_by_name():
    """The rules B-1 to B-11 of docs/rules.md, and tests of this folder."""
    page = (PROJECT_ROOT / "docs" / "rules.md").read_text(encoding="utf-8")
    rules = re.findall(r"^- \*\*B-(\d+)\*\* ", page, re.MULTILINE)
    defined = "".join(
        path.read_text(encoding="utf-8")
        for path in sorted((PROJECT_ROOT / "tests" / "scheduler").glob("test_gba_*.py"))
    )

    assert rules == [str(number) for number in range(1, 12)]
    assert [number for number in rules if f"def test_b{number}_" not in defined] == []


def test_every_pair_of_policies_says_what_becomes_of_timers():
    followers = [name for name, policy in POLICIES.items() if isinstance(policy().carry(GbaAuction()), Carry)]
    previous = [name for name, policy in POLICIES.items() if isinstance(GbaAuction().carry(policy()), Carry)]

    assert (followers, previous) == (["eip1559"], ["fifo", "fifo-free", "eip1559"])


def test_parameters_of_the_auction_have_keys_of_their_own():
    """A chain may have the lane's as well, and several fields have the same names."""
    keys = [{kind.key_of(field) for field in kind.__struct_fields__} for kind in (AuctionConfig, LaneConfig)]

    assert keys[0] & keys[1] == set()
