"""The validators' signatures for a specification: verified with the public keys, and remembered by the rules.

A replica verifies a signature once and remembers the result (docs/simplex.md). The number of verifications sets the
virtual time that a message costs. So a specification remembers by the same rule. The engine, the seals of blocks and
finalities from outside share the memory, in the order of their calls.
"""

from collections.abc import Iterable, MutableMapping, Sequence
from typing import Final, TypeAlias

from nacl.exceptions import BadSignatureError
from nacl.signing import VerifyKey

REMEMBERED_MAX: Final = 8_192
"""The number of results that a replica remembers; the oldest goes first."""

SIGNATURE_BYTES: Final = 64


Signed: TypeAlias = tuple[bytes, bytes, bytes]
"""A public key, the bytes that are signed, and a signature."""


def encode_varint(value: int) -> bytes:
    """Return the unsigned LEB128 encoding of a value."""
    encoded = bytearray()
    while value > 127:
        encoded.append(value % 128 + 128)
        value //= 128
    return bytes((*encoded, value))


def signed_bytes(namespace: bytes, message: bytes) -> bytes:
    """Return the bytes that a signature covers."""
    return encode_varint(len(namespace)) + namespace + message


class Signatures:
    """The signatures of all validators in a life of a replica.

    A specification holds no secret key. `sign` takes the replica's own signature from the judged effects, if it is
    valid over the bytes that the specification builds.

    Args:
        me: The replica's index; the index of an observer is above the validators'.
        public_keys: 32 bytes for each validator, by index.
        known: Results that the specifications of a run share; each specification still counts its own verifications.
    """

    def __init__(
        self, me: int, public_keys: Sequence[bytes], known: MutableMapping[Signed, bool] | None = None
    ) -> None:
        self._me = me
        self._public_keys = tuple(public_keys)
        self._known = {} if known is None else known
        self._remembered: dict[Signed, bool] = {}
        self._offered: Iterable[bytes] = ()
        self.verified = 0
        """The number of signatures that the replica has verified in this life."""

    def offer(self, signatures: Iterable[bytes]) -> None:
        """Take the signatures in the effects of the judged step; they are read when the specification signs."""
        self._offered = signatures

    def sign(self, namespace: bytes, message: bytes) -> bytes:
        """Return the replica's signature over a message; empty bytes without a signature."""
        signed = signed_bytes(namespace, message)
        self._offered = tuple(self._offered)
        for signature in self._offered:
            key = (self._public_keys[self._me], signed, signature)
            if len(signature) == SIGNATURE_BYTES and self._is_valid(key):
                self._remember(key, is_valid=True)
                return signature
        return b""

    def verify(self, signer: int, namespace: bytes, message: bytes, signature: bytes) -> bool:
        """Return whether a signature is the signer's, and count it if the replica had to verify it."""
        if not 0 <= signer < len(self._public_keys) or len(signature) != SIGNATURE_BYTES:
            return False
        key = (self._public_keys[signer], signed_bytes(namespace, message), signature)
        if key not in self._remembered:
            self.verified += 1
            self._remember(key, is_valid=self._is_valid(key))
        return self._remembered[key]

    def _remember(self, key: Signed, *, is_valid: bool) -> None:
        # A result that is remembered again keeps its age.
        self._remembered[key] = is_valid
        if len(self._remembered) > REMEMBERED_MAX:
            del self._remembered[next(iter(self._remembered))]

    def _is_valid(self, key: Signed) -> bool:
        if key not in self._known:
            self._known[key] = _is_valid(*key)
        return self._known[key]


def _is_valid(public_key: bytes, signed: bytes, signature: bytes) -> bool:
    try:
        VerifyKey(public_key).verify(signed, signature)
    except BadSignatureError:
        return False
    return True
