"""Scheduled transactions on a chain: calls through the host, deposits, governance, forks, restarts."""

import msgspec
import pytest

from scheduler import TimerConfig, TimerFired, TransactionFailed
from scheduler.aptos_records import AUTHORIZATION, DEPOSITS, QUEUE_ENTRY, REMOVAL_SLOT
from scheduler.events import AuthorizationRaised, ServiceStatusChanged, ShutdownEvent, TransactionScheduled
from tests.support.chain_harness import (
    ALICE,
    BALANCE,
    HEART,
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
from tests.support.queue_bench import config_of
from validators.actors import HeartbeatOrder, Status
from validators.execution import GenesisAccount, SystemUpdateTimerConfig
from validators.execution.blocks import CancelAll, SystemControlService
from validators.execution.errors import InvalidGenesisError
from validators.execution.schema import TIMERS


def genesis_of(profile="aip", config=None, **own):
    """Return a genesis of a profile, in slots."""
    parameters = config_of({"profile": profile, **own})
    return make_genesis(
        timebase="slot",
        policies=policies_of("aptos", lane=parameters),
        timer_config=TimerConfig(**{"max_cells_per_fire": 2_000, **(config or {})}),
        system_deployers=(ALICE,),
    )


def queue(profile="aip", config=None, **own):
    """Return an engine of such a chain."""
    return make_engine(genesis_of(profile, config, **own))


def records(engine, table):
    """Return the finalized records of a table."""
    found = [value for key, value in sorted(engine.database.items()) if key[0] == table.code]
    return [msgspec.msgpack.decode(value, type=table.record) for value in found]


def owed(engine):
    """Return what all bodies have put down."""
    return sum(timer.gas_limit * timer.quote.max_fee_per_cycle for timer in records(engine, TIMERS))


def timer(delay=1, gas_limit=20_000, steps=()):
    """Return a puppet's step that inserts an entry."""
    return ["timer", delay, list(steps), gas_limit]


def control(nonce, action, batch=0):
    return transaction(0, nonce, SystemControlService(action, batch))


def kinds(executed):
    """Return the kinds of a block's events, in order."""
    return [type(event).__name__ for event in executed.events]


class TestDay:
    def test_an_entry_runs_in_its_slot_and_pays_out_of_its_deposit(self):
        engine = queue()
        scheduled = advance(engine, [do(0, 0, timer(steps=[["put", b"k", b"v"]]))])
        held = balance_of(engine, DEPOSITS)
        ran = advance(engine)

        assert [type(event) for event in scheduled.events][1] is TransactionScheduled
        assert held == 20_000 * 100
        (fired,) = [event for event in ran.events if isinstance(event, TimerFired)]
        # No other transaction is in the block: the least price, on cycles and cells alike.
        assert fired.burned == 100 * (fired.used_cycles + fired.used_cells)
        assert balance_of(engine, PUPPET) == BALANCE - fired.burned
        assert (balance_of(engine, DEPOSITS), records(engine, TIMERS)) == (0, [])

    def test_a_key_stays_until_the_next_prologue(self):
        engine = queue()
        advance(engine, [do(0, 0, timer())])
        advance(engine)
        kept = records(engine, QUEUE_ENTRY), records(engine, REMOVAL_SLOT)
        advance(engine)

        assert [len(each) for each in kept] == [1, 1]
        assert kept[1][0].keys == (kept[0][0].key,)
        assert records(engine, QUEUE_ENTRY) == records(engine, REMOVAL_SLOT) == []

    def test_a_leader_that_leaves_candidates_out_merges_as_its_checkers(self):
        """An invalid candidate of a low price puts no entry ahead of the valid one behind it."""
        engine, other = queue(), queue()
        first = advance(engine, [do(0, 0, timer())])
        other.execute(first.block)
        other.finalize(first.digest)
        invalid = pay(1, 7, ALICE, 1, max_fee_per_cycle=800, priority_fee_per_cycle=0)
        built = propose(engine, [invalid, pay(1, 0, ALICE, 1)])

        assert built.summary.transactions == 1
        assert other.execute(built.block).digest == built.digest

    def test_a_restart_goes_on_where_a_block_left_marked_keys(self):
        genesis = genesis_of()
        engine = make_engine(genesis)
        blocks = [advance(engine, [do(0, 0, timer(), timer(3))]), advance(engine)]
        operations = [operation for block in blocks for operation in block.operations]
        again = make_engine(genesis, operations=operations, header=engine.finalized)
        built = propose(engine)

        assert len(records(again, REMOVAL_SLOT)) == 1
        assert again.execute(built.block).digest == built.digest

    def test_a_heart_beats_by_inserting_its_successor(self):
        engine = queue()
        advance(engine, [order(0, 0, HEART, "start", HeartbeatOrder(1))])
        for _ in range(4):
            assert advance(engine).summary.fired == 1
            assert balance_of(engine, DEPOSITS) == owed(engine) == 550_000 * 100

    def test_a_handler_that_uses_up_its_gas_by_cells_is_out_of_gas(self):
        """Each cell takes of the gas amount as a cycle does, at equal basefees."""
        engine = queue()
        advance(engine, [do(0, 0, timer(gas_limit=1_000, steps=[["put", b"k", bytes(900)]]))])
        (fired,) = [event for event in advance(engine).events if isinstance(event, TimerFired)]

        assert (fired.ok, fired.used_cycles, fired.used_cells, fired.burned) == (False, 1_000, 0, 100_000)

    def test_an_entry_whose_cancellation_came_to_nothing_runs_behind_it(self):
        """It left the index twice, and the block stopped every validator (found by the swarm, seed 1060)."""
        engine = queue()
        advance(engine, [do(0, 0, timer())])
        block = advance(engine, [do(0, 1, ["cancel_last"], ["revert", "no"])])

        assert (block.summary.fired, block.summary.cancelled) == (1, 0)

    def test_an_index_by_price_is_that_of_the_state(self):
        engine = queue(ready_order="price", ready_limit=1)
        advance(engine, [do(0, 0, timer(1), timer(1), timer(2), timer(3))])
        fired = [advance(engine).summary.fired for _ in range(2)]

        assert (fired, engine.audit().deviations) == ([1, 1], ())

    def test_a_failed_run_has_both_events(self):
        engine = queue()
        advance(engine, [do(0, 0, timer(steps=[["revert", "no"]]))])

        assert kinds(advance(engine)) == ["TimerFired", "TransactionFailed"]

    def test_a_block_after_an_outage_expires_what_is_past(self):
        engine = queue()
        advance(engine, [do(0, 0, timer(1), timer(9))])
        late = advance(engine, after_ms=12_000)

        assert (late.summary.expired, late.summary.fired, late.summary.gc_cycles) == (1, 1, 0)
        assert balance_of(engine, DEPOSITS) == owed(engine) == 0


class TestGovernance:
    def test_a_shutdown_in_batches_and_a_restart(self):
        engine = queue(shutdown_batch=3)
        advance(engine, [do(0, 0, *(timer(number + 5) for number in range(5)))])
        started = advance(engine, [control(1, "start_shutdown"), do(0, 2, timer())])
        first, second = (
            advance(engine, [control(3, "continue_shutdown")]),
            advance(engine, [control(4, "continue_shutdown", 9)]),
        )

        assert receipt(started).events == (ServiceStatusChanged(2), ShutdownEvent(complete=False))
        assert receipt(started, 1).error == "EUNAVAILABLE"
        assert [sum(isinstance(event, TransactionFailed) for event in each.events) for each in (first, second)] == [
            3,
            2,
        ]
        assert second.events[-2:] == (ServiceStatusChanged(3), ShutdownEvent(complete=True))
        assert balance_of(engine, DEPOSITS) == owed(engine) == 0
        advance(engine, [control(5, "re_initialize"), do(0, 6, timer())])
        assert advance(engine).summary.fired == 1

    def test_a_stranger_controls_nothing(self):
        engine = queue()
        done = advance(engine, [transaction(1, 0, SystemControlService("pause", 0))])

        assert (receipt(done).status, receipt(done).error) == (int(Status.REVERTED), "Unauthorized")

    def test_a_number_raised_on_one_branch_drops_nothing_on_the_other(self):
        engine = queue("latest")
        advance(engine, [do(0, 0, timer(2))])
        raised = propose(engine, [transaction(0, 1, CancelAll(PUPPET))])
        calm = propose(engine, skipped_views=1)
        dropped = propose(engine, parent=raised.digest)
        ran = propose(engine, parent=calm.digest)

        assert receipt(raised).events == (AuthorizationRaised(PUPPET, 2),)
        assert [event.code.value for event in dropped.events if isinstance(event, TransactionFailed)] == ["AuthExpired"]
        assert (dropped.summary.fired, ran.summary.fired) == (0, 1)
        engine.finalize(ran.digest)
        assert [record.number for record in records(engine, AUTHORIZATION)] == [1]
        assert engine.audit().deviations == ()

    def test_only_an_owner_raises_a_number(self):
        engine = queue("latest")
        advance(engine, [do(0, 0, timer(9))])
        done = advance(engine, [transaction(1, 0, CancelAll(PUPPET)), transaction(0, 1, CancelAll(HEART))])

        assert [receipt(done, index).error for index in (0, 1)] == ["Unauthorized", "EAUTH_NUM_NOT_FOUND"]

    def test_other_policies_know_neither_call(self):
        engine = make_engine(make_genesis(system_deployers=(ALICE,)))
        done = advance(engine, [control(0, "pause"), transaction(0, 1, CancelAll(PUPPET))])

        assert [receipt(done, index).error for index in (0, 1)] == ["InvalidInput", "InvalidInput"]

    def test_a_parameter_holds_from_the_next_block(self):
        engine = queue()
        update = SystemUpdateTimerConfig(msgspec.msgpack.encode({"system:aptos:ready_limit": 1}))
        advance(engine, [transaction(0, 0, update), do(0, 1, timer(), timer())])

        assert [advance(engine).summary.fired for _ in range(2)] == [1, 1]


class TestReserved:
    def test_nobody_moves_units_to_the_deposits(self):
        engine = queue()
        done = advance(engine, [pay(0, 0, DEPOSITS, 5), do(0, 1, ["pay", DEPOSITS, 5])])

        assert [receipt(done, index).error for index in (0, 1)] == ["ReservedAddress", "ReservedAddress"]
        assert balance_of(engine, DEPOSITS) == 0

    def test_genesis_has_nobody_at_the_deposits(self):
        with pytest.raises(InvalidGenesisError, match="is reserved"):
            make_engine(msgspec.structs.replace(genesis_of(), accounts=(GenesisAccount(DEPOSITS, 1),)))

    def test_a_chain_in_height_time_is_refused(self):
        with pytest.raises(InvalidGenesisError, match="policy 'aptos' counts in slots, not heights"):
            make_engine(msgspec.structs.replace(genesis_of(), timebase="height"))
