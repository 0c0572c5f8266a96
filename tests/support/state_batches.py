"""Helpers shared by the tests of the state database: keys and one-line batches."""

from validators.state import Batch, Database

KEYS = [bytes([n]) * 32 for n in range(6)]


def commit(database: Database, writes: dict[bytes, bytes | None], metadata: bytes | None = None) -> Batch:
    batch = fork(database, None, writes, metadata)
    database.apply(batch)
    return batch


def fork(
    database: Database, parent: Batch | None, writes: dict[bytes, bytes | None], metadata: bytes | None = None
) -> Batch:
    batch = database.batch(parent)
    for key, value in writes.items():
        batch.write(key, value)
    batch.merkleize(metadata)
    return batch
