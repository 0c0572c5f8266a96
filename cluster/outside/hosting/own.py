"""This project's own chain behind the protocol: its pool and prices stay in the validator, its engine moves out."""

from collections.abc import Callable
from typing import Final

import msgspec

from cluster.outside.blocks import OutsideBlock
from cluster.outside.frames import Value
from cluster.outside.home import ApplicationHome
from cluster.outside.layer import OutsideLayer
from validators.costs import Costs
from validators.execution import FinalizationOutcome, Genesis, Transaction
from validators.execution.blocks import Block, address_of, decode_transaction, encode_transaction, header_digest
from validators.execution.errors import InvalidEncodingError
from validators.execution.schema import Account, account_key
from validators.restored import EMPTY_LOG, RestoredLog

COSTS: Final = "costs"
"""The parameter by which the engine states the virtual time of an execution, as it would in process."""


def own_parameters(genesis: Genesis, costs: Costs) -> dict[str, Value]:
    """Return the chain's data for the engine behind the protocol."""
    return {
        "genesis": msgspec.msgpack.encode(genesis),
        COSTS: {"execute_us": costs.execute_us, "hash_write_us": costs.hash_write_us},
    }


class OwnLayer(OutsideLayer):
    """The layer of this project's own engine in a separate process.

    Args:
        home: The home of the process.
        genesis: The chain's genesis.
        verify: Verifies a transaction's signature, which costs the validator virtual time.
        log: The finalized log.
    """

    def __init__(
        self,
        home: ApplicationHome,
        genesis: Genesis,
        verify: Callable[[Transaction], bool],
        log: RestoredLog = EMPTY_LOG,
    ) -> None:
        self._verify = verify
        self._nonces: dict[bytes, int] = {}
        super().__init__(home, genesis, log)

    def next_nonce(self, public_key: bytes) -> int:
        """Return the next nonce of a public key's account in the finalized state."""
        if public_key not in self._nonces:
            key = account_key(address_of(public_key))
            # No key lies between the account's and its own beginning.
            found = self._life.talk.entries(self.finalized_digest, key[:-1], 1)
            is_there = bool(found) and found[0][0] == key
            self._nonces[public_key] = msgspec.msgpack.decode(found[0][1], type=Account).nonce if is_there else 0
        return self._nonces[public_key]

    def as_offered(self, candidate: Transaction) -> bytes:
        """Return a transaction of the pool in bytes."""
        return encode_transaction(candidate)

    def execute(self, block: Block) -> OutsideBlock:
        """Have the engine execute a block; its signatures are verified here too, as a validator pays for them."""
        known = self.executed(header_digest(block.header))
        for encoded in block.transactions if known is None else ():
            try:
                self._verify(decode_transaction(encoded))
            except InvalidEncodingError:
                break
        return super().execute(block)

    def finalize(self, digest: bytes) -> FinalizationOutcome:
        """Make a block and its ancestors final; their senders' nonces are used up."""
        outcome = super().finalize(digest)
        for made in outcome.applied:
            for encoded in made.block.transactions:
                transaction = decode_transaction(encoded)
                self._nonces[transaction.public_key] = transaction.nonce + 1
        return outcome
