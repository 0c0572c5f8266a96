"""Keys of validators and accounts, and the check of a transaction's signature."""

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

from nacl.exceptions import BadSignatureError
from nacl.signing import SigningKey, VerifyKey

from validators.execution import Genesis
from validators.execution.blocks import Transaction, transaction_digest, transaction_signing_bytes
from validators.storage import JournalHead

VERIFIED_MAX: Final = 65_536
"""A validator remembers this many verified transactions."""

NEVER_VOTED: Final = "it was never given a vote"
"""The reason that a replica beyond the validators observes."""


def secret_seed(chain_id: str, role: str, index: int) -> bytes:
    """Return the 32-byte Ed25519 seed of a test identity: a function of the three, public."""
    return hashlib.sha256(f"stampede/{chain_id}/{role}/{index}".encode()).digest()


def public_key_of(seed: bytes) -> bytes:
    """Return the 32-byte Ed25519 public key of `seed`."""
    return bytes(SigningKey(seed).verify_key)


def journal_head(genesis: Genesis, node: int, public_keys: Sequence[bytes]) -> JournalHead:
    """Return the head of the journal of a validator's votes in the chain's first consensus epoch.

    A replica beyond the validators, whose keys these are, has no key: its journal says that it must not sign.
    """
    if node < len(public_keys):
        return JournalHead(chain_id=genesis.chain_id, validator=node, public_key=public_keys[node], epoch=0)
    return JournalHead(chain_id=genesis.chain_id, validator=node, public_key=b"", epoch=0, observes=NEVER_VOTED)


class TransactionVerifier:
    """Checks each distinct transaction's signature once; `verified` counts the real checks."""

    def __init__(self) -> None:
        self.verified = 0
        self._valid: OrderedDict[bytes, None] = OrderedDict()

    def __call__(self, transaction: Transaction) -> bool:
        """Whether the signature is the sender's over this transaction."""
        digest = transaction_digest(transaction)
        if digest in self._valid:
            return True
        self.verified += 1
        try:
            VerifyKey(transaction.public_key).verify(transaction_signing_bytes(transaction), transaction.signature)
        except (BadSignatureError, ValueError, TypeError):
            return False
        self._valid[digest] = None
        if len(self._valid) > VERIFIED_MAX:
            self._valid.popitem(last=False)
        return True
