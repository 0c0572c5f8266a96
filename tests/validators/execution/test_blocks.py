"""Blocks and transactions: one encoding each, strict decoding, digests that cover everything."""

import contextlib
import hashlib

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler import CalendarProfile, LaneConfig, TimerConfig
from scheduler.bias_records import BiasConfig
from scheduler.gba_records import AuctionConfig
from scheduler.watch_records import TriggerConfig
from tests.support.chain_harness import (
    ALICE,
    BALANCE,
    BOB,
    HEART,
    KEYS,
    PUPPET,
    do,
    in_lane,
    make_engine,
    make_genesis,
    order,
    pay,
    policies_of,
    propose,
    transaction,
)
from tests.support.queue_bench import config_of
from validators.actors import HeartbeatOrder
from validators.actors.orders import FeeTerms
from validators.execution import (
    Block,
    ExecuteActor,
    GenesisActor,
    Header,
    InvalidEncodingError,
    PolicyEntry,
    Transaction,
    Transfer,
    address_of,
)
from validators.execution.blocks import (
    SystemControlService,
    block_digest,
    decode_block,
    decode_header,
    decode_sealed,
    decode_transaction,
    encode_block,
    encode_header,
    encode_sealed,
    encode_transaction,
    header_digest,
    transaction_digest,
    transaction_signing_bytes,
    without_seal,
)
from validators.execution.errors import CorruptStateError
from validators.execution.schema import all_tables, decode_entry

U63 = st.integers(0, 2**63 - 1)
B20, B32, B64 = (st.binary(min_size=size, max_size=size) for size in (20, 32, 64))
TEXT = st.text(st.characters(codec="utf-8"), max_size=20)
CALLS = st.builds(Transfer, B20, U63) | st.builds(ExecuteActor, B20, TEXT, st.binary(max_size=40))
TRANSACTIONS = st.builds(Transaction, B32, U63, U63, U63, U63, U63, U63, CALLS, B64)
HEADERS = st.builds(Header, U63, U63, U63, U63, B32, U63, U63, U63, B32, B32, B32)
BLOCKS = st.builds(Block, HEADERS, st.lists(st.binary(max_size=30), max_size=4).map(tuple))


class TestEncoding:
    @given(BLOCKS)
    def test_a_block_survives_encoding(self, block):
        """Decoding gives back what was encoded; header and digest go with it."""
        assert decode_block(encode_block(block)) == block
        assert decode_header(encode_header(block.header)) == block.header
        assert block_digest(block) == header_digest(block.header)
        assert block_digest(block) == hashlib.sha256(encode_header(block.header)).digest()

    @given(BLOCKS, st.binary(max_size=40))
    def test_a_sealed_block_survives_encoding_and_keeps_its_digest(self, block, seal):
        """Without a seal not a byte is added."""
        encoded = encode_sealed(block, seal)

        assert decode_sealed(encoded) == (block, seal)
        assert without_seal(encoded) == encode_block(block)
        assert (encoded == encode_block(block)) is (not seal)

    def test_an_empty_seal_that_is_written_out_is_refused(self):
        """It would be a second encoding of a block without one."""
        block = Block(Header(1, 1, 0, 1, bytes(32), 0, 0, 0, bytes(32), bytes(32), bytes(32)), ())
        with pytest.raises(InvalidEncodingError):
            decode_sealed(msgspec.msgpack.encode([block.header, block.transactions, b""]))

    @given(TRANSACTIONS)
    def test_a_transaction_survives_encoding(self, transaction):
        """Decoding gives back what was encoded."""
        assert decode_transaction(encode_transaction(transaction)) == transaction
        assert transaction_digest(transaction) == hashlib.sha256(encode_transaction(transaction)).digest()

    @given(st.binary(max_size=300))
    def test_arbitrary_bytes_are_refused_or_canonical(self, junk):
        """No bytes raise anything but the one error; what is accepted encodes to the same bytes."""
        pairs = (
            (decode_block, encode_block),
            (decode_sealed, lambda sealed: encode_sealed(*sealed)),
            (decode_transaction, encode_transaction),
            (decode_header, encode_header),
        )
        for decode, encode in pairs:
            try:
                assert encode(decode(junk)) == junk
            except InvalidEncodingError:
                continue

    @given(TRANSACTIONS, st.data())
    def test_a_changed_byte_is_refused_or_another_transaction(self, transaction, data):
        """There are no two encodings of one transaction."""
        encoded = bytearray(encode_transaction(transaction))
        place = data.draw(st.integers(0, len(encoded) - 1))
        encoded[place] ^= data.draw(st.integers(1, 255))
        with contextlib.suppress(InvalidEncodingError):
            assert decode_transaction(bytes(encoded)) != transaction

    @pytest.mark.parametrize(
        "spoil",
        [
            lambda encoded: encoded + b"\x00",
            lambda encoded: encoded[:-1],
            lambda encoded: b"\xdc\x00\x09" + encoded[1:],
            lambda encoded: encoded.replace(b"\xcd\x07\xd0", b"\xce\x00\x00\x07\xd0", 1),
            lambda encoded: b"\x91" * 100_000,
            lambda encoded: msgspec.msgpack.encode([*msgspec.msgpack.decode(encoded), None]),
            lambda encoded: msgspec.msgpack.encode(msgspec.msgpack.decode(encoded)[:-1]),
        ],
    )
    def test_other_spellings_of_a_transaction_are_refused(self, spoil):
        """Trailing bytes, truncation, long forms, deep nesting, missing and surplus fields."""
        encoded = encode_transaction(pay(0, 0, BOB, 1))
        assert spoil(encoded) != encoded

        with pytest.raises(InvalidEncodingError):
            decode_transaction(spoil(encoded))

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("nonce", -1),
            ("nonce", 2**63),
            ("nonce", True),
            ("nonce", 1.0),
            ("public_key", bytes(31)),
            ("signature", bytes(65)),
            ("signature", "text"),
            ("call", [2, bytes(20), 1]),
            ("call", [0, bytes(19), 1]),
            ("call", [1, bytes(20), "h" * 257, b""]),
            ("call", None),
        ],
    )
    def test_values_out_of_range_are_refused(self, field, value):
        """Every field has one type and its bounds."""
        fields = msgspec.to_builtins(pay(0, 0, BOB, 1), builtin_types=(bytes,))
        fields[Transaction.__struct_fields__.index(field)] = value

        with pytest.raises(InvalidEncodingError):
            decode_transaction(msgspec.msgpack.encode(fields))

    def test_text_that_is_no_utf_8_is_refused(self):
        """A peer's bytes are refused, and nothing else is raised."""
        call = ExecuteActor(bytes(20), "handler", b"")
        encoded = encode_transaction(msgspec.structs.replace(pay(0, 0, BOB, 1), call=call))

        assert decode_transaction(encoded).call == call
        with pytest.raises(InvalidEncodingError):
            decode_transaction(encoded.replace(b"handler", b"hand\xff\xfe\xfd"))

    def test_sizes_are_limited(self):
        """A limit in bytes is inclusive."""
        transaction = pay(0, 0, BOB, 1)
        encoded = encode_transaction(transaction)

        assert decode_transaction(encoded, len(encoded)) == transaction
        with pytest.raises(InvalidEncodingError, match="limit"):
            decode_transaction(encoded, len(encoded) - 1)
        block = propose(make_engine(), [transaction]).block
        with pytest.raises(InvalidEncodingError, match="limit"):
            decode_block(encode_block(block), 100)


class TestDigests:
    @pytest.mark.parametrize("field", Header.__struct_fields__)
    def test_every_header_field_moves_the_digest(self, field):
        """Nothing in a header is outside the block's digest."""
        header = propose(make_engine()).header
        value = getattr(header, field)
        other = value + 1 if isinstance(value, int) else bytes(31) + b"\x01"

        assert header_digest(msgspec.structs.replace(header, **{field: other})) != header_digest(header)

    @pytest.mark.parametrize("field", Transaction.__struct_fields__)
    def test_the_signature_covers_everything_but_itself(self, field):
        """No field of a transaction can be changed under its signature."""
        transaction = do(0, 0)
        value = getattr(transaction, field)
        other = {int: lambda: value + 1, bytes: lambda: bytes(len(value) - 1) + b"\x07"}
        changed = other[type(value)]() if type(value) in other else Transfer(ALICE, 1)
        forged = msgspec.structs.replace(transaction, **{field: changed})

        is_covered = transaction_signing_bytes(forged) != transaction_signing_bytes(transaction)
        assert is_covered is (field != "signature")
        assert transaction_digest(forged) != transaction_digest(transaction)

    def test_signing_bytes_have_their_own_domain(self):
        """The signed bytes cannot be mistaken for those of any other signed message."""
        assert transaction_signing_bytes(do(0, 0)).startswith(b"stampede/transaction/1\x98")

    def test_the_address_of_a_key_is_the_end_of_its_keccak(self):
        """Keccak-256 and not SHA3-256: the empty string's published hash shows which."""
        assert address_of(b"").hex() == "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470"[-40:]
        assert len({address_of(key) for key in KEYS}) == len(KEYS)


class TestSchema:
    def test_tables_are_numbered_in_order(self):
        """A key's first byte names its table."""
        assert list(all_tables()) == [*range(1, 0x2A), *range(0x2C, 0x31)]

    def test_every_entry_of_a_running_chain_can_be_decoded(self):
        """Each key leads to a table, each value to its record."""
        lane = in_lane(ring_size=1, epoch_length=3, epoch_horizon=1, classification="cursor")
        engine = make_engine(make_genesis(**lane, mailbox_cycles=200))
        message, delays = ["send", PUPPET, [], 200], (1, 4, 50)
        timers = [["timer", delay, []] for delay in delays]
        engine.finalize(propose(engine, [do(0, 0, *timers, ["put", b"k" * 30, b"v"])]).digest)
        engine.finalize(propose(engine, [do(0, 1, message, message)]).digest)
        own, short = policies_of("gba-auction", lane=AuctionConfig()), CalendarProfile(epoch_length=2)
        auction = make_engine(make_genesis(policies=own, calendar=short))
        beats = [[order(0, nonce, HEART, "start", HeartbeatOrder(1))] for nonce in range(2)]
        for transactions in (beats[0], [], beats[1], []):
            auction.finalize(propose(auction, transactions).digest)
        biased = policies_of("bias-auction", lane=BiasConfig(lambda_window_blocks=1))
        held = TimerConfig(max_cells_per_fire=2_000, execution_lane_paused=True)
        bids = make_engine(make_genesis(policies=biased, timebase="slot", timer_config=held))
        for transactions in ([order(0, 0, HEART, "start", HeartbeatOrder(1, terms=FeeTerms(bid=10)))], [], []):
            bids.finalize(propose(bids, transactions).digest)
        own = policies_of("aptos", lane=config_of({"profile": "latest"}))
        queue = make_engine(make_genesis(policies=own, timebase="slot", system_deployers=(ALICE,)))
        queue.finalize(propose(queue, [do(0, 0, ["timer", 1, []])]).digest)
        queue.finalize(propose(queue, [transaction(0, 1, SystemControlService("pause", 0))]).digest)
        clerk = GenesisActor(PUPPET, "script-actor", ALICE, BALANCE, ((b"price", b"1"),))
        triggers = msgspec.msgpack.encode(
            [msgspec.msgpack.encode(LaneConfig()), msgspec.msgpack.encode(TriggerConfig(max_triggers_per_block=1))]
        )
        own = (PolicyEntry(1, "eip1559", triggers),)
        watching = make_engine(make_genesis(policies=own, actors=(clerk,), timer_config=held))
        watches = [("watch", name, [[PUPPET, b"price"]], b"", None, 5_000, 50) for name in (b"one", b"two")]
        for nonce, steps in enumerate((watches, [("put", b"price", b"2")])):
            call = ExecuteActor(PUPPET, "run", msgspec.msgpack.encode([steps, 0]))
            watching.finalize(propose(watching, [transaction(0, nonce, call)]).digest)
        free = make_engine(make_genesis(policies=policies_of("fifo-free")))
        databases = (each.database.items() for each in (engine, auction, bids, queue, watching, free))
        tables = {decode_entry(key, value).table for database in databases for key, value in database}

        assert tables == {table.name for table in all_tables().values()}

    @given(B32, st.binary(max_size=40))
    def test_arbitrary_entries_are_decoded_or_refused(self, key, value):
        """Damaged state raises the one error."""
        with contextlib.suppress(CorruptStateError):
            assert decode_entry(key, value).table
