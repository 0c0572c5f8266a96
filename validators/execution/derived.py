"""Derived state of an execution engine that the audit does not cover: decoded records and executed blocks."""

from collections.abc import Mapping

import msgspec

from validators.derived import Derived, DerivedSize, Plain
from validators.execution.block_tree import BlockTree
from validators.execution.blocks import address_of, decode_transaction
from validators.execution.schema import Account, account_key
from validators.execution.view import DecodedCache


def next_nonce(tree: BlockTree, public_key: bytes) -> int:
    """Return the next nonce of a public key's account after the finalized block."""
    stored = tree.database.get(account_key(address_of(public_key)))
    nonce = 0 if stored is None else msgspec.msgpack.decode(stored, type=Account).nonce
    # Blocks applied early have raised it by one for each transaction.
    early = (decode_transaction(encoded) for branch in tree.early() for encoded in branch.transactions)
    return nonce - sum(transaction.public_key == public_key for transaction in early)


def derive_execution(tree: BlockTree, cache: DecodedCache) -> Derived:
    """Return decoded records and blocks beside the same data derived from state and finality."""
    records: dict[str, Plain] = {}
    expected: dict[str, Plain] = {}
    # Once for all keys, because a record is looked up after each reorganization, and a branch may be long.
    written = {
        key: None for branch in tree.unfinalized() if branch.executed is not None for key in branch.executed.changes
    }
    for key in cache.kept():
        records[f"record of {key.hex()}"] = True
        if key in written or tree.database.get(key) is not None:
            expected[f"record of {key.hex()}"] = True
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
        kept={**records, **blocks},
        rebuilt={**expected, **above},
        sizes=(
            DerivedSize(
                "blocks undone or executed again that nobody was told of", tree.unreported, 0, "0 between steps"
            ),
            DerivedSize(
                "decoded records", len(records), tree.database.active + len(written), "keys of state and branches"
            ),
            # More of them could not be rewound if another branch wins.
            DerivedSize("blocks applied early", len(tree.early()), tree.retain_blocks, "retain_blocks"),
        ),
    )
