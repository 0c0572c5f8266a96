"""coverage points of a block: what was reached and stayed, by every way to the block."""

import pytest

from checker.coverage.blocks import BlockPoints
from scheduler import AptosRule, BiasRule, CallRule, LaneRule, PhaseRule, TimerConfig
from scheduler.bias import bias
from scheduler.bias_selection import Competitor, Walk, cells_of_payments
from tests.support.chain_harness import STORM, advance, do, in_lane, make_engine, make_genesis, order, policies_of
from tests.support.lane_chains import beat, racing
from tests.support.queue_bench import config_of
from validators.actors import StormOrder
from validators.execution import GenesisActor
from validators.execution.rules import BlockRule

FAR, NEXT = ["timer", 9, []], ["timer", 1, []]


def reached_by(*steps, blocks=1):
    """Return the cells of the last block after a call of these steps in the first one."""
    engine = make_engine()
    executed = advance(engine, [do(0, 0, *steps)])
    for _ in range(blocks - 1):
        executed = advance(engine)
    return executed.reached


class TestCalls:
    def test_an_accepted_call_reaches_the_branches_that_it_took(self):
        assert reached_by(NEXT) == (CallRule.GAS_LIMIT_DEFAULT, CallRule.DUE_NEXT)

    def test_what_a_reverted_transaction_did_is_dropped(self):
        assert reached_by(NEXT, ["revert", "no"]) == ()

    def test_a_refusal_that_the_program_survives_drops_nothing(self):
        assert CallRule.CANCELLED_BEFORE_DUE in reached_by(FAR, ["cancel_last"], ["cancel_last"])

    def test_what_a_reverted_fire_did_is_dropped_and_its_revert_counts(self):
        reached = reached_by(["timer", 1, [NEXT, ["revert", "no"]]], blocks=2)

        assert reached == (PhaseRule.FIRE_REVERTED,)

    def test_a_fire_and_a_message_that_schedule_differ(self):
        assert BlockRule.SCHEDULED_BY_FIRE in reached_by(["timer", 1, [FAR]], blocks=2)

    @pytest.mark.parametrize(("handler", "is_counted"), [("spend", True), ("fail", False)])
    def test_a_named_handler_counts_where_its_fire_keeps_its_effects(self, handler, is_counted):
        engine = make_engine()
        storm = StormOrder(count=1, delay=1, not_before=0, spread=1, ttl=9, handler=handler)
        advance(engine, [order(0, 0, STORM, "make", storm)])

        assert (BlockRule.HANDLER_IN_PAYLOAD in advance(engine).reached) is is_counted

    @pytest.mark.parametrize(
        ("expires_at", "cell"),
        [(5_000_000, CallRule.EXTENSION_CLAMPED), (12, CallRule.SHORTENED)],
    )
    def test_an_expiry_moves_within_its_bounds(self, expires_at, cell):
        assert cell in reached_by(FAR, ["extend_last", expires_at])


class TestTheLane:
    def test_an_agent_that_answers_decides_the_fire(self):
        engine = racing()
        advance(engine, [beat(0, 0, gba=b"\xea" * 20)])

        assert LaneRule.AGENT_DECIDED in advance(engine).reached

    def test_an_agent_that_is_missing_leaves_the_defaults(self):
        engine = racing()
        advance(engine, [beat(0, 0, gba=b"\xeb" * 20)])
        reached = advance(engine).reached

        assert LaneRule.AGENT_FAILED in reached
        assert LaneRule.DEFAULTS_AT_FIRE in reached
        assert LaneRule.AGENT_DECIDED not in reached


def test_every_validator_of_a_block_reaches_the_same_cells():
    leader, voter = racing(), racing()
    for transactions in ([beat(0, 0, max_fee_per_cycle=9_000), beat(1, 1)], [], []):
        executed = advance(leader, transactions)
        again = voter.execute(executed.block)
        voter.finalize(again.digest)

        assert again.reached == executed.reached


def test_a_payer_with_just_the_cost_is_told_from_one_with_more():
    def fired_with(balance):
        puppet = GenesisActor(b"\xd1" * 20, "puppet", b"\xd1" * 20, balance)
        engine = make_engine(make_genesis(actors=(puppet,)))
        advance(engine, [do(0, 0, ["timer", 1, [], 5_000], actor=puppet.address)])
        return advance(engine)

    config = make_genesis().timer_config
    cost = 5_000 * 800 + config.max_cells_per_fire * 800

    assert PhaseRule.FIRED_ON_EXACT_BALANCE in fired_with(cost).reached
    assert PhaseRule.FIRED_ON_EXACT_BALANCE not in fired_with(cost + 1).reached
    assert PhaseRule.INSOLVENT in fired_with(cost - 1).reached


class TestTheQueue:
    """Entries in a chain whose prologue takes them ready."""

    def chain(self, **own):
        return make_engine(
            make_genesis(
                timebase="slot",
                policies=policies_of("aptos", lane=config_of({"profile": "aip", **own})),
                timer_config=TimerConfig(max_cells_per_fire=2_000),
                block_cycles=600_000,
            )
        )

    def test_entries_of_one_time_and_price_stand_by_their_hashes(self):
        engine = self.chain()
        advance(engine, [do(0, 0, *(["timer", 1, [], 20_000 + extra] for extra in range(8)))])

        assert AptosRule.TIE_BY_HASH in advance(engine).reached

    def test_what_a_block_does_not_take_ready_waits_for_its_limit(self):
        engine = self.chain(ready_limit=1)
        advance(engine, [do(0, 0, ["timer", 1, [], 20_000], ["timer", 1, [], 20_001])])

        assert AptosRule.READY_LIMIT_SPENT in advance(engine).reached
        assert AptosRule.READY_LIMIT_SPENT not in advance(engine).reached

    @pytest.mark.parametrize("transactions", [[], [do(0, 1, ["compute", 300_000])]])
    def test_a_ready_entry_waits_where_transactions_have_taken_the_room(self, transactions):
        engine = self.chain()
        advance(engine, [do(0, 0, ["timer", 1, [], 500_000])])
        executed = advance(engine, transactions)

        assert (AptosRule.ROOM_TAKEN in executed.reached) is bool(transactions)

    def test_a_deposit_returns_whole_where_its_entry_is_cancelled(self):
        engine = self.chain()
        advance(engine, [do(0, 0, ["timer", 5, [], 20_000])])

        assert AptosRule.DEPOSIT_RETURNED in advance(engine, [do(0, 1, ["cancel_last"])]).reached


def test_a_place_freed_by_the_same_call_is_told_from_one_freed_before():
    def last_of(*calls):
        engine = make_engine(make_genesis(timer_config=TimerConfig(max_cells_per_fire=2_000, max_timers_per_actor=1)))
        return [advance(engine, [do(0, nonce, *steps)]) for nonce, steps in enumerate(calls)][-1]

    at_once = last_of([FAR], [["cancel_last"], FAR])
    later = last_of([FAR], [["cancel_last"]], [FAR])

    assert CallRule.PLACE_FREED in at_once.reached
    assert CallRule.LAST_PLACE_TAKEN in later.reached
    assert CallRule.PLACE_FREED not in later.reached


def test_an_actor_whose_fires_all_left_the_window_is_pruned():
    engine = racing(fairness_window_blocks=2)
    storm = StormOrder(count=1, delay=1, not_before=0, spread=1, ttl=9)
    advance(engine, [order(0, 0, STORM, "make", storm)])
    reached = [LaneRule.SUBJECT_PRUNED in advance(engine).reached for _ in range(4)]

    assert reached.count(True) == 1


@pytest.mark.parametrize(
    ("height", "limit", "is_counted"), [(9, 300_000, True), (9, 200_000, False), (1, 200_000, False)]
)
def test_a_limit_above_the_lanes_counts_before_its_activation(height, limit, is_counted):
    engine, cells = make_engine(make_genesis(**in_lane(height))), []
    executed = advance(engine, [do(0, 0, ["timer", 5, [], limit])])
    BlockPoints("height", cells.append, in_lane(height)["policies"]).add(executed)

    assert (BlockRule.LIMIT_ABOVE_LANE in cells) is is_counted


@pytest.mark.parametrize(("waited", "cells"), [(0, []), (1, [BiasRule.BIAS_FLOORED]), (800, [BiasRule.BIAS_SATURATED])])
def test_a_bias_is_a_floor_until_it_grows_no_more(waited, cells):
    winner = Competitor(None, 0, waited, bias(waited, 100_000))

    assert list(cells_of_payments(Walk(1, 1, 1, winners=[winner]), [0], 0)) == [*cells, BiasRule.WON_WITHOUT_BID]
