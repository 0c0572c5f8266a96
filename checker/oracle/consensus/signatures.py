"""Signatures of the validators as a specification sees them: verified with the public keys, and remembered as ruled.

A replica verifies a signature once and remembers the result (docs/simplex.md); how many it really verifies sets how
much virtual time a message costs. So a specification remembers by the same rule, which is shared by the engine, by the
seals of blocks and by finalities from outside, in the order of their calls.
"""

from collections.abc import Iterable, MutableMapping, Sequence
from typing import Final, TypeAlias

from nacl.exceptions import BadSignatureError
from nacl.signing import VerifyKey

REMEMBERED_MAX: Final = 8_192
"""Results that a replica remembers; the oldest goes first."""

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
    """Signatures of all validators in one life of one replica.

    A specification holds no secret key: `sign` takes the replica's own signature from the effects that are judged, if
    it is valid over the bytes that the specification builds.

    Args:
        me: The replica's index; an observer's may be none of the validators'.
        public_keys: 32 bytes for each validator, by index.
        known: Results that the specifications of a run share; each of them counts as if it were alone.
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
        """Signatures that the replica has really verified in this life."""

    def offer(self, signatures: Iterable[bytes]) -> None:
        """Take the signatures that stand in the effects of the step that is judged; they are read when one is made."""
        self._offered = signatures

    def sign(self, namespace: bytes, message: bytes) -> bytes:
        """Return the replica's signature over a message; empty bytes if the replica has made none."""
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
