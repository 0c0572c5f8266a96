"""Keys of all validators, and a scheme whose signatures are known from the moment when they are made.

Engine and specification verify signatures as in a run. Most of the time of a case would go into that: a signature that
was made here is valid, and stands in what both of them share. Any other one is verified.
"""

from hashlib import sha256
from typing import Final

from nacl.signing import SigningKey

from checker.oracle.consensus.signatures import Signed
from network.memo import Memo
from validators.consensus.signing import Ed25519Scheme, signed_bytes

REPLICAS_MAX: Final = 9
SEEDS: Final = tuple(sha256(b"validator %d" % number).digest() for number in range(REPLICAS_MAX))
KEYS: Final = tuple(bytes(SigningKey(seed).verify_key) for seed in SEEDS)

KNOWN: Final[dict[Signed, bool]] = {}
"""Signatures that the specifications share."""

_SHARED: Final[Memo[bool]] = Memo(200_000)
"""Signatures that the schemes of engines share; each remembers and counts as if it were alone."""


class KnownScheme(Ed25519Scheme):
    """The scheme of one replica among a number of validators."""

    def __init__(self, replica, validators):
        super().__init__(SEEDS[replica], KEYS[:validators], _SHARED)
        self._key = KEYS[replica]

    def sign(self, namespace, message):
        """Return the own signature, and let all others know that it is valid."""
        signature = super().sign(namespace, message)
        signed = signed_bytes(namespace, message)
        KNOWN[self._key, signed, signature] = True
        _SHARED.keep(sha256(self._key + signature + signed).digest(), True)
        return signature
