"""The engine: validity of blocks and transactions, fees, reverts, timers within blocks."""

import hashlib

import msgspec
import pytest

from tests.support.chain_harness import (
    ALICE,
    BALANCE,
    BOB,
    HEART,
    PROPOSER,
    PUPPET,
    STORM,
    TEST_PROGRAMS,
    advance,
    balance_of,
    do,
    make_engine,
    make_genesis,
    order,
    pay,
    propose,
    receipt,
    stored,
    transaction,
)
from validators.execution import (
    Block,
    Engine,
    ExecuteActor,
    GenesisAccount,
    GenesisActor,
    InvalidBlockError,
    InvalidGenesisError,
    PolicyEntry,
    UnknownParentError,
    decode_entry,
)
from validators.execution.blocks import encode_transaction, header_digest
from validators.execution.genesis import genesis_hash
from validators.execution.schema import account_key, storage_key
from validators.state import mmr_root


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

        assert header.state_root == engine.database.canonical_root == executed.batch.canonical_root
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
            {"policies": (PolicyEntry(1, "lifo"),)},
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
        """Discarded writes are not paid for; the transaction itself is kept."""
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

    def test_the_lane_counts_for_the_basefee_at_most_as_a_full_block(self):
        """Cycles of fired timers raise the price like those of transactions, by at most an eighth."""
        engine = make_engine(make_genesis(block_cycles=400_000))
        advance(engine, [do(0, 0, *[["timer", 1, [["compute", 390_000]], 400_000]] * 2)])
        assert advance(engine).summary.lane_cycles == 2 * 390_200

        assert advance(engine).summary.cycle_basefee == 900

    def test_an_account_of_zeros_has_no_entry(self):
        """An actor that gave everything away leaves no account behind."""
        engine = make_engine()
        advance(engine, [order(0, 0, STORM, "withdraw", None)])

        assert engine.database.get(account_key(STORM)) is None
        assert balance_of(engine, STORM) == 0

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


def test_an_engine_needs_programs_that_genesis_names():
    """A program that is not there is found at the start, not at the first call."""
    programs = {name: program for name, program in TEST_PROGRAMS.items() if name != "puppet"}
    with pytest.raises(InvalidGenesisError, match="puppet"):
        Engine(make_genesis(), programs=programs, verify_transaction=lambda _: True)


def test_a_transaction_receipt_names_its_transaction():
    """Receipts can be matched with transactions by hash."""
    executed = propose(make_engine(), [pay(0, 0, BOB, 5)])

    assert receipt(executed).transaction == hashlib.sha256(executed.block.transactions[0]).digest()
