"""The oracle's own parts against what is published, and its readings against the chain's."""

import json
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checker.oracle.blocks import next_basefee
from checker.oracle.merkle import list_root
from checker.oracle.operations import OperationLog
from checker.oracle.records import varint
from checker.oracle.timers import read_convention
from cluster.outside.own.state_oracle import BareLog, FixedLog
from scheduler import fees
from scheduler.lifecycle import resolve_convention
from tests.support.properties import examples
from tests.support.state_batches import commit
from tools.fixtures.vectors import VECTORS, published_batches, section
from validators.state import Database


def test_the_published_roots_of_lists():
    """Two hundred of them."""
    lines = section("MMR_ROOT_GEN3")
    assert len(lines) == 200

    for count, root in lines:
        items = [sha256(index.to_bytes(8, "big")).digest() for index in range(int(count))]
        assert list_root(items).hex() == root


@pytest.mark.parametrize(
    ("log", "title", "count"),
    [(FixedLog, "QMDB_ROOTS_UNORDERED_FIXED", 200), (BareLog, "QMDB_ROOTS_UNORDERED_VARIABLE", 5)],
)
def test_the_published_roots_of_operation_logs(log, title, count):
    """Updates, deletes, new keys, floor raises; some with fewer live keys than steps."""
    lines = section(title)
    assert len(lines) == count

    for seed, operations_root, canonical_root in lines:
        own = log()
        for batch in published_batches(int(seed)):
            own.commit(batch)
        assert own.operations_root.hex() == operations_root, seed
        assert own.canonical_root().hex() == canonical_root, seed
        assert own.canonical_root_from_scratch().hex() == canonical_root, seed


def test_a_fresh_log_has_the_published_root():
    """One commit with floor 0."""
    line = next(line for line in VECTORS.splitlines() if line.startswith("[INIT_ROOT unordered variable]"))

    assert line.split()[-2:] == [
        f"any={OperationLog().operations_root.hex()}",
        f"current={OperationLog().canonical_root().hex()}",
    ]


def test_an_empty_batch_moves_one_operation():
    """The commit before it is no longer active, which is the one step."""
    log = OperationLog()
    log.commit({bytes(32): b"a", b"\1" * 32: b"b"})
    floor, size = log.floor, log.size

    log.commit({})

    assert (log.floor - floor, log.size - size) == (1, 2)


def test_a_log_without_live_keys_puts_the_floor_at_its_end():
    """Nothing is left to move."""
    log = OperationLog()
    log.commit({bytes(32): b"a"})
    log.commit({bytes(32): None})

    assert log.floor == log.size - 1


MANY_KEYS = [sha256(b"%d" % number).digest() for number in range(300)]
MANY_CHANGES = st.dictionaries(st.sampled_from(MANY_KEYS), st.none() | st.binary(min_size=1, max_size=3), max_size=60)


@examples(20)
@given(st.integers(0, 6), st.lists(MANY_CHANGES, max_size=4))
def test_the_kept_tree_gives_the_root_from_scratch_over_many_chunks(rounds, batches):
    """Full chunks above and below the floor, some of them without an active operation."""
    log = OperationLog()
    for round_ in range(rounds):
        log.commit(dict.fromkeys(MANY_KEYS[round_ :: round_ + 1], b"%d" % round_))
    for changes in batches:
        log.commit(changes)

        assert log.canonical_root() == log.canonical_root_from_scratch()


def test_a_log_of_many_chunks_has_the_root_of_the_state_database():
    """Two makes of one tree, over some thousand operations."""
    log, database = OperationLog(), Database()
    for round_ in range(12):
        changes = dict.fromkeys(MANY_KEYS[round_ % 5 :: round_ % 3 + 1], None if round_ % 4 == 3 else b"%d" % round_)
        log.commit(changes)
        commit(database, changes)

        assert log.canonical_root() == database.canonical_root
    assert log.size > 2_048


@pytest.mark.parametrize(
    ("number", "encoded"), [(0, "00"), (127, "7f"), (128, "8001"), (300, "ac02"), (2**21, "80808001")]
)
def test_varint(number, encoded):
    """Seven bits a byte, the lowest first."""
    assert varint(number).hex() == encoded


@given(st.integers(1, 2**62), st.integers(0, 40), st.integers(1, 20), st.integers(8, 1_000))
def test_basefees_move_as_the_chains_do(basefee, used, limit, least):
    """Two formulas, one result."""
    assert next_basefee(basefee, used, limit, least) == fees.next_basefee(basefee, used, limit, least)


CONVENTIONS = [
    b'{"_handler":"a","_payload":""}',
    b' \n{"_handler":"a","_payload":"YQ=="}\t',
    b'\xef\xbb\xbf{"_handler":"a","_payload":""}',
    b'{"_handler":"a","_payload":"YQ"}',
    b'{"_handler":"a","_payload":"YR=="}',
    b'{"_handler":"a","_payload":"","x":NaN}',
    b'{"_handler":"a","_payload":"","x":"\\ud800"}',
    b'{"_handler":"a","_payload":"","x":"\\ud83d\\ude00"}',
    b'{"_handler":"\\ud800","_payload":""}',
    b'{"_handler":"a","_payload":"","_handler":"b"}',
    b'{"_handler":"a","_payload":5,"_payload":""}',
    b'{"_handler":"a","_payload":"","_payload":5}',
    b'{"_handler":1,"_payload":""}',
    b'{"_handler":"a","_payload":"\\u0059Q=="}',
    b'{"_handler":"a\x01","_payload":""}',
    b'{"_handler":"a","_payload":"","x":1e999}',
    b'{"_handler":"a","_payload":"","x":' + b"1" * 5_000 + b"}",
    b'{"_handler":"a","_payload":"","x":"\xff"}',
    b'{"_handler":"a","_payload":"","\xff":1}',
    b'{"_handler":"a","_payload":""} x',
    b'\x0c{"_handler":"a","_payload":""}',
    b'{"_handler":"' + b"a" * 257 + b'","_payload":""}',
    '{"_handler":"\u00e9","_payload":"\u00e9"}'.encode(),
    '{"_handler":"a","_payload":""}'.encode("utf-16"),
    b'{"_handler":"a","_payload":"","x":' + b"[" * 63 + b"]" * 63 + b"}",
    b'{"_handler":"a","_payload":"","x":' + b"[" * 64 + b"]" * 64 + b"}",
    b'[["_handler","a"],["_payload",""]]',
    b"{",
    b"",
]


@pytest.mark.parametrize("payload", CONVENTIONS)
def test_payloads_are_read_as_the_chain_reads_them(payload):
    """A JSON parser of another make comes to the same handler and payload, or to none."""
    assert read_convention(payload) == resolve_convention(payload)


def test_a_payload_that_is_no_text_is_not_json():
    """The chain's parser skips what it need not read, and has to be told."""
    assert resolve_convention(b'{"_handler":"a","_payload":"","x":"\xff"}') is None


@given(
    st.dictionaries(
        st.sampled_from(["_handler", "_payload", "x"]), st.sampled_from(["", "YQ==", "go", 7, None, [], {}, "\ud800"])
    ),
    st.lists(st.tuples(st.integers(0, 60), st.binary(min_size=1, max_size=1)), max_size=2),
)
def test_damaged_payloads_are_read_as_the_chain_reads_them(document, damages):
    """Valid documents with a byte or two overwritten."""
    payload = bytearray(json.dumps(document).encode())
    for place, byte in damages:
        payload[place % len(payload) : place % len(payload) + 1] = byte

    assert read_convention(bytes(payload)) == resolve_convention(bytes(payload))
