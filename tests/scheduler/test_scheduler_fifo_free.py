"""The policy `fifo-free`: what the older CIP-5 does differently, and only that."""

import msgspec
import pytest

from cluster.scenario.load import load_scenario
from scheduler import MAX_U63, DeferredSummary, Fifo, FifoFree, TimerConfig, TimerDeferred, TimerFired
from scheduler.policies.fifo_free import FreeConfig
from tests.support.chain_harness import (
    ALICE,
    BOB,
    POOR,
    PUPPET,
    advance,
    do,
    make_engine,
    make_genesis,
    policies_of,
    transaction,
)
from validators.actors import Emitted, MessageSent, Status
from validators.execution import InvalidGenesisError, PolicyEntry, SystemUpdateTimerConfig, decode_receipt
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


class TestDeferredCalls:
    """The messages of a fire (K-39)."""

    @staticmethod
    def fired(*steps, policies=None, **config):
        """Run steps as a fire in a chain whose record has these values; return the events of its block."""
        own = PolicyEntry(1, "fifo-free", msgspec.msgpack.encode(FreeConfig(**config)))
        engine = make_engine(make_genesis(policies=policies or (own,), timer_config=TimerConfig()))
        advance(engine, [do(0, 0, ["timer", 1, list(steps), 550_000])])
        return advance(engine).events

    @staticmethod
    def errors(events):
        """Return the names of the errors that a fire caught, and the cycles of the messages that it sent."""
        caught = [event.topic for event in events if isinstance(event, Emitted)]
        return caught, [event.cycles for event in events if isinstance(event, MessageSent)]

    def test_a_third_message_of_a_fire_is_refused_and_the_fire_may_go_on(self):
        """The first two are sent, whatever becomes of the third."""
        events = self.fired(*[["try_send", BOB, [], 1_000]] * 4)

        assert self.errors(events) == (["TooManyCalls"] * 2, [1_000, 1_000])
        assert next(event.ok for event in events if isinstance(event, TimerFired))

    def test_a_third_message_that_is_not_caught_reverts_the_fire(self):
        """With its first two messages."""
        events = self.fired(*[["send", BOB, [], 1_000]] * 3)

        assert self.errors(events) == ([], [])
        assert not next(event.ok for event in events if isinstance(event, TimerFired))

    def test_a_message_has_at_most_100_000_cycles(self):
        """They are taken from the fire's budget when it is sent; one refused counts for nothing."""
        events = self.fired(*(["try_send", BOB, [], cycles] for cycles in (100_001, 100_000, 1_000)))

        assert self.errors(events) == (["TooManyCalls"], [100_000, 1_000])
        assert 101_000 < next(event.used_cycles for event in events if isinstance(event, TimerFired)) < 103_000

    def test_what_fifo_refuses_is_refused_by_its_name(self):
        """The bounds of the record come last."""
        events = self.fired(["try_send", BOB, [], 199], ["try_send", BOB, [], 9_000_000], deferred_calls_per_fire_max=0)

        assert self.errors(events) == (["InvalidInput", "GasLimitTooHigh"], [])

    def test_both_bounds_are_of_the_record(self):
        """Genesis states others."""
        events = self.fired(
            *(["try_send", BOB, [], cycles] for cycles in (301, 300, 300)),
            deferred_calls_per_fire_max=1,
            deferred_call_cycles_max=300,
        )

        assert self.errors(events) == (["TooManyCalls"] * 2, [300])

    def test_fires_of_fifo_are_not_bounded(self):
        """The record is that of `fifo-free` alone."""
        events = self.fired(*[["try_send", BOB, [], 110_000]] * 3, policies=policies_of("fifo"))

        assert self.errors(events) == ([], [110_000] * 3)

    def test_transactions_and_messages_are_not_bounded(self):
        """Only a fire has a budget that the text divides."""
        engine = free()
        three = [["send", BOB, [], 110_000]] * 3
        many = {"cycles_limit": 2_000_000, "cells_limit": 2_000_000}
        executed = advance(engine, [do(0, 0, *three, ["send", PUPPET, three, 800_000], **many)])
        sent = [event.cycles for event in (*executed.events, *advance(engine).events) if isinstance(event, MessageSent)]

        assert sorted(sent) == [110_000] * 6 + [800_000]

    def test_governance_changes_the_bounds_from_the_next_block_on(self):
        """By the keys of the record."""
        engine = make_engine(make_genesis(policies=policies_of("fifo-free"), system_deployers=(ALICE,)))
        order = ["timer", 1, [["try_send", BOB, [], 1_000]], 50_000]
        update = SystemUpdateTimerConfig(msgspec.msgpack.encode({"system:cip5:deferred_calls_per_fire_max": 0}))
        advance(engine, [do(1, 0, order)])
        still = advance(engine, [do(1, 1, order), transaction(0, 0, update)])

        assert self.errors(still.events) == ([], [1_000])
        assert self.errors(advance(engine).events) == (["TooManyCalls"], [])


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
    with pytest.raises(InvalidGenesisError, match="unknown policy 'lifo', expected one of fifo, fifo-free"):
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
