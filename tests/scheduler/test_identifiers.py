"""Keccak-256 by the library's call in C, and by its public interface where that call is missing or another one."""

from types import SimpleNamespace

import pytest

from scheduler import identifiers, keccak256
from scheduler.identifiers import plain_keccak256

EMPTY = bytes.fromhex("c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470")


@pytest.mark.parametrize("length", [0, 1, 135, 136, 137, 4_000])
def test_keccak_is_the_public_functions_at_every_length(length):
    """The rate is 136 bytes: around it the padding goes into a block of its own."""
    data = bytes(index % 251 for index in range(length))

    assert keccak256(data) == plain_keccak256(data)


def test_keccak_of_nothing_is_the_published_value():
    """It is not SHA3-256 of nothing, which ends in another padding."""
    assert keccak256(b"") == EMPTY == plain_keccak256(b"")


def test_no_long_preimage_is_kept():
    """A payload may have a mebibyte: the hashes of a process must not keep all of them."""
    before = identifiers._remembered.cache_info().currsize
    for length in (1_025, 300_000):
        keccak256(bytes(length))

    assert identifiers._remembered.cache_info().currsize == before


@pytest.mark.parametrize(
    "library",
    [
        None,
        SimpleNamespace(),
        SimpleNamespace(keccak_oneshot=lambda *_: None),
        SimpleNamespace(keccak_oneshot=lambda *_: 1 // 0),
    ],
)
def test_a_library_without_the_call_leaves_the_public_function(library):
    """The call is no public interface: missing, silent or broken, it must not decide a timer's identifier."""
    assert identifiers._direct_hash(library) is plain_keccak256
