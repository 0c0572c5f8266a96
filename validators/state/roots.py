"""Both roots of a list of batches, for vectors from outside."""

from collections.abc import Iterable

from validators.state.database import Database
from validators.state.operations import Encoding


def qmdb_root(
    batches: Iterable[Iterable[tuple[bytes, bytes | None]]], encoding: Encoding = "variable"
) -> tuple[bytes, bytes]:
    """Return the roots of a fresh database to which batches were applied one by one.

    Args:
        batches: Writes of each batch, in any order but for the same key, whose last write counts; None deletes. Keys
            and values are bare 32-byte digests, in both encodings.
        encoding: How operations are written, "variable" or "fixed".

    Returns:
        The root over the operations ("any") and the canonical root ("current"), 32 bytes each.

    Raises:
        BadKey: A key is not 32 bytes long.
        BadValue: A value is not 32 bytes long.
    """
    database = Database(encoding=encoding, bare_values=True)
    # Asked for once before the first batch, so that all batches go through the incremental path.
    _ = database.canonical_root
    for writes in batches:
        batch = database.batch()
        for key, value in writes:
            batch.write(key, value)
        batch.merkleize()
        database.apply(batch)
    return database.root, database.canonical_root
