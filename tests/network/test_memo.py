"""Results that validators share: the same as without, charged and counted as if each were alone."""

import pytest

from network.codec import Refused
from network.memo import Memo
from validators.consensus.registry import ENGINES
from validators.consensus.signing import Ed25519Scheme
from validators.identity import public_key_of
from validators.messages import TransactionGossip, message_codec
from validators.state import grow_tree, growing_with

SEEDS = (b"a" * 32, b"b" * 32)
KEYS = tuple(public_key_of(seed) for seed in SEEDS)


def test_a_memo_keeps_the_latest_results():
    """However long the run is."""
    memo = Memo(2)
    for given in (b"a", b"b", b"c"):
        memo.keep(given, given.decode())

    assert [memo.find(given) for given in (b"a", b"b", b"c")] == [None, "b", "c"]


def test_a_memo_keeps_no_more_bytes_than_it_may():
    """Whatever the number of entries; an input that alone is too long pushes nothing out."""
    memo = Memo(100, bytes_max=10)
    for given in (b"aaaa", b"bbbb", (b"cc", 7), b"dddd", bytes(11)):
        memo.keep(given, True)

    kept = [given for given in (b"aaaa", b"bbbb", (b"cc", 7), b"dddd", bytes(11)) if memo.find(given)]
    assert kept == [b"bbbb", (b"cc", 7), b"dddd"]
    memo.keep(b"bbbb", True)
    memo.keep(b"", True)
    assert memo.find(b"bbbb")


def test_a_signature_is_verified_once_and_counted_by_each():
    """A false one as well; and another signer's, namespace's or message's is another."""
    shared = Memo(100)
    alone, *others = (Ed25519Scheme(SEEDS[0], KEYS, memo) for memo in (None, shared, shared))
    good = Ed25519Scheme(SEEDS[1], KEYS).sign(b"vote", b"yes")
    questions = [(1, b"vote", b"yes"), (0, b"vote", b"yes"), (1, b"vot", b"eyes"), (1, b"vote", b"no")]

    assert [alone.verify(*question, good) for question in questions] == [True, False, False, False]
    for other in others:
        assert [other.verify(*question, good) for question in questions] == [True, False, False, False]
        assert other.verified == alone.verified == 4


def test_a_message_is_decoded_once_and_refused_by_each():
    """A refusal is no result that could be shared."""
    shared = Memo(100)
    codecs = [message_codec(ENGINES["simplex"], shared) for _ in range(2)]
    payload = codecs[0].encode(TransactionGossip((b"one", b"two")))
    first, second = (codec.decode(payload) for codec in codecs)

    assert first is second
    for codec in codecs:
        with pytest.raises(Refused):
            codec.decode(payload + b"\x00")
        assert sum(codec.refused.values()) == 1


def test_a_tree_is_hashed_once_and_is_that_of_each():
    """Other leaves, in another place or cut otherwise, and other peaks make another tree."""
    memo = Memo(100)
    first, second = growing_with(memo), growing_with(memo)
    peaks, _ = grow_tree((), 0, [b"a"])
    for given in (
        ((), 0, [b"b", b"c"]),
        (peaks, 1, [b"b", b"c"]),
        (grow_tree((), 0, [b"d"])[0], 1, [b"b", b"c"]),
        (peaks, 1, [b"bc"]),
        ((), 0, []),
    ):
        grown = first(*given)
        assert grown == grow_tree(*given)
        assert second(given[0], given[1], tuple(given[2])) is grown
