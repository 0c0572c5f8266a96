"""Keys of validators and accounts, and the check of a transaction's signature."""

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

from nacl.exceptions import BadSignatureError
from nacl.signing import SigningKey, VerifyKey

from network.memo import Memo
from validators.derived import DerivedSize
from validators.execution import Genesis
from validators.execution.blocks import Transaction, transaction_digest, transaction_signing_bytes
from validators.storage import JournalHead

VERIFIED_MAX: Final = 65_536
"""Most verified transactions that a validator remembers."""

NEVER_VOTED: Final = "it was never given a vote"
"""The reason why a replica that is no validator observes."""


def secret_seed(chain_id: str, role: str, index: int) -> bytes:
    """Return the 32-byte Ed25519 seed of a test identity: a function of the three, public."""
    return hashlib.sha256(f"stampede/{chain_id}/{role}/{index}".encode()).digest()


def public_key_of(seed: bytes) -> bytes:
    """Return the 32-byte Ed25519 public key of `seed`."""
    return bytes(SigningKey(seed).verify_key)


def journal_head(genesis: Genesis, node: int, public_keys: Sequence[bytes]) -> JournalHead:
    """Return the head of the journal of a validator's votes in the chain's first consensus epoch.

    A replica that is no validator has no key among `public_keys`: its journal says that it must not sign.
    """
    if node < len(public_keys):
        return JournalHead(chain_id=genesis.chain_id, validator=node, public_key=public_keys[node], epoch=0)
    return JournalHead(chain_id=genesis.chain_id, validator=node, public_key=b"", epoch=0, observes=NEVER_VOTED)


class TransactionVerifier:
    """Checks each distinct transaction's signature once; `verified` counts these checks, `take_unpaid` bills them.

    `shared` has the results of the run's other validators, by public key and digest.
    """

    def __init__(self, shared: Memo[bool] | None = None) -> None:
        self.verified = 0
        self._paid = 0
        self._shared = shared
        self._valid: OrderedDict[bytes, None] = OrderedDict()

    def __call__(self, transaction: Transaction) -> bool:
        """Whether the signature is the sender's over this transaction."""
        digest = transaction_digest(transaction)
        if digest in self._valid:
            return True
        self.verified += 1
        # Signature and key besides the digest, which need not cover them.
        given = b"%d " % len(transaction.public_key) + transaction.public_key + transaction.signature + digest
        is_valid = None if self._shared is None else self._shared.find(given)
        if is_valid is None:
            is_valid = _is_signed(transaction)
            if self._shared is not None:
                self._shared.keep(given, is_valid)
        if not is_valid:
            return False
        self._valid[digest] = None
        if len(self._valid) > VERIFIED_MAX:
            self._valid.popitem(last=False)
        return True

    def take_unpaid(self) -> int:
        """Return the number of checks since the last call: the caller charges their virtual time (K-43)."""
        unpaid, self._paid = self.verified - self._paid, self.verified
        return unpaid

    def remembered(self) -> DerivedSize:
        """Return the number of remembered transactions beside its bound."""
        most = min(self.verified, VERIFIED_MAX)
        return DerivedSize("verified transactions", len(self._valid), most, "verified in this life, and VERIFIED_MAX")


def _is_signed(transaction: Transaction) -> bool:
    try:
        VerifyKey(transaction.public_key).verify(transaction_signing_bytes(transaction), transaction.signature)
    except (BadSignatureError, ValueError, TypeError):
        return False
    return True
