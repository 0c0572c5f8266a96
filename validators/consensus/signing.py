"""Signature schemes of validators.

Signed bytes are varint(length of namespace) || namespace || message (docs/simplex.md), so a vote of one kind can never
pass for another kind. Schemes sign deterministically, because a restarted validator signs again what its journal says
it has signed.

A scheme belongs to one validator. It remembers verified signatures, so that a signature that comes first in a vote and
then in three certificates costs one verification (54 us for Ed25519). It counts real verifications for the virtual
clock.
"""

from collections.abc import Sequence
from hashlib import sha256
from typing import Final, Protocol

from nacl.exceptions import BadSignatureError
from nacl.signing import SigningKey, VerifyKey

from network.memo import Memo
from network.types import NodeId
from validators.derived import Derived, DerivedSize

SIGNATURE_BYTES: Final = 64
"""An Ed25519 signature."""

_SHORT_VARINTS: Final = tuple(bytes((value,)) for value in range(0x80))

REMEMBERED_MAX: Final = 8_192
"""Most results that a scheme remembers. The oldest, which are those of the lowest views, are forgotten first."""


class Scheme(Protocol):
    """Signs a validator's votes and checks the votes of peers."""

    @property
    def name(self) -> str:
        """The scheme's name in a report."""

    @property
    def verified(self) -> int:
        """The number of signatures really verified, without remembered results."""

    def sign(self, namespace: bytes, message: bytes) -> bytes:
        """Return this validator's signature; the same arguments give the same bytes."""

    def verify(self, signer: NodeId, namespace: bytes, message: bytes, signature: bytes) -> bool:
        """Whether the signature is `signer`'s over the message. Never raises, whatever the bytes are."""


class RememberingScheme(Scheme, Protocol):
    """A validator's own scheme, which shows its remembered results."""

    def derived(self) -> Derived:
        """Return the number of remembered results beside their bound."""


class Ed25519Scheme:
    """Ed25519 through PyNaCl.

    Args:
        seed: 32 bytes, this validator's secret key.
        public_keys: 32 bytes for each validator, by index.
        shared: Results of other schemes of the run; this scheme's count does not depend on them.
    """

    name = "ed25519"

    def __init__(self, seed: bytes, public_keys: Sequence[bytes], shared: Memo[bool] | None = None) -> None:
        self._signing_key = SigningKey(seed)
        self._own_public_key = bytes(self._signing_key.verify_key)
        self._public_keys = tuple(public_keys)
        self._verify_keys = tuple(VerifyKey(public_key) for public_key in self._public_keys)
        self._results: dict[bytes, bool] = {}
        self._shared = shared
        self._verified = 0
        self._signed = 0

    @property
    def verified(self) -> int:
        """The number of signatures really verified."""
        return self._verified

    def sign(self, namespace: bytes, message: bytes) -> bytes:
        """Return this validator's signature of 64 bytes, and remember it as valid."""
        self._signed += 1
        signed = signed_bytes(namespace, message)
        signature = self._signing_key.sign(signed).signature
        self._remember(_result_key(self._own_public_key, signed, signature), is_valid=True)
        return signature

    def verify(self, signer: NodeId, namespace: bytes, message: bytes, signature: bytes) -> bool:
        """Whether the signature is `signer`'s over the message."""
        if not 0 <= signer < len(self._verify_keys) or len(signature) != SIGNATURE_BYTES:
            return False
        signed = signed_bytes(namespace, message)
        key = _result_key(self._public_keys[signer], signed, signature)
        known = self._results.get(key)
        if known is not None:
            return known
        self._verified += 1
        is_valid = None if self._shared is None else self._shared.find(key)
        if is_valid is None:
            is_valid = _is_valid(self._verify_keys[signer], signed, signature)
            if self._shared is not None:
                self._shared.keep(key, is_valid)
        self._remember(key, is_valid=is_valid)
        return is_valid

    def derived(self) -> Derived:
        """Return the number of remembered results beside their bound."""
        most = min(self._verified + self._signed, REMEMBERED_MAX)
        formula = "verified and made in this life, and REMEMBERED_MAX"
        return Derived(part="signatures", sizes=(DerivedSize("results", len(self._results), most, formula),))

    def _remember(self, key: bytes, *, is_valid: bool) -> None:
        self._results[key] = is_valid
        if len(self._results) > REMEMBERED_MAX:
            del self._results[next(iter(self._results))]


def encode_varint(value: int) -> bytes:
    """Return the unsigned LEB128 encoding of `value`, which must not be negative."""
    if 0 <= value < len(_SHORT_VARINTS):
        return _SHORT_VARINTS[value]
    assert value >= 0, f"varints are unsigned; got {value}"
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def signed_bytes(namespace: bytes, message: bytes) -> bytes:
    """Return the bytes that a signature covers."""
    return encode_varint(len(namespace)) + namespace + message


def _result_key(public_key: bytes, signed: bytes, signature: bytes) -> bytes:
    """Return a digest of key, message and signature; key and signature have fixed lengths, so nothing can shift."""
    return sha256(public_key + signature + signed).digest()


def _is_valid(key: VerifyKey, signed: bytes, signature: bytes) -> bool:
    try:
        key.verify(signed, signature)
    except BadSignatureError:
        return False
    return True
