"""Hashes that name things: keccak-256, the identifier of a timer and the keys of the specification's two stores."""

from Crypto.Hash import keccak


def keccak256(data: bytes) -> bytes:
    """Return the 32-byte Keccak-256 (not SHA3-256) of `data`."""
    return keccak.new(digest_bits=256, data=data).digest()


def timer_id_of(actor: bytes, due: int, payload: bytes, nonce: int, *, counter: int | None = None) -> bytes:
    """Return the 32-byte identifier of a timer.

    Without a counter this is the published formula, under which two equal calls in one transaction collide; with the
    actor's counter appended as eight bytes every call has its own (Q-27). Chains of this project always append it.
    """
    preimage = actor + due.to_bytes(8, "big") + payload + nonce.to_bytes(8, "big")
    return keccak256(preimage if counter is None else preimage + counter.to_bytes(8, "big"))


def store_key_of(timer_id: bytes) -> bytes:
    """Return the key of a timer in the specification's timer store (C-2)."""
    return keccak256(timer_id)


def height_key_of(due: int) -> bytes:
    """Return the key of a height in the specification's height index (C-2)."""
    return keccak256(due.to_bytes(8, "big"))
