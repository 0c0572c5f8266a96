"""The fault model N3f1: of n validators f = (n - 1) // 3 may be Byzantine, and a quorum is n - f.

The signers of a certificate are a bitmap: bit i is bit i % 8, least significant first, of byte i // 8.
"""

from collections.abc import Iterable

from network.types import NodeId


def faults_of(validators: int) -> int:
    """Return f, the number of `validators` that may be Byzantine."""
    return (validators - 1) // 3


def quorum_of(validators: int) -> int:
    """Return the number of votes that make a certificate."""
    return validators - faults_of(validators)


def encode_signers(signers: Iterable[NodeId], validators: int) -> bytes:
    """Return the bitmap of `signers`, (validators + 7) // 8 bytes long."""
    bits = 0
    for signer in signers:
        assert 0 <= signer < validators, f"signer {signer} of {validators} validators"
        bits |= 1 << signer
    return bits.to_bytes((validators + 7) // 8, "little")


def decode_signers(bitmap: bytes) -> list[NodeId]:
    """Return the signers of a bitmap in ascending order."""
    bits = int.from_bytes(bitmap, "little")
    return [signer for signer in range(bits.bit_length()) if bits >> signer & 1]
