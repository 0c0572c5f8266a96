"""The policy `fifo-free`: what the older CIP-5 does differently, and only that."""

import pytest

from cluster.scenario.load import load_scenario
from scheduler import MAX_U63, DeferredSummary, Fifo, FifoFree, TimerConfig, TimerDeferred, TimerFired
from tests.support.chain_harness import BOB, POOR, PUPPET, advance, do, make_engine, make_genesis, policies_of
from validators.actors import Status
from validators.execution import InvalidGenesisError, decode_receipt
from validators.execution.schema import account_key, decode_entry


def free(**config):
    return make_engine(make_genesis(policies=policies_of("fifo-free"), timer_config=TimerConfig(**config)))


def balance_of(engine, address):
    stored = engine.database.get(account_key(address))
    return 0 if stored is None else decode_entry(account_key(address), stored).record.balance


class TestFree:
    def test_a_fire_costs_nothing(self):
        """An actor without a unit fires, and nothing is burned for it."""
        engine = free()
        advance(engine, [do(1, 0, ["timer", 1, [["emit", "ran"]], 50_000], actor=POOR)])
        executed = advance(engine)
        fire = executed.events[-1]

        assert isinstance(fire, TimerFired)
        assert fire.ok
        assert (fire.burned, fire.tip, executed.summary.burned) == (0, 0, 0)
        assert fire.used_cycles > 0
        assert executed.summary.insolvent == 0
        assert balance_of(engine, POOR) == 0

    def test_a_timer_never_expires(self):
        """Whatever the caller states, the expiry is the greatest number, and an extension leaves it there."""
        engine = free(execution_lane_paused=True)
        executed = advance(engine, [do(0, 0, ["timer", 1, [], 50_000, 0])])
        assert executed.events[0].expires_at == MAX_U63
        for _ in range(5):
            waiting = advance(engine).summary

        assert (waiting.waiting_live, waiting.waiting_dead, waiting.expired) == (1, 0, 0)
        extended = advance(engine, [do(0, 1, ["extend_last", 50])])
        assert decode_receipt(extended.receipts[0]).events[0].expires_at == MAX_U63

    def test_an_expiry_beyond_the_longest_life_is_no_error(self):
        """There is no longest life."""
        engine = free(max_ttl_blocks=10)
        executed = advance(engine, [do(0, 0, ["timer", 1, [], 50_000, 1_000])])

        assert decode_receipt(executed.receipts[0]).status == Status.OK

    def test_everything_due_fires_in_its_block_however_much_it_is(self):
        """No budget and no test for room, in the order of fifo; a fire ends out of gas at its own limit (K-33)."""
        engine = free(lane_timer_cycles=1_000)
        advance(engine, [do(0, 0, ["timer", 1, [["compute", 90_000]], 80_000], ["timer", 1, [], 550_000])])
        executed = advance(engine)

        assert [event.ok for event in executed.events if isinstance(event, TimerFired)] == [False, True]
        assert (executed.summary.lane_cycles, executed.summary.waiting_live) == (80_200, 0)

    def test_the_ceiling_of_a_gas_limit_is_that_of_a_fire(self):
        """The lane's length has no part in it, neither for what is stated nor for the default."""
        engine = free(lane_timer_cycles=1_000, max_cycles_per_fire=70_000)
        executed = advance(engine, [do(0, 0, ["timer", 1, []]), do(0, 1, ["timer", 1, [], 70_001])])

        assert executed.events[0].gas_limit == 70_000
        assert decode_receipt(executed.receipts[1]).error == "GasLimitTooHigh"

    def test_a_paused_lane_fires_nothing_and_tells_of_it_once(self):
        """In the order in which they wait, as held by the lane."""
        engine = free(execution_lane_paused=True)
        made = advance(engine, [do(0, 0, ["timer", 1, [], 50_000], ["timer", 1, [], 60_000])])
        first, again = advance(engine), advance(engine)
        timers = [event.timer_id for event in made.events]

        assert first.events[:-1] == tuple(TimerDeferred(timer, "lane_full") for timer in timers)
        assert first.events[-1:] == again.events == (DeferredSummary((("lane_full", 2),)),)
        assert again.summary.waiting_live == 2

    def test_what_fires_use_moves_the_basefee(self):
        """Free of charge is not free of work."""
        engine = make_engine(
            make_genesis(policies=policies_of("fifo-free"), block_cycles=410_000, timer_config=TimerConfig())
        )
        advance(engine, [do(0, 0, ["timer", 1, [["compute", 300_000]], 400_000])])
        before = advance(engine).summary.cycle_basefee

        assert advance(engine).summary.cycle_basefee > before


def test_the_profile_prices_schedule_at_1000_and_cancel_at_500():
    """Unless the scenario states other prices, and `fifo` keeps its own."""
    assert (FifoFree.default_config.schedule_cycles, FifoFree.default_config.cancel_cycles) == (1_000, 500)
    free_chain = load_scenario("calm", ["chain.policy=fifo-free"]).chain.timers.config()
    stated = load_scenario("calm", ["chain.policy=fifo-free", "chain.timers.cancel_cycles=7"]).chain.timers.config()
    plain = load_scenario("calm").chain.timers.config()

    assert (free_chain.schedule_cycles, free_chain.cancel_cycles, free_chain.extend_cycles) == (1_000, 500, 200)
    assert (stated.schedule_cycles, stated.cancel_cycles) == (1_000, 7)
    assert plain == TimerConfig()


def test_a_policy_that_is_not_there_is_refused_with_those_that_are():
    """Genesis names one of the known policies."""
    with pytest.raises(InvalidGenesisError, match="'lifo' is none of fifo, fifo-free"):
        make_engine(make_genesis(policies=policies_of("lifo")))


def test_an_engine_runs_the_policies_that_it_was_given():
    """A policy that is not among those of the project goes by the name under which it was handed in."""
    engine = make_engine(make_genesis(policies=policies_of("house")), policies={"house": Fifo})

    assert advance(engine).header.height == 1


def test_a_sender_may_pay_for_nothing():
    """The fee payer is still checked, and still charged nothing."""
    engine = free()
    advance(engine, [do(1, 0, ["timer", 1, [], 50_000, None, BOB], actor=PUPPET)])
    before = balance_of(engine, BOB)

    assert advance(engine).summary.fired == 1
    assert balance_of(engine, BOB) == before
