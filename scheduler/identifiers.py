"""Hashes that name things: keccak-256, the identifier of a timer and the keys of the specification's two stores."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, TypeAlias

from Crypto.Hash import keccak
from Crypto.Util import _raw_api

_Hash: TypeAlias = Callable[[bytes], bytes]

_DIGEST_BYTES: Final = 32
_CAPACITY_BYTES: Final = 2 * _DIGEST_BYTES
_ROUNDS: Final = 24
_PADDING: Final = 1
_REMEMBERED: Final = 16_384
"""Hashes that are remembered: validators of one process name the same timers, senders and records again and again."""
_REMEMBERED_BYTES: Final = 1_024
"""The longest preimage that is remembered: a timer's payload may have a mebibyte, and a process keeps what it has."""


def plain_keccak256(data: bytes) -> bytes:
    """Return the 32-byte Keccak-256 of `data` by the library's public interface: 4.2 us."""
    return keccak.new(digest_bits=256, data=data).digest()


def _direct_hash(library: Any) -> _Hash:  # noqa: ANN401 - it has no types
    """Return the same function by the library's own call in C, which makes no object for a hash: 1.8 us.

    It is no public interface, so a library without it, or with another one of its name, leaves the plain function.
    """
    try:
        hash_at_once, new_buffer, bytes_of = (
            library.keccak_oneshot,
            _raw_api.create_string_buffer,
            _raw_api.get_raw_buffer,
        )

        def direct(data: bytes) -> bytes:
            # A buffer for each call: another thread may hash while the library has released the interpreter.
            digest = new_buffer(_DIGEST_BYTES)
            hash_at_once(data, len(data), digest, _DIGEST_BYTES, _CAPACITY_BYTES, _ROUNDS, _PADDING)
            return bytes_of(digest)

        is_same = all(direct(sample) == plain_keccak256(sample) for sample in (b"", bytes(range(200))))
    except Exception:  # noqa: BLE001 - whatever else stands under these names raises whatever it likes
        return plain_keccak256
    return direct if is_same else plain_keccak256


_keccak256: Final = _direct_hash(getattr(keccak, "_raw_keccak_lib", None))


_remembered: Final = lru_cache(maxsize=_REMEMBERED)(_keccak256)


def keccak256(data: bytes) -> bytes:
    """Return the 32-byte Keccak-256 (not SHA3-256) of `data`."""
    return _remembered(data) if len(data) <= _REMEMBERED_BYTES else _keccak256(data)


def timer_id_of(actor: bytes, due: int, payload: bytes, nonce: int, *, counter: int | None = None) -> bytes:
    """Return the 32-byte identifier of a timer.

    Without a counter this is the published formula, under which two equal calls in one transaction collide. With the
    actor's counter appended as eight bytes every call has its own identifier (Q-27). This project's chains append it.
    """
    preimage = actor + due.to_bytes(8, "big") + payload + nonce.to_bytes(8, "big")
    return keccak256(preimage if counter is None else preimage + counter.to_bytes(8, "big"))
