"""The policy `fifo-free`: what the older CIP-5 does differently, and only that."""

import pytest

from cluster.scenario import load_scenario
from scheduler import MAX_U63, Fifo, FifoFree, TimerConfig, TimerFired
from tests.chain_harness import BOB, POOR, PUPPET, advance, do, make_engine, make_genesis
from validators.actors import Status
from validators.execution import InvalidGenesisError, decode_receipt
from validators.execution.schema import account_key, decode_entry


def free(**config):
    return make_engine(make_genesis(policy="fifo-free", timer_config=TimerConfig(**config)))


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

    def test_order_lane_and_gas_limit_are_those_of_fifo(self):
        """The head blocks the lane; a fire within its own limits ends out of gas beyond them."""
        engine = free(lane_timer_cycles=100_000)
        advance(engine, [do(0, 0, ["timer", 1, [["compute", 90_000]], 80_000], ["timer", 1, [], 60_000])])
        first = advance(engine)
        assert (first.summary.fired, first.summary.reverted, first.summary.waiting_live) == (1, 1, 1)
        assert first.summary.lane_cycles == 80_000

        assert advance(engine).summary.fired == 1

    def test_what_fires_use_moves_the_basefee(self):
        """Free of charge is not free of work."""
        engine = make_engine(make_genesis(policy="fifo-free", block_cycles=410_000, timer_config=TimerConfig()))
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
        make_engine(make_genesis(policy="lifo"))


def test_an_engine_runs_the_policies_that_it_was_given():
    """A policy that is not among those of the project goes by the name under which it was handed in."""
    engine = make_engine(make_genesis(policy="house"), policies={"house": Fifo})

    assert advance(engine).header.height == 1


def test_a_sender_may_pay_for_nothing():
    """The fee payer is still checked, and still charged nothing."""
    engine = free()
    advance(engine, [do(1, 0, ["timer", 1, [], 50_000, None, BOB], actor=PUPPET)])
    before = balance_of(engine, BOB)

    assert advance(engine).summary.fired == 1
    assert balance_of(engine, BOB) == before
