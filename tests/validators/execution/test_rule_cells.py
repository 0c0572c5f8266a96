"""Rule cells of a block: what was reached and stayed, by every way to the block."""

import pytest

from scheduler import CallRule, LaneRule, PhaseRule
from tests.support.chain_harness import STORM, advance, do, make_engine, make_genesis, order
from tests.support.lane_chains import beat, racing
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
