"""The engine: validity of blocks and transactions, fees, reverts, timers within blocks."""

import hashlib

import msgspec
import pytest

from scheduler import TimerConfig, TimerExpired, TimerFired, TimerScheduled
from tests.chain_harness import (
    ALICE,
    BALANCE,
    BOB,
    HEART,
    POOR,
    PROPOSER,
    PUPPET,
    STORM,
    TEST_PROGRAMS,
    advance,
    do,
    make_engine,
    make_genesis,
    order,
    pay,
    propose,
    transaction,
)
from validators.actors import HeartbeatOrder, StormOrder
from validators.execution import (
    Block,
    Engine,
    ExecuteActor,
    GenesisAccount,
    GenesisActor,
    InvalidBlockError,
    InvalidGenesisError,
    UnknownParentError,
    decode_entry,
    decode_receipt,
)
from validators.execution.blocks import encode_transaction, header_digest
from validators.execution.genesis import genesis_hash
from validators.execution.schema import account_key, storage_key
from validators.state import mmr_root


def balance_of(engine, address):
    stored = engine.database.get(account_key(address))
    return 0 if stored is None else msgspec.msgpack.decode(stored)[0]


def stored(engine, actor, key):
    value = engine.database.get(storage_key(actor, key))
    return None if value is None else msgspec.msgpack.decode(value)[0]


def receipt(executed, index=0):
    return decode_receipt(executed.receipts[index])


def rebuilt(block, **changes):
    return Block(msgspec.structs.replace(block.header, **changes), block.transactions)


class TestHeader:
    def test_genesis_commits_to_everything(self):
        """Block 0 names the hash of genesis as parent, so a changed limit is another chain."""
        genesis, other = make_genesis(), make_genesis(block_cells=9_999_999)
        engine = make_engine(genesis)

        assert engine.finalized.parent == genesis_hash(genesis)
        assert engine.finalized_digest == engine.genesis_digest == header_digest(engine.finalized)
        assert engine.genesis_digest != make_engine(other).genesis_digest
        assert engine.finalized.state_root == make_engine(other).finalized.state_root

    def test_a_block_commits_to_state_transactions_and_receipts(self):
        """The roots are those of the database after the block and of both lists."""
        engine = make_engine()
        executed = advance(engine, [pay(0, 0, BOB, 5)])
        header = executed.header

        assert header.state_root == engine.database.root == executed.batch.root
        assert header.tx_root == mmr_root([encode_transaction(pay(0, 0, BOB, 5))])
        assert header.receipts_root == mmr_root(executed.receipts)
        assert executed.digest == header_digest(header)
        assert engine.finalized == header

    @pytest.mark.parametrize(
        "change",
        [
            {"version": 2},
            {"height": 2},
            {"consensus_epoch": 1},
            {"view": 0},
            {"proposer": 2},
            {"slot": 2},
            {"timestamp_ms": 0, "slot": 0},
            {"state_root": bytes(32)},
            {"tx_root": bytes(32)},
            {"receipts_root": bytes(32)},
        ],
    )
    def test_a_header_with_one_wrong_field_is_refused(self, change):
        """No field of a header can be changed without notice, and a refusal leaves no branch."""
        block = propose(make_engine(), [pay(0, 0, BOB, 5)]).block
        engine = make_engine()

        with pytest.raises(InvalidBlockError):
            engine.execute(rebuilt(block, **change))
        assert engine.executed(header_digest(rebuilt(block, **change).header)) is None
        assert engine.execute(block).header == block.header

    def test_a_slot_may_equal_its_parents(self):
        """Two blocks may fall in one slot; only the timestamp must grow."""
        engine = make_engine(make_genesis(timebase="slot"))
        first = advance(engine, after_ms=1_000)
        second = advance(engine, after_ms=1)

        assert first.header.slot == second.header.slot == 1

    def test_other_transactions_under_a_known_header_are_refused(self):
        """A header seen before does not let other transactions through."""
        engine = make_engine()
        block = propose(engine, [pay(0, 0, BOB, 5)]).block

        with pytest.raises(InvalidBlockError, match="tx_root"):
            engine.execute(Block(block.header, ()))
        with pytest.raises(InvalidBlockError, match="tx_root"):
            make_engine().execute(Block(block.header, ()))

    def test_a_block_on_an_unknown_parent_is_refused(self):
        """Nothing is executed without its parent's state."""
        other = make_engine()
        first = propose(other)
        second = propose(other, parent=first.digest)

        with pytest.raises(UnknownParentError):
            make_engine().execute(second.block)


class TestGenesis:
    @pytest.mark.parametrize(
        "change",
        [
            {"validators": ()},
            {"min_basefee": 7, "cycle_basefee": 7},
            {"cycle_basefee": 799},
            {"cell_basefee": 799},
            {"policy": "lifo"},
            {"accounts": (GenesisAccount(ALICE, 1), GenesisAccount(ALICE, 1))},
            {"accounts": (GenesisAccount(HEART, 1),)},
            {"accounts": (GenesisAccount(ALICE, 2**63 - 1),)},
            {"actors": (GenesisActor(HEART, "no such program", ALICE),)},
            {"actors": (GenesisActor(HEART, "puppet", ALICE, 0, ((b"k", b"1"), (b"k", b"2"))),)},
        ],
    )
    def test_a_genesis_that_contradicts_itself_is_refused(self, change):
        """Each contradiction is found before anything runs."""
        with pytest.raises(InvalidGenesisError):
            make_engine(make_genesis(**change))

    def test_genesis_storage_is_there_under_short_and_long_keys(self):
        """Both kinds of key can be decoded back to actor and key."""
        entries = [decode_entry(key, value) for key, value in make_engine().database.items()]
        short = [entry for entry in entries if entry.table == "storage"]
        long = [entry for entry in entries if entry.table == "long storage"]

        assert [(entry.identity, entry.record.value) for entry in short] == [((PUPPET, b"born"), b"yes")]
        assert [(entry.record.actor, entry.record.key) for entry in long] == [(PUPPET, b"a key too long to stand")]


class TestTransactions:
    @pytest.mark.parametrize(
        "bad",
        [
            pay(0, 1, BOB, 1),
            pay(0, 0, BOB, 1, signature=b"\x01" * 64),
            pay(0, 0, BOB, 1, max_fee_per_cycle=799, priority_fee_per_cycle=0),
            pay(0, 0, BOB, 1, max_fee_per_cell=799),
            pay(0, 0, BOB, 1, priority_fee_per_cycle=2_001),
            pay(0, 0, BOB, 1, cycles_limit=999),
            pay(0, 0, BOB, 1, cells_limit=10),
            pay(0, 0, BOB, 1, cycles_limit=10_000_001),
            pay(0, 0, BOB, 1, cells_limit=10_000_001),
            pay(0, 0, BOB, 1, max_fee_per_cycle=BALANCE),
        ],
    )
    def test_a_leader_skips_what_may_not_stand_and_others_refuse_it(self, bad):
        """Nonce, signature, fees, limits and balance are rules of validity."""
        engine = make_engine()
        executed = propose(engine, [bad, pay(1, 0, ALICE, 1)])

        assert executed.summary.transactions == 1
        forged = Block(
            msgspec.structs.replace(executed.header, tx_root=mmr_root([encode_transaction(bad)])),
            (encode_transaction(bad),),
        )
        with pytest.raises(InvalidBlockError, match="transaction 0"):
            engine.execute(forged)

    @pytest.mark.parametrize("junk", [b"", b"\x90", b"\xc1", b"\x99" + bytes(9)])
    def test_a_block_with_undecodable_transactions_is_refused(self, junk):
        """Bytes that are no transaction make the block invalid and nothing else."""
        engine = make_engine()
        header = msgspec.structs.replace(propose(engine).header, tx_root=mmr_root([junk]))

        with pytest.raises(InvalidBlockError, match="transaction 0"):
            engine.execute(Block(header, (junk,)))

    def test_limits_gate_and_use_counts(self):
        """A block takes a transaction whose limit fits what earlier ones did not use."""
        engine = make_engine(make_genesis(block_cycles=500_000))
        executed = propose(engine, [pay(0, nonce, BOB, 1, cycles_limit=499_000) for nonce in range(3)])

        assert executed.summary.transactions == 1
        executed = propose(engine, [pay(0, nonce, BOB, 1, cycles_limit=490_000) for nonce in range(20)])
        assert executed.summary.transactions == 10
        assert executed.summary.cycles_used == 11_000

    def test_fees_are_charged_burned_tipped_and_refunded(self):
        """The sender pays burn and tip for what was used; the tip is capped by the maximum fee."""
        engine = make_engine()
        executed = advance(engine, [pay(0, 0, BOB, 7), pay(1, 0, BOB, 0, max_fee_per_cycle=802)])
        first, second = receipt(executed), receipt(executed, 1)
        size = len(encode_transaction(pay(0, 0, BOB, 7)))

        assert (first.status, first.cycles, first.cells) == (0, 1_100, size)
        assert (first.burned, first.tip) == (1_100 * 800 + size * 800, 1_100 * 3)
        assert second.tip == 1_100 * 2
        assert balance_of(engine, ALICE) == BALANCE - 7 - first.burned - first.tip
        assert balance_of(engine, BOB) == BALANCE + 7 - second.burned - second.tip
        assert balance_of(engine, PROPOSER) == first.tip + second.tip
        assert executed.summary.burned == first.burned + second.burned
        assert executed.summary.tips == first.tip + second.tip

    def test_tips_go_to_the_proposer_of_the_header(self):
        """The second validator's block pays the second validator."""
        engine = make_engine()
        advance(engine, [pay(0, 0, BOB, 7)], proposer=1)

        assert balance_of(engine, PROPOSER) == 0
        assert balance_of(engine, b"\xef" * 20) == 1_100 * 3

    def test_a_transfer_beyond_the_balance_reverts_and_pays(self):
        """A transaction that fails stands in the block and pays for its work."""
        engine = make_engine()
        executed = advance(engine, [pay(0, 0, BOB, BALANCE)])

        assert (receipt(executed).status, receipt(executed).error) == (1, "InsufficientBalance")
        assert balance_of(engine, BOB) == BALANCE
        assert balance_of(engine, ALICE) == BALANCE - receipt(executed).burned - receipt(executed).tip

    def test_a_revert_discards_writes_transfers_timers_and_events(self):
        """Nothing that a reverted call did remains, but its nonce and its fee."""
        engine = make_engine()
        steps = (["put", b"k", b"v"], ["pay", BOB, 9], ["timer", 1, []], ["emit", "gone"], ["revert", "no"])
        executed = advance(engine, [do(0, 0, *steps)])

        assert (receipt(executed).status, receipt(executed).error) == (1, "no")
        assert receipt(executed).events == ()
        assert stored(engine, PUPPET, b"k") is None
        assert balance_of(engine, BOB) == BALANCE
        assert engine.due_heights(10**6) == []
        assert executed.summary.scheduled == 0
        assert receipt(advance(engine, [do(0, 1)])).status == 0

    def test_a_revert_pays_cells_for_the_transaction_only(self):
        """What is not kept is not paid for; the transaction itself is kept."""
        engine = make_engine()
        failing = do(0, 0, ["put", b"k", bytes(500)], ["revert", "no"])
        executed = advance(engine, [failing])

        assert receipt(executed).cells == len(encode_transaction(failing))
        assert receipt(executed).cycles == 1_000 + 200 + 100

    def test_out_of_gas_uses_all_cycles_even_if_the_program_goes_on(self):
        """Catching OutOfGas gains nothing."""
        engine = make_engine()
        executed = advance(engine, [do(0, 0, ["put", b"k", b"v"], ["swallow", 10**9], ["revert", "x"])])

        assert (receipt(executed).status, receipt(executed).error) == (2, "OutOfGas")
        assert receipt(executed).cycles == 400_000
        assert stored(engine, PUPPET, b"k") is None

    def test_a_bug_in_a_program_reverts_and_nothing_more(self):
        """A validator survives every exception of a program."""
        engine = make_engine()
        executed = advance(engine, [do(0, 0, ["put", b"k", b"v"], ["crash"])])

        assert (receipt(executed).status, receipt(executed).error) == (3, "")
        assert stored(engine, PUPPET, b"k") is None

    @pytest.mark.parametrize(
        ("actor", "handler", "error"),
        [
            (b"\x01" * 20, "do", "UnknownActor"),
            (PUPPET, "hidden", "UnknownHandler"),
            (PUPPET, "__init__", "UnknownHandler"),
        ],
    )
    def test_only_named_handlers_of_known_actors_can_be_called(self, actor, handler, error):
        """A method that is not listed is not reachable from outside."""
        engine = make_engine()
        executed = advance(engine, [transaction(0, 0, ExecuteActor(actor, handler, b""))])

        assert (receipt(executed).status, receipt(executed).error) == (1, error)

    def test_basefees_move_with_use(self):
        """A full block raises the next basefee by an eighth, an empty one lowers it to the floor."""
        engine = make_engine(make_genesis(block_cycles=400_000))
        busy = advance(engine, [do(0, 0, ["compute", 398_000])])
        idle = advance(engine)

        assert busy.summary.cycle_basefee == 800
        assert idle.summary.cycle_basefee == 899
        assert idle.summary.cell_basefee == 800
        assert advance(engine).summary.cycle_basefee == 800

    def test_the_batch_holds_exactly_what_differs(self):
        """A value written and restored within a block is no change; neither is a write of the same value."""
        engine = make_engine()
        executed = advance(
            engine,
            [
                do(0, 0, ["put", b"born", b"no"], ["put", b"x", b"1"]),
                do(0, 1, ["put", b"born", b"yes"], ["delete", b"x"]),
            ],
        )
        tables = sorted(decode_entry(key, value).table for key, value in executed.changes.items() if value)

        assert storage_key(PUPPET, b"born") not in executed.changes
        assert storage_key(PUPPET, b"x") not in executed.changes
        assert tables == ["account", "account", "burned"]


class TestTimersInBlocks:
    def test_a_timer_fires_after_the_transactions_of_its_block(self):
        """Transactions come first; the timer sees what they wrote and its owner pays."""
        engine = make_engine()
        advance(engine, [do(0, 0, ["timer", 1, [["put", b"k", b"timer"]], 10_000])])
        executed = advance(engine, [do(0, 1, ["put", b"k", b"transaction"])])
        event = executed.events[-1]

        assert stored(engine, PUPPET, b"k") == b"timer"
        assert isinstance(event, TimerFired)
        assert (event.used_cycles, event.used_cells) == (300, 6)
        assert balance_of(engine, PUPPET) == BALANCE - 306 * 800
        assert receipt(executed, -1).event == event

    def test_a_reverted_fire_is_gone_and_wrote_nothing(self):
        """The timer leaves; its handler's writes and timers do not come in."""
        engine = make_engine()
        advance(engine, [do(0, 0, ["timer", 1, [["put", b"k", b"v"], ["timer", 1, []], ["revert", "no"]], 10_000])])
        executed = advance(engine)

        assert (executed.summary.fired, executed.summary.reverted) == (1, 1)
        assert stored(engine, PUPPET, b"k") is None
        assert engine.due_heights(10**6) == []

    def test_a_timer_of_an_actor_may_be_paid_by_the_sender(self):
        """The poor actor's timer fires at the sender's cost; without a payer it is destroyed."""
        engine = make_engine()
        timers = (["timer", 1, [], 1_000, None, ALICE], ["timer", 1, [], 1_000])
        advance(engine, [do(0, 0, *timers, actor=POOR)])
        before = balance_of(engine, ALICE)
        executed = advance(engine)

        assert (executed.summary.fired, executed.summary.insolvent) == (1, 1)
        assert balance_of(engine, ALICE) == before - 200 * 800

    def test_cancelling_from_a_handler_is_too_late_for_the_same_block(self):
        """Q-28: what the phase has collected fires, and the program can see why its cancel failed."""
        engine = make_engine()
        advance(engine, [do(0, 0, ["timer", 1, [["cancel_last"]], 10_000], ["timer", 1, [], 10_000])])
        executed = advance(engine)

        assert executed.summary.fired == 2
        assert [event.topic for event in executed.events if type(event).__name__ == "Emitted"] == ["AlreadyCollected"]

    def test_a_deferred_timer_can_be_cancelled_and_extended_in_the_next_block(self):
        """What waits is still its owner's, and the carried list follows."""
        config = TimerConfig(max_cells_per_fire=0, lane_timer_cycles=10_000)
        engine = make_engine(make_genesis(timer_config=config))
        blocker = ["timer", 1, [["compute", 9_000]], 10_000]
        advance(engine, [do(0, 0, blocker, ["timer", 1, [], 10_000, 5])])
        assert advance(engine).summary.waiting_live == 1
        extended = advance(engine, [do(0, 1, ["extend_last", 500], ["timer", 1, [], 10_000])])
        assert extended.summary.fired == 1

        advance(engine, [do(0, 2, blocker, ["timer", 1, [], 10_000])])
        assert advance(engine).summary.waiting_live == 1
        assert advance(engine, [do(0, 3, ["cancel_last"])]).summary.waiting_live == 0

    def test_every_missed_slot_is_due_at_once_after_an_outage(self):
        """Slot time goes on while the chain is down: what expired meanwhile leaves, what lives fires."""
        engine = make_engine(make_genesis(timebase="slot"))
        timers = [["timer", delay, [], 1_000, 50] for delay in range(1, 101)]
        advance(engine, [do(0, 0, *timers)])
        executed = advance(engine, after_ms=100_000)

        assert executed.header.height == 2
        assert executed.header.slot == 101
        assert (executed.summary.expired, executed.summary.fired) == (49, 51)
        dues = [event.due for event in executed.events if isinstance(event, TimerFired)]
        assert dues == list(range(51, 102))

    def test_dead_timers_drain_within_the_gc_budget_while_live_ones_fire(self):
        """A storm takes as many blocks as the budget says, and a heartbeat beats in each of them."""
        config = TimerConfig(max_cells_per_fire=100, gc_cycles_per_block=200 * 100)
        engine = make_engine(make_genesis(timer_config=config, timebase="slot"))
        storm = StormOrder(count=1_000, delay=1, not_before=5, spread=7, ttl=3, gas_limit=1_000, payload_size=8)
        advance(engine, [order(0, 0, STORM, "make", storm), order(0, 1, HEART, "start", HeartbeatOrder(1, 5_000))])
        advance(engine, after_ms=60_000)
        drained = [advance(engine).summary for _ in range(9)]

        assert [summary.expired for summary in drained] == [100] * 9
        assert [summary.fired for summary in drained] == [1] * 9
        assert drained[-1].waiting_dead == 0
        assert all(summary.gc_cycles <= 20_000 for summary in drained)

    def test_a_storm_is_made_whole_or_not_at_all(self):
        """An order beyond the per-actor cap reverts and leaves nothing."""
        engine = make_engine()
        storm = StormOrder(count=1_025, delay=1, not_before=0, spread=7, ttl=3, payload_size=0)
        executed = advance(engine, [order(0, 0, STORM, "make", storm)])

        assert (receipt(executed).status, receipt(executed).error) == (1, "TooManyTimers")
        assert not any(isinstance(event, TimerScheduled) for event in executed.events)

    def test_an_over_long_outage_expires_by_the_edge(self):
        """At expires_at a timer still fires; one later it is expired."""
        engine = make_engine()
        advance(engine, [do(0, 0, ["timer", 1, [], 1_000, 0])])
        assert advance(engine).summary.fired == 1

        engine = make_engine(make_genesis(timebase="slot"))
        advance(engine, [do(0, 0, ["timer", 1, [], 1_000, 0])])
        event = advance(engine, after_ms=2_000).events[-1]
        assert isinstance(event, TimerExpired)
        assert (event.expires_at, event.current_height) == (2, 3)


def test_two_engines_share_no_object_that_changes():
    """A record that one validator holds decoded is not the object that another holds."""
    first, second = make_engine(), make_engine()
    block = advance(first, [do(0, 0, ["timer", 5, []])]).block
    second.execute(block)
    second.finalize(header_digest(block.header))
    mine = {id(record) for _, record in first._cache._records.values()}

    assert mine
    assert not any(id(record) in mine for _, record in second._cache._records.values())


def test_a_decoded_record_changed_in_place_shows_in_the_live_values():
    """The read-back encodes what the validator holds, not what it stored."""
    engine = make_engine()
    advance(engine, [pay(0, 0, BOB, 5)])
    honest = dict(engine.live_values())
    assert honest == dict(engine.database.items())

    _, record = engine._cache._records[account_key(BOB)]
    msgspec.structs.force_setattr(record, "balance", record.balance + 1)
    corrupt = dict(engine.live_values())

    assert [key for key in honest if honest[key] != corrupt[key]] == [account_key(BOB)]


def test_an_engine_needs_programs_that_genesis_names():
    """A program that is not there is found at the start, not at the first call."""
    programs = {name: program for name, program in TEST_PROGRAMS.items() if name != "puppet"}
    with pytest.raises(InvalidGenesisError, match="puppet"):
        Engine(make_genesis(), programs=programs, verify_transaction=lambda _: True)


def test_a_transaction_receipt_names_its_transaction():
    """Receipts can be matched with transactions by hash."""
    executed = propose(make_engine(), [pay(0, 0, BOB, 5)])

    assert receipt(executed).transaction == hashlib.sha256(executed.block.transactions[0]).digest()
