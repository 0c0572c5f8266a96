"""The bias auction on a chain: escrow through calls and reverts, the reserved address, agents, activation."""

import msgspec
import pytest

from scheduler import POLICIES, BidLocked, LaneConfig, TimerConfig, TimerFired
from scheduler.bias_records import BIAS_BOOKS, BiasBooks, BiasConfig
from scheduler.escrow import BID, ESCROW_ADDRESS
from scheduler.policies.fifo_free import FreeConfig
from tests.support.chain_harness import (
    ALICE,
    BALANCE,
    BOB,
    HEART,
    PROPOSER,
    PUPPET,
    advance,
    balance_of,
    do,
    make_engine,
    make_genesis,
    order,
    pay,
    policies_of,
    propose,
    receipt,
    transaction,
)
from validators.actors import HeartbeatOrder, Status
from validators.actors.orders import FeeTerms
from validators.execution import GenesisAccount, GenesisActor, InvalidGenesisError, PolicyEntry, SystemUpdateTimerConfig
from validators.execution.genesis import check_genesis

AGENT = b"\xab" * 20


def entries(*pairs):
    return tuple(
        PolicyEntry(height, policy, (own and msgspec.msgpack.encode(own)) or b"") for height, policy, own in pairs
    )


def biased(policies=None, actors=(), config=None, **parameters):
    """Return an engine of a chain in the auction whose handlers have room for few cells."""
    own = policies or policies_of("bias-auction", lane=BiasConfig(**parameters))
    actors = (
        GenesisActor(HEART, "heartbeat", ALICE, BALANCE),
        GenesisActor(PUPPET, "puppet", ALICE, BALANCE),
        *actors,
    )
    timers = TimerConfig(max_cells_per_fire=2_000, **(config or {}))
    return make_engine(make_genesis(policies=own, actors=actors, timer_config=timers, system_deployers=(ALICE,)))


def timer(delay, bid, *steps, gas_limit=10_000, gba=None):
    """Return a puppet's step that schedules a timer."""
    return ["timer", delay, [list(step) for step in steps], gas_limit, None, None, gba, bid]


def escrowed(engine):
    """Return the balance of the escrow, and the sum of the bids in the state."""
    decode, items = msgspec.msgpack.decode, engine.database.items()
    bids = sum(decode(value, type=BID.record).bid for key, value in items if key[0] == BID.code)
    return balance_of(engine, ESCROW_ADDRESS), bids


def total(engine):
    addresses = [key[1:21] for key, _ in engine.database.items() if key[0] == 1]
    return sum(balance_of(engine, address) for address in addresses)


class TestEscrow:
    def test_a_bid_is_told_of_locked_and_paid(self):
        engine = biased()
        scheduled = advance(engine, [do(0, 0, timer(1, 500))])
        assert [event.bid for event in receipt(scheduled).events if isinstance(event, BidLocked)] == [500]
        assert escrowed(engine) == (500, 500)

        before = balance_of(engine, PROPOSER)
        fired = advance(engine)
        assert [event.tip for event in fired.events if isinstance(event, TimerFired)] == [10] == [fired.summary.tips]
        assert (escrowed(engine), balance_of(engine, PROPOSER) - before) == ((0, 0), 10)

    def test_a_call_that_reverts_gets_its_bid_back(self):
        engine = biased()
        advance(engine, [do(0, 0, timer(5, 500), ["revert", "no"])])

        assert (escrowed(engine), balance_of(engine, PUPPET)) == ((0, 0), BALANCE)

    def test_a_handler_that_reverts_pays_and_its_successor_has_no_bid(self):
        engine = biased()
        advance(engine, [do(0, 0, timer(1, 500, timer(3, 700), ["revert", "no"]))])
        fired = advance(engine)

        assert [(event.ok, event.tip) for event in fired.events if isinstance(event, TimerFired)] == [(False, 10)]
        assert escrowed(engine) == (0, 0)

    def test_cancelling_returns_the_bid(self):
        engine = biased()
        advance(engine, [do(0, 0, timer(5, 500))])
        advance(engine, [do(0, 1, ["cancel_last"])])

        assert (escrowed(engine), balance_of(engine, PUPPET)) == ((0, 0), BALANCE)

    @pytest.mark.parametrize("bid", [5, BALANCE + 1])
    def test_a_refused_bid_locks_nothing(self, bid):
        engine = biased()
        executed = advance(engine, [do(0, 0, timer(5, bid))])

        assert receipt(executed).error == ("BidBelowReserve" if bid == 5 else "BidNotCovered")
        assert escrowed(engine) == (0, 0)

    def test_an_agent_bids_and_the_call_pays_for_asking(self):
        """The default agent bids twice the basefee and no tip, so the bid is nothing."""
        engine = biased(actors=[GenesisActor(AGENT, "default-agent", bytes(20))])
        asked, alone = (
            receipt(advance(engine, [do(0, nonce, timer(5, None, gba=gba))])).cycles
            for nonce, gba in enumerate((AGENT, None))
        )

        assert asked - alone == 10_000
        executed = advance(engine, [do(0, 2, timer(5, None, gba=BOB))])
        assert receipt(executed).error == "AgentFailed"


class TestReservedAddress:
    def test_no_transfer_goes_to_the_escrow(self):
        engine = biased()
        executed = advance(engine, [pay(0, 0, ESCROW_ADDRESS, 5), do(0, 1, ["pay", ESCROW_ADDRESS, 5])])
        found = [receipt(executed, index) for index in (0, 1)]

        assert [(each.status, each.error) for each in found] == [(int(Status.REVERTED), "ReservedAddress")] * 2
        assert escrowed(engine) == (0, 0)

    def test_the_address_is_free_on_chains_without_bids(self):
        engine = make_engine()
        advance(engine, [pay(0, 0, ESCROW_ADDRESS, 5)])

        assert balance_of(engine, ESCROW_ADDRESS) == 5

    @pytest.mark.parametrize(
        "change",
        [
            {"accounts": (GenesisAccount(ESCROW_ADDRESS, 1),)},
            {"actors": (GenesisActor(ESCROW_ADDRESS, "heartbeat", ALICE),)},
            {"validators": (ESCROW_ADDRESS,)},
        ],
    )
    def test_genesis_puts_nothing_there(self, change):
        genesis = make_genesis(policies=policies_of("bias-auction", lane=BiasConfig()), **change)

        with pytest.raises(InvalidGenesisError, match="is reserved for the deposits of timers"):
            check_genesis(genesis, POLICIES)


class TestActivation:
    @pytest.mark.parametrize(("after", "own"), [("fifo", None), ("eip1559", LaneConfig())])
    def test_q54_bids_go_back_as_timers_leave_under_the_next_policy(self, after, own):
        engine = biased(entries((1, "bias-auction", BiasConfig()), (3, after, own)))
        advance(engine, [do(0, 0, timer(2, 500), timer(9, 700))])
        advance(engine)
        assert escrowed(engine) == (1_200, 1_200)

        fired = advance(engine)
        assert fired.summary.fired == 1
        assert escrowed(engine) == (700, 700)
        advance(engine, [do(0, 1, ["cancel_last"])])
        assert escrowed(engine) == (0, 0)

    @pytest.mark.parametrize(("before", "own"), [("fifo", None), ("fifo-free", FreeConfig())])
    def test_pending_timers_compete_without_a_bid(self, before, own):
        engine = biased(entries((1, before, own), (3, "bias-auction", BiasConfig(lambda_window_blocks=0))))
        advance(engine, [do(0, 0, timer(2, None))])
        advance(engine)
        fired = advance(engine)

        assert [event.tip for event in fired.events if isinstance(event, TimerFired)] == [0]
        stored = engine.database.get(BIAS_BOOKS.key())
        assert msgspec.msgpack.decode(stored, type=BiasBooks) == BiasBooks(100_000, 100_000, 0, 4)


def test_governance_changes_the_reserve_from_the_next_block_on():
    engine = biased()
    update = transaction(0, 0, SystemUpdateTimerConfig(msgspec.msgpack.encode({"system:bias:reserve": 600})))
    first = advance(engine, [update, do(0, 1, timer(5, 500))])
    second = advance(engine, [do(0, 2, timer(5, 500))])

    assert [receipt(first, 1).error, receipt(second).error] == ["", "BidBelowReserve"]


def test_two_branches_have_their_own_escrow():
    engine = biased()
    start = order(0, 0, HEART, "start", HeartbeatOrder(2, terms=FeeTerms(bid=400)))
    with_bid, without = propose(engine, [start]), propose(engine, [pay(0, 0, BOB, 1)])
    one, other = (propose(engine, [], parent=block.digest) for block in (with_bid, without))
    engine.finalize(one.digest)

    assert (with_bid.header.state_root, other.summary.fired) != (without.header.state_root, 1)
    assert escrowed(engine) == (400, 400)
