"""Blocks with another body than the executed body; the header commits to the other body."""

from collections.abc import Sequence
from typing import Any, ClassVar, Final

import msgspec
from nacl.signing import SigningKey

from faults.byzantine.adversary import Adversary, Orders
from faults.byzantine.blocks import ForgeBlock
from validators.execution import Block, ExecutedBlock, ExecutionLayer, ProposalContext, Transaction
from validators.execution.blocks import Transfer, encode_transaction, transaction_signing_bytes
from validators.identity import public_key_of
from validators.state import mmr_root

FEE: Final = 1 << 40
"""The price per cycle that the adversary's transactions offer: above every basefee of a run."""

JUNK_BYTES: Final = 32
"""The length of an appended entry."""

_CYCLES: Final = 50_000
_CELLS: Final = 10_000


class ForgeBody(ForgeBlock):
    """Proposes its block with an added transaction, which breaks the rule that `what` names.

    With `unsigned` a client's transaction has a broken signature. The block is executed as if the signature were valid,
    so that its roots are true: only the check of the signature refuses it.

    The adversary does not know the rules of an outside application. Its block gets an entry of random bytes, or a drawn
    entry is dropped, repeated, or changed in a byte. The roots remain as for the true body. An empty block gets an
    entry.
    """

    CLAIMS: ClassVar[tuple[str, ...]] = (
        *("nonce", "balance", "fees", "tip", "own-cost", "room"),
        *("encoding", "unsigned"),
    )
    FOREIGN_CLAIMS: ClassVar[tuple[str, ...]] = ("append", "drop", "repeat", "flip")

    def __init__(self, adversary: Adversary, name: str, fault: Orders) -> None:
        super().__init__(adversary, name, fault)
        seed = bytes(31) + bytes((adversary.node,))
        self._key = SigningKey(seed)
        self._public_key = public_key_of(seed)
        self._unsigned = b""

    def propose(
        self, layer: ExecutionLayer, context: ProposalContext, candidates: Sequence[Any]
    ) -> ExecutedBlock | None:
        """Build a block with a client's transaction under a broken signature, if that is the claim."""
        self._unsigned = b""
        super().propose(layer, context, candidates)
        if self.claim != "unsigned" or not candidates or not isinstance(candidates[0], Transaction):
            # An engine behind the protocol of applications gets encoded transactions, and verifies them out of reach.
            return None
        first, *others = candidates
        spoilt = bytes((first.signature[0] ^ 1,)) + first.signature[1:]
        self.adversary.believes_signatures = True
        try:
            built = layer.propose(context, [msgspec.structs.replace(first, signature=spoilt), *others])
        finally:
            self.adversary.believes_signatures = False
        self._unsigned = built.digest
        return built

    def forge(self, block: Block) -> Block:
        """Return the block with the body of the claim, or unchanged if it already has that body."""
        if self._unsigned:
            return block
        if self.claim in self.FOREIGN_CLAIMS:
            body = self._changed(block.transactions)
        else:
            body = (*block.transactions, self._transaction(block))
        return Block(msgspec.structs.replace(block.header, tx_root=mmr_root(body)), body)

    def _changed(self, body: tuple[bytes, ...]) -> tuple[bytes, ...]:
        """Return a body with an entry added, dropped or changed; entry and change are drawn."""
        places = [place for place, entry in enumerate(body) if entry or self.claim != "flip"]
        if self.claim == "append" or not places:
            self._claim = "append"
            return (*body, self.junk(JUNK_BYTES))
        place = places[self.draw(len(places))]
        entry = body[place]
        if self.claim == "drop":
            there: tuple[bytes, ...] = ()
        elif self.claim == "repeat":
            there = (entry, entry)
        else:
            at = self.draw(len(entry))
            there = (entry[:at] + bytes((entry[at] ^ (1 + self.draw(255)),)) + entry[at + 1 :],)
        return (*body[:place], *there, *body[place + 1 :])

    def _transaction(self, block: Block) -> bytes:
        if self.claim == "nonce" and block.transactions:
            return block.transactions[0]
        changes: dict[str, dict[str, int]] = {
            "nonce": {"nonce": 1},
            "fees": {"max_fee_per_cycle": 0, "priority_fee_per_cycle": 0},
            "tip": {"priority_fee_per_cycle": FEE + 1},
            "own-cost": {"cycles_limit": 1},
            "room": {"cycles_limit": 1 << 40},
            # Its signer has no funds, its encoding is changed below, or the block has no client's transaction.
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
