"""Roots of plain lists, and of sequences of batches for external test vectors."""

from collections.abc import Iterable
from hashlib import sha256

from validators.state.database import Database
from validators.state.mmr import fold_forward
from validators.state.operations import Encoding
from validators.state.tree import GrowTree, grow_tree, pack_position


def mmr_root(elements: Iterable[bytes], grow: GrowTree = grow_tree) -> bytes:
    """Return the root of a plain list, such as a block's transactions or receipts.

    A plain list has no inactive peaks and folds forward, as the published roots of generation 3 do. `grow` may know
    its nodes already.
    """
    contents = tuple(elements)
    peaks, _ = grow((), 0, contents)
    preimage = pack_position(len(contents))
    return sha256(preimage + fold_forward(peaks) if peaks else preimage).digest()


def qmdb_root(
    batches: Iterable[Iterable[tuple[bytes, bytes | None]]], encoding: Encoding = "variable"
) -> tuple[bytes, bytes]:
    """Return the roots of a fresh database to which batches were applied one by one.

    Args:
        batches: Writes of each batch, in any order except for the same key, whose last write counts; None deletes.
            Writing a key's present value is an update, as the specification says, although a block of the chain would
            leave it out. Keys and values are bare 32-byte digests, in both encodings.
        encoding: Encoding of operations, "variable" or "fixed".

    Returns:
        The root over the operations ("any") and the canonical root ("current"), 32 bytes each.

    Raises:
        BadKey: A key is not 32 bytes long.
        BadValue: A value is not 32 bytes long.
    """
    database = Database(encoding=encoding, bare_values=True)
    # Requested once before the first batch, so that all batches go through the incremental path.
    _ = database.canonical_root
    for writes in batches:
        batch = database.batch()
        for key, value in writes:
            batch.write(key, value)
        batch.merkleize(keep_unchanged=True)
        database.apply(batch)
    return database.root, database.canonical_root
