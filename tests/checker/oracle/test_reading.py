"""The oracle's tables read back from their entries: the same entries and root; others are refused."""

import pytest

from checker.oracle.operations import OperationLog
from checker.oracle.reading import read_contents
from checker.oracle.records import MalformedError, write
from tests.support.stated_blocks import drawn_block

BUILT_IN = ("fifo", "fifo-free", "eip1559", "gba-auction", "bias-auction", "aptos")


@pytest.mark.parametrize("policy", BUILT_IN)
def test_tables_come_back_from_their_entries(policy):
    entries = drawn_block(policy).entries
    contents, log = read_contents(entries), OperationLog()
    log.commit(entries)

    assert contents.encode_all() == entries == contents.log.values
    assert contents.log.canonical_root() == log.canonical_root()


def strange_table(entries):
    return {**entries, b"\x7f" + bytes(31): write([1])}


def short_key(entries):
    return {**entries, b"\x01": write([1, 0])}


def bucket_without_entries(entries):
    return {**entries, bytes([6]) + (2**40).to_bytes(8, "big") + bytes(23): write([0, 1, 1, False])}


def wrong_fields(entries):
    return {**entries, bytes([1]) + bytes(31): write([1, 2, 3])}


def no_record(entries):
    return {**entries, bytes([1]) + bytes(31): b"\xc1"}


def wrong_head(entries):
    key = next(key for key in entries if key[0] == 6)
    return {**entries, key: write([7, 9, 1, False])}


def timer_under_another_key(entries):
    key = next(key for key in entries if key[0] == 5)
    return {place: value for place, value in entries.items() if place != key} | {b"\x05" + bytes(31): entries[key]}


BAD = {
    strange_table: "no table has the key",
    short_key: "no table has the key 01",
    bucket_without_entries: "the bucket due 1099511627776 has no entry",
    wrong_fields: "is no record of its table",
    no_record: "is not a record",
    wrong_head: "the tables encode another value for 06",
    timer_under_another_key: "the tables encode another value for 05",
}


@pytest.mark.parametrize("change", BAD, ids=lambda change: change.__name__)
def test_entries_that_mean_nothing_are_refused(change):
    with pytest.raises(MalformedError, match=BAD[change]):
        read_contents(change(drawn_block().entries))
