"""Blocks that hold a transaction which may not stand there; the header commits to it."""

from collections.abc import Sequence
from typing import ClassVar, Final

import msgspec
from nacl.signing import SigningKey

from faults.byzantine.adversary import Adversary, Orders
from faults.byzantine.blocks import ForgeBlock
from validators.execution import Block, Engine, Executed, ProposalContext, Transaction
from validators.execution.blocks import Transfer, encode_transaction, transaction_signing_bytes
from validators.identity import public_key_of
from validators.state import mmr_root

FEE: Final = 1 << 40
"""The most that the adversary's transactions offer for a cycle: more than any basefee of a run."""

_CYCLES: Final = 50_000
_CELLS: Final = 10_000


class ForgeBody(ForgeBlock):
    """Proposes its block with one more transaction, which breaks the rule that `what` names.

    With `unsigned` the transaction of a client has a spoilt signature. The block is executed as if that were none, so
    that its roots are true: only the guard of the signature refuses it.
    """

    CLAIMS: ClassVar[tuple[str, ...]] = (
        *("nonce", "balance", "fees", "tip", "own-cost", "room"),
        *("encoding", "unsigned"),
    )

    def __init__(self, adversary: Adversary, name: str, fault: Orders) -> None:
        super().__init__(adversary, name, fault)
        seed = bytes(31) + bytes((adversary.node,))
        self._key = SigningKey(seed)
        self._public_key = public_key_of(seed)
        self._unsigned = b""

    def propose(self, engine: Engine, context: ProposalContext, candidates: Sequence[Transaction]) -> Executed | None:
        """Build a block with a client's transaction that the client has not signed so, where that is the claim."""
        self._unsigned = b""
        super().propose(engine, context, candidates)
        if self.claim != "unsigned" or not candidates:
            return None
        first, *others = candidates
        spoilt = bytes((first.signature[0] ^ 1,)) + first.signature[1:]
        self.adversary.believes_signatures = True
        try:
            built = engine.propose(context, [msgspec.structs.replace(first, signature=spoilt), *others])
        finally:
            self.adversary.believes_signatures = False
        self._unsigned = built.digest
        return built

    def forge(self, block: Block) -> Block:
        """Return the block with one more transaction, or as it was built if that one is in it."""
        if self._unsigned:
            return block
        body = (*block.transactions, self._transaction(block))
        return Block(msgspec.structs.replace(block.header, tx_root=mmr_root(body)), body)

    def _transaction(self, block: Block) -> bytes:
        if self.claim == "nonce" and block.transactions:
            return block.transactions[0]
        changes: dict[str, dict[str, int]] = {
            "nonce": {"nonce": 1},
            "fees": {"max_fee_per_cycle": 0, "priority_fee_per_cycle": 0},
            "tip": {"priority_fee_per_cycle": FEE + 1},
            "own-cost": {"cycles_limit": 1},
            "room": {"cycles_limit": 1 << 40},
            # Its signer has no funds, its encoding is changed below, or no client's transaction was there to spoil.
            **{claim: {} for claim in ("balance", "encoding", "unsigned")},
        }
        encoded = encode_transaction(self._sign(**changes[self.claim]))
        # The same array with a length of two bytes: msgpack, and not its shortest form.
        return b"\xdc\x00" + bytes((encoded[0] & 0x0F,)) + encoded[1:] if self.claim == "encoding" else encoded

    def _sign(self, **change: int) -> Transaction:
        unsigned = Transaction(
            public_key=self._public_key,
            nonce=0,
            cycles_limit=_CYCLES,
            cells_limit=_CELLS,
            max_fee_per_cycle=FEE,
            max_fee_per_cell=FEE,
            priority_fee_per_cycle=0,
            call=Transfer(bytes(20), 0),
            signature=bytes(64),
        )
        unsigned = msgspec.structs.replace(unsigned, **change)
        return msgspec.structs.replace(
            unsigned, signature=self._key.sign(transaction_signing_bytes(unsigned)).signature
        )
