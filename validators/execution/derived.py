"""Derived state of an execution engine that the audit does not cover: executed blocks."""

from collections.abc import Mapping

import msgspec

from validators.derived import Derived, DerivedSize, Plain
from validators.execution.block_tree import BlockTree
from validators.execution.blocks import address_of, decode_transaction
from validators.execution.schema import Account, account_key


def next_nonce(tree: BlockTree, public_key: bytes) -> int:
    """Return the next nonce of a public key's account after the finalized block."""
    stored = tree.database.get(account_key(address_of(public_key)))
    nonce = 0 if stored is None else msgspec.msgpack.decode(stored, type=Account).nonce
    # Blocks applied early have raised it by one for each transaction.
    early = (decode_transaction(encoded) for branch in tree.early() for encoded in branch.transactions)
    return nonce - sum(transaction.public_key == public_key for transaction in early)


def derive_execution(tree: BlockTree) -> Derived:
    """Return the kept blocks beside those that finality leaves."""
    descends = {tree.finalized.digest: True}
    for branch in tree.unfinalized():
        # In the order of execution: parents come before their children.
        descends[branch.digest] = descends.get(branch.header.parent, False)
    blocks: Mapping[str, Plain] = {f"block {branch.digest.hex()}": True for branch in tree.unfinalized()}
    above: Mapping[str, Plain] = {
        f"block {branch.digest.hex()}": True for branch in tree.unfinalized() if descends[branch.digest]
    }
    return Derived(
        part="execution",
        kept=blocks,
        rebuilt=above,
        sizes=(
            DerivedSize(
                "blocks undone or executed again that nobody was told of", tree.unreported, 0, "0 between steps"
            ),
            # More of them could not be rewound if another branch wins.
            DerivedSize("blocks applied early", len(tree.early()), tree.retain_blocks, "retain_blocks"),
        ),
    )
