"""The state database: QMDB "Any", unordered, over an MMR (qmdb specification, sections 1, 2 and 4).

Invariant: the root is a function of the batches that were applied and of nothing else. It does not matter whether a
batch's parent was applied before the batch was merkleized, which other batches existed, or in which order keys were
written; a database rebuilt from its log alone has the same root and gives the same root to every batch from then on.

The root commits to the log, hence to how writes were grouped into batches: equal content does not make equal roots.
"""

from collections.abc import Iterable, Iterator
from typing import final

from validators.state.batch import Batch, Outcome, Status
from validators.state.errors import StaleBatch
from validators.state.operations import DELETE, Encoding, choose_codec, require_key
from validators.state.store import DELETED, Store, rebuild_store


@final
class Database:
    """Committed keys and values, their operation log and its root.

    Nothing is shared between databases, and nothing changes but by `apply`.
    """

    __slots__ = ("_store",)

    def __init__(self, *, encoding: Encoding = "variable", bare_values: bool = False) -> None:
        """Make a fresh database, whose log holds one operation: the commit with floor 0.

        Args:
            encoding: How operations are written.
            bare_values: Values are 32-byte digests and stand without their length; the fixed encoding knows no others.
        """
        codec = choose_codec(encoding, bare_values=bare_values)
        self._store: Store = rebuild_store(codec, (codec.encode_commit(None, 0),))

    @classmethod
    def from_operations(
        cls, operations: Iterable[bytes], *, encoding: Encoding = "variable", bare_values: bool = False
    ) -> "Database":
        """Rebuild a database from its operation log alone.

        Args:
            operations: Encoded operations from the first on, ending with a commit.
            encoding: As the log was written.
            bare_values: As the log was written.

        Raises:
            CorruptLog: These bytes are no operation log. A log that is well formed but not the expected one shows in
                its root, which the caller compares.
        """
        database = cls(encoding=encoding, bare_values=bare_values)
        database._store = rebuild_store(choose_codec(encoding, bare_values=bare_values), operations)
        return database

    @property
    def size(self) -> int:
        """Operations in the log; 1 in a fresh database."""
        return self._store.tip.size

    @property
    def floor(self) -> int:
        """Location below which no operation is active."""
        return self._store.tip.floor

    @property
    def root(self) -> bytes:
        """Root over the operation log, 32 bytes."""
        return self._store.tip.root

    @property
    def active(self) -> int:
        """Live keys."""
        return self._store.tip.active

    def get(self, key: bytes) -> bytes | None:
        """Return a key's committed value, or None; raises BadKey unless the key is 32 bytes long."""
        require_key(key)
        return self._store.find_value(key)

    def items(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield all keys and values, ascending by key."""
        store = self._store
        for key in sorted(store.locations):
            yield key, store.codec.value_of(store.log[store.locations[key]])

    def operations(self, start: int = 0) -> tuple[bytes, ...]:
        """Return the encoded operations from a location on."""
        return tuple(self._store.log[start:])

    def batch(self, parent: Batch | None = None) -> Batch:
        """Open a batch on the committed tip, or on a parent that is merkleized.

        Raises:
            NotMerkleized: The parent has no root yet.
            StaleBatch: The parent belongs to another database.
            DeadBranch: The parent, or one it stands on, was dropped or lost to an applied sibling.
        """
        if parent is None:
            return Batch(self._store, None)
        self._check_own(parent)
        parent.check_alive()
        return Batch(self._store, parent)

    def apply(self, batch: Batch) -> tuple[bytes, ...]:
        """Commit a batch after its pending ancestors, oldest first, and return the operations appended.

        Siblings of what was applied are dead from then on; children of the batch stay valid.

        Raises:
            NotMerkleized: The batch has no root yet.
            StaleBatch: The batch was dropped or applied before, belongs to another database, or does not extend the
                committed tip. Nothing has changed then.
        """
        self._check_own(batch)
        if batch.status is Status.APPLIED or not batch.is_alive():
            tip = self._store.tip
            msg = (
                f"the batch on {batch.base.size} operations and root {batch.base.root.hex()} is {batch.status.value} "
                f"and does not extend the tip with {tip.size} and {tip.root.hex()}"
            )
            raise StaleBatch(msg)
        # Asked before anything is appended: an open batch must not leave its ancestors half applied.
        appended: list[bytes] = []
        _ = batch.result
        for member in batch.list_pending():
            self._append(member.result)
            appended += member.operations
            member.settle()
        self._store.epoch += 1
        return tuple(appended)

    def _check_own(self, batch: Batch) -> None:
        """Raise StaleBatch for a batch that another database made, however equal the two may look."""
        if batch.store is not self._store:
            msg = f"a batch of another database, on {batch.base.size} operations and root {batch.base.root.hex()}"
            raise StaleBatch(msg)

    def _append(self, outcome: Outcome) -> None:
        """Take over what one batch found; rewinding would undo exactly these lines."""
        store = self._store
        assert len(store.log) == outcome.tip.size - len(outcome.operations), "a batch left a gap in the log"
        store.log += outcome.operations
        store.nodes += outcome.nodes
        store.flags += bytes([operation[0] != DELETE for operation in outcome.operations])
        flags = store.flags
        for location in outcome.superseded:
            flags[location] = 0
        locations = store.locations
        for key, entry in outcome.entries.items():
            if entry is DELETED:
                del locations[key]
            else:
                locations[key] = entry[0]
        assert len(locations) == outcome.tip.active, "a batch miscounted the live keys"
        store.tip = outcome.tip
