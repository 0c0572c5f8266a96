"""Signatures of cases: a hash under a key that everybody knows, for votes that are made up as they are needed."""

from hashlib import sha256

from validators.consensus.signing import signed_bytes


class KeyedScheme:
    """The scheme of one validator; `node` is its number."""

    name = "keyed-hash"

    def __init__(self, node: int) -> None:
        self._node = node
        self.verified = 0

    def sign(self, namespace: bytes, message: bytes) -> bytes:
        """Return the own signature."""
        return _hash(self._node, namespace, message)

    def verify(self, signer: int, namespace: bytes, message: bytes, signature: bytes) -> bool:
        """Return whether a signature is that of a validator."""
        self.verified += 1
        return signature == _hash(signer, namespace, message)


def _hash(signer: int, namespace: bytes, message: bytes) -> bytes:
    return sha256(b"key of %d" % signer + signed_bytes(namespace, message)).digest()
