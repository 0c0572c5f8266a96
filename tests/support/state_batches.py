"""Helpers shared by the tests of the state database: keys, strategies and one-line batches."""

from hypothesis import strategies as st

from tests.support.state_model import plain_roots
from validators.state import Batch, Database

KEYS = [bytes([n]) * 32 for n in range(6)]
WRITES = st.dictionaries(st.sampled_from(KEYS), st.none() | st.sampled_from([b"", b"one", b"two" * 100]), max_size=5)


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


def canonical_plainly(operations: list[bytes], floor: int) -> bytes:
    """The canonical root restated from the log alone: no index and no increment."""
    active: dict[bytes, int] = {}
    for location, operation in enumerate(operations):
        # The latest commit is active like the latest update of a live key.
        active[b"" if operation[0] == 0xD3 else operation[1:33]] = location
    live = [location for location in active.values() if operations[location][0] != 0xD1]
    return plain_roots(operations, floor, live)[1]
