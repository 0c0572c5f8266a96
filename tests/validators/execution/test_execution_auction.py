"""The GBA auction on a chain: calls through the host, the default agent, epochs in the state, activation."""

import msgspec
import pytest

from scheduler import CalendarProfile, DeferredSummary, LaneConfig, Quote, TimerConfig, TimerFired
from scheduler.gba_records import (
    AUCTION_BOOKS,
    AUCTION_CONFIG,
    AUCTION_CURSOR,
    AUCTION_WEIGHT,
    DEFAULT_AGENT,
    AuctionBooks,
    AuctionConfig,
)
from scheduler.policies.fifo_free import FreeConfig
from tests.support.chain_harness import (
    ALICE,
    BALANCE,
    HEART,
    PUPPET,
    advance,
    do,
    make_engine,
    make_genesis,
    order,
    policies_of,
    propose,
    receipt,
    transaction,
)
from validators.actors import HeartbeatOrder, Status
from validators.execution import GenesisActor, PolicyEntry, SystemUpdateTimerConfig
from validators.execution.schema import TIMERS

AGENT = GenesisActor(DEFAULT_AGENT, "default-agent", bytes(20))


def auction(policies=None, epoch_length=3_600, config=None, **parameters):
    """Return an engine of a chain in the auction, with the default agent."""
    own = policies or policies_of("gba-auction", lane=AuctionConfig(**parameters))
    actors = (
        GenesisActor(HEART, "heartbeat", ALICE, BALANCE),
        GenesisActor(PUPPET, "puppet", ALICE, BALANCE),
        AGENT,
    )
    timers = TimerConfig(max_cells_per_fire=2_000, **(config or {}))
    calendar = CalendarProfile(epoch_length=epoch_length)
    genesis = make_genesis(
        policies=own, actors=actors, calendar=calendar, timer_config=timers, system_deployers=(ALICE,)
    )
    return make_engine(genesis)


def start(nonce=0, interval=1, **changes):
    """Return a call that starts the heart, whose program names the default agent by itself."""
    return order(0, nonce, HEART, "start", HeartbeatOrder(interval, **changes))


def records(engine, table):
    """Return the finalized records of a table."""
    decode = msgspec.msgpack.decode
    return [decode(value, type=table.record) for key, value in engine.database.items() if key[0] == table.code]


def entries(*pairs):
    return tuple(
        PolicyEntry(height, policy, (own and msgspec.msgpack.encode(own)) or b"") for height, policy, own in pairs
    )


class TestCalls:
    def test_a_program_without_an_agent_names_the_default_one(self):
        engine = auction()
        advance(engine, [start()])

        assert [timer.quote for timer in records(engine, TIMERS)] == [Quote(None, None, DEFAULT_AGENT)]
        assert advance(engine).summary.fired == 1
        assert records(engine, AUCTION_CURSOR)

    def test_a_call_without_an_agent_reverts_by_name(self):
        executed = advance(auction(), [do(0, 0, ["timer", 1, []])])

        assert (receipt(executed).status, receipt(executed).error) == (Status.REVERTED, "AgentRequired")

    def test_a_call_with_a_payer_reverts_by_name(self):
        executed = advance(auction(), [do(0, 0, ["timer", 1, [], None, None, ALICE, DEFAULT_AGENT])])

        assert receipt(executed).error == "InvalidInput"

    def test_the_default_agent_offers_twice_the_basefee_and_no_tip(self):
        engine = auction()
        advance(engine, [start()])
        (fire,) = [event for event in advance(engine).events if isinstance(event, TimerFired)]

        assert (fire.ok, fire.tip, fire.burned) == (True, 0, fire.used_cycles * 800 + fire.used_cells * 800)


class TestEpochs:
    def test_a_fork_over_the_rollover_leaves_no_trace(self):
        """Both children of a block begin the epoch; the weights are those of the one that won (B-9)."""
        lone, forked = auction(epoch_length=4), auction(epoch_length=4)
        for engine in (lone, forked):
            advance(engine, [start()])
            advance(engine)
            advance(engine)
        losing = propose(forked, [start(1, interval=2)])
        propose(forked, parent=losing.digest)
        roots = [advance(engine).header.state_root for engine in (lone, forked)]

        assert roots[0] == roots[1]
        # 4/5 and a fifth of (1/2 + 1 + 0 + what it left of the budget) / 4.
        (weight,) = records(forked, AUCTION_WEIGHT)
        assert weight.epoch == 1
        assert 900_000 < weight.weight < 925_000
        assert forked.audit().deviations == ()

    def test_books_hold_the_cycles_of_the_last_block(self):
        engine = auction(epoch_length=4)
        executed = advance(engine, [start()])

        assert records(engine, AUCTION_BOOKS) == [AuctionBooks(executed.summary.cycles_used, 0, 0, 2_000_000)]


class TestPhase:
    @pytest.mark.parametrize(("timer_phase", "first"), [("after", False), ("before", True)])
    def test_timers_come_before_or_after_the_transactions(self, timer_phase, first):
        engine = auction(timer_phase=timer_phase)
        advance(engine, [start()])
        advance(engine, [start(1)])
        executed = advance(engine, [start(2)])

        assert (type(receipt(executed)).__name__ == "TimerReceipt") is first

    def test_a_transaction_cancels_what_the_phase_of_its_block_left(self):
        """The lane is paused, so the timer waits; before the transactions, its owner may still take it back."""
        engine = auction(timer_phase="before", config={"execution_lane_paused": True})
        advance(engine, [do(0, 0, ["timer", 1, [], None, None, None, DEFAULT_AGENT])])
        executed = advance(engine, [do(0, 1, ["cancel_last"])])
        summary = executed.summary

        assert any(isinstance(event, DeferredSummary) for event in executed.events)
        assert (summary.cancelled, summary.waiting_live) == (1, 0)
        assert engine.audit().deviations == ()
        assert records(engine, TIMERS) == []


class TestActivation:
    @pytest.mark.parametrize(
        ("before", "own"),
        [("fifo", None), ("fifo-free", FreeConfig()), ("eip1559", LaneConfig())],
    )
    def test_timers_of_another_policy_fire_by_the_default_agent(self, before, own):
        engine = auction(entries((1, before, own), (3, "gba-auction", AuctionConfig())))
        advance(engine, [do(0, 0, ["timer", 2, []])])
        advance(engine)

        assert advance(engine).summary.fired == 1

    def test_timers_of_the_auction_are_asked_in_the_lane(self):
        engine = auction(entries((1, "gba-auction", AuctionConfig()), (3, "eip1559", LaneConfig())))
        advance(engine, [start(interval=2)])
        advance(engine)

        assert advance(engine).summary.fired == 1

    def test_an_activation_that_a_fork_takes_back_leaves_no_trace(self):
        chains = [auction(entries((1, "fifo", None), (3, "gba-auction", AuctionConfig()))) for _ in range(2)]
        for engine in chains:
            advance(engine, [start()])
        losing = propose(chains[1], [start(1)])
        propose(chains[1], parent=propose(chains[1], parent=losing.digest).digest)
        roots = [[advance(engine).header.state_root for _ in range(3)] for engine in chains]

        assert roots[0] == roots[1]


@pytest.mark.parametrize(("key", "value", "status"), [("gba", 1, Status.OK), ("cip1", 1, Status.REVERTED)])
def test_governance_changes_a_parameter_of_the_auction_by_its_key(key, value, status):
    """The lane's keys are unknown on a chain without it."""
    engine = auction()
    update = msgspec.msgpack.encode({f"system:{key}:max_gba_calls_per_block": value})
    executed = advance(engine, [transaction(0, 0, SystemUpdateTimerConfig(update))])

    assert receipt(executed).status == status
    (config,) = records(engine, AUCTION_CONFIG)
    assert config.max_gba_calls_per_block == (value if status == Status.OK else 1_000)
