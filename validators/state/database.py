"""The state database: QMDB, unordered, over an MMR (docs/state.md).

It has two roots: that over the operation log alone (`root`, QMDB "Any"), and the canonical one, which also says which
operations are active (`canonical_root`, QMDB "Current"). The second costs nothing until it is asked for.

Invariant: the root is a function of the batches that were applied and of nothing else. It does not matter whether a
batch's parent was applied before the batch was merkleized, which other batches existed, or in which order keys were
written; a database rebuilt from its log alone has the same root and gives the same root to every batch from then on.

The root commits to the log, hence to how writes were grouped into batches: equal content does not make equal roots.
"""

from collections.abc import Iterable, Iterator
from itertools import chain

from validators.state.audit import Rebuilds, StateAudit, audit_store
from validators.state.batch import Batch, BatchStatus
from validators.state.errors import NotRetained, PrunedLocation, StaleBatch
from validators.state.history import append_outcome, prune_store, rewind_store
from validators.state.operations import Encoding, choose_codec, require_key
from validators.state.proofs import prove_key, prove_operation, prove_root, prove_update
from validators.state.sharing import Sharing
from validators.state.snapshot import Snapshot, check_shape, restore_snapshot, take_snapshot
from validators.state.store import Store, rebuild_indexes, rebuild_store
from validators.state.tree import GrowTree


class Database:
    """Committed keys and values, their operation log and its root.

    Nothing is shared between databases, and nothing changes but by `apply`, `rewind` and `prune`.
    """

    __slots__ = ("_store",)

    def __init__(self, *, encoding: Encoding = "variable", bare_values: bool = False, retain: int = 0) -> None:
        """Make a fresh database, whose log holds one operation: the commit with floor 0.

        Args:
            encoding: The encoding of operations.
            bare_values: Values are 32-byte digests and stand without their length, as always in the fixed encoding.
            retain: Number of the last applied batches that `rewind` can take back.
        """
        codec = choose_codec(encoding, bare_values=bare_values)
        self._store: Store = rebuild_store(codec, (codec.encode_commit(None, 0),), retain=retain)

    @classmethod
    def from_operations(
        cls,
        operations: Iterable[bytes],
        *,
        encoding: Encoding = "variable",
        bare_values: bool = False,
        retain: int = 0,
        base: Snapshot | None = None,
    ) -> "Database":
        """Rebuild a database from its operation log alone, or from a snapshot and the log above it.

        Args:
            operations: Encoded operations from the first on, ending with a commit; with a base, those after it.
            encoding: As the log was written.
            bare_values: As the log was written.
            retain: Number of batches applied from now on that `rewind` can undo.
            base: A snapshot whose root the caller has compared, or compares through the root of the whole database.

        Raises:
            CorruptLog: These bytes are no operation log. If a log is well formed but not the expected log, its root
                differs, which the caller compares.
            ForgedSnapshot: The base is not a valid snapshot.
        """
        database = cls(encoding=encoding, bare_values=bare_values)
        codec = choose_codec(encoding, bare_values=bare_values)
        if base is None:
            database._store = rebuild_store(codec, operations, retain=retain)
        else:
            check_shape(base)
            log = chain(base.operations, operations)
            database._store = rebuild_store(codec, log, retain=retain, start=base.start, peaks=base.peaks)
        return database

    @classmethod
    def from_snapshot(
        cls,
        snapshot: Snapshot,
        canonical_root: bytes,
        *,
        encoding: Encoding = "variable",
        bare_values: bool = False,
        retain: int = 0,
    ) -> "Database":
        """Restore a database from an untrusted peer's snapshot, trusting nothing but the canonical root.

        The restored database has the same roots, proves its operations by the same bytes, and gives the same roots to
        every batch. No batch from before can be undone.

        Args:
            snapshot: The result of `snapshot` there, or a forgery of it.
            canonical_root: The root that the state must have, 32 bytes.
            encoding: As the log was written.
            bare_values: As the log was written.
            retain: Number of batches applied from now on that `rewind` can undo.

        Raises:
            ForgedSnapshot: The snapshot is not the one of this root; the message begins with the wrong part.
        """
        database = cls(encoding=encoding, bare_values=bare_values)
        codec = choose_codec(encoding, bare_values=bare_values)
        database._store = restore_snapshot(snapshot, canonical_root, codec, retain)
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
    def canonical_root(self) -> bytes:
        """Root over operations and activity bitmap, 32 bytes; kept up to date from the first request on."""
        return self._store.require_activity().root

    @property
    def start(self) -> int:
        """Location of the oldest operation that was not pruned."""
        return self._store.start

    @property
    def retained(self) -> int:
        """The number of batches that `rewind` can undo."""
        return len(self._store.undos)

    @property
    def active(self) -> int:
        """Live keys."""
        return self._store.tip.active

    def __contains__(self, key: bytes) -> bool:
        """Whether a key has a value in the applied state."""
        return key in self._store.locations

    def get(self, key: bytes) -> bytes | None:
        """Return a key's committed value, or None; raises BadKey unless the key is 32 bytes long."""
        require_key(key)
        return self._store.find_value(key)

    def items(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield all keys and values, ascending by key."""
        store = self._store
        # Sorted by key, because the index has the order of writing, which differs after a rebuild.
        for key in sorted(store.locations):
            yield key, store.codec.value_of(store.log[store.locations[key] - store.start])

    def operations(self, start: int = 0) -> tuple[bytes, ...]:
        """Return the encoded operations from a location on; raise PrunedLocation when the location was pruned."""
        if start < self._store.start:
            msg = f"operation {start} was pruned; the oldest kept operation is {self._store.start}"
            raise PrunedLocation(msg)
        # A copy: the log is cut and pruned in place.
        return tuple(self._store.log[start - self._store.start :])

    def batch(self, parent: Batch | None = None) -> Batch:
        """Open a batch on the committed tip, or on a parent that is merkleized.

        Raises:
            NotMerkleized: The parent has no root yet.
            StaleBatch: The parent belongs to another database.
            DeadBranch: The parent or an ancestor was dropped or lost to an applied sibling.
        """
        if parent is None:
            return Batch(self._store, None)
        self._check_own(parent)
        parent.check_alive()
        return Batch(self._store, parent)

    def apply(self, batch: Batch) -> tuple[bytes, ...]:
        """Commit a batch after its pending ancestors, oldest first, and return the operations appended.

        Siblings of applied batches are dead from then on; children of the batch stay valid.

        Raises:
            NotMerkleized: The batch has no root yet.
            StaleBatch: The batch was dropped or applied before, belongs to another database, or does not extend the
                committed tip. Nothing has changed then.
        """
        self._check_own(batch)
        if batch.status is BatchStatus.APPLIED or not batch.is_alive():
            tip = self._store.tip
            msg = (
                f"the batch on {batch.base.size} operations and root {batch.base.root.hex()} is {batch.status.value} "
                f"and does not extend the tip with {tip.size} and {tip.root.hex()}"
            )
            raise StaleBatch(msg)
        # Checked before anything is appended: an open batch must not leave its ancestors half applied.
        appended: list[bytes] = []
        _ = batch.result
        for member in batch.list_pending():
            # Once the canonical root was requested it is kept up to date, so that no later request finds a gap.
            graft = None if self._store.activity is None else member.require_graft()
            append_outcome(self._store, member.result, graft)
            appended += member.operations
            member.settle()
        self._store.epoch += 1
        return tuple(appended)

    def rewind(self, batches: int) -> bytes:
        """Undo the last applied batches and return the root then.

        Pending batches on undone batches are dead. Batches that died when the undone batches were applied are alive
        again if they stand on the new tip. An undone batch cannot be applied again: its writes go into a new batch.

        Args:
            batches: The number to undo; a chain applied at once counts each of its batches.

        Raises:
            NotRetained: More than `retained`, or a negative number. Nothing has changed then.
        """
        if not 0 <= batches <= self.retained:
            msg = f"cannot undo {batches} batches, expected 0 to {self.retained}"
            raise NotRetained(msg)
        if batches:
            rewind_store(self._store, batches)
            self._store.epoch += 1
        return self.root

    def prune(self, location: int | None = None) -> int:
        """Forget operations below a location unless they are needed, and return the oldest kept location.

        Operations stay that are active now or in any state that `rewind` can reach: all from the floor of the oldest
        of these states on. Only whole chunks of the bitmap are forgotten.

        Args:
            location: Keep everything from here on; None to forget all that may be forgotten.
        """
        # Chunks that a rebuild has left stale are hashed before they are dropped: nodes above them stay.
        _ = self.canonical_root
        return prune_store(self._store, self.size if location is None else location)

    def snapshot(self) -> Snapshot:
        """Return all that `from_snapshot` needs to restore the committed tip elsewhere.

        It holds the operations from the floor's chunk on, shared with the log and never changed; nothing is pruned.
        """
        return take_snapshot(self._store)

    @property
    def grow(self) -> GrowTree:
        """The function that hashes the operations of batches; rebuilds and audits hash everything anew."""
        return self._store.grow

    def share(self, sharing: Sharing) -> None:
        """Keep data that is equal to another database's once, and hash no batch that another database has hashed."""
        sharing.adopt(self._store)

    def rebuild(self) -> None:
        """Rebuild every index, flag, tree node and the bitmap from the kept operations alone.

        Below the pruned location only the tree's peaks exist, which are kept. Pending batches and the data that
        `rewind` needs stay, as neither is an index.

        Raises:
            CorruptLog: The operations do not lead to the database's root. Nothing has changed then.
        """
        rebuild_indexes(self._store)

    def audit(self, rebuilds: Rebuilds | None = None) -> StateAudit:
        """Compare all data in memory with the same data rebuilt from the kept operations; changes nothing.

        Audits of several databases may share `rebuilds`.
        """
        return audit_store(self._store, rebuilds)

    def prove_operation(self, location: int) -> bytes:
        """Return the proof that `root` covers the operation at a location, for `verify_operation`.

        Raises PrunedLocation when the operation was pruned or does not exist.
        """
        return prove_operation(self._store, location)

    def prove_key(self, key: bytes) -> bytes:
        """Return the proof that `canonical_root` covers a key with its value, for `verify_key`.

        Raises BadKey unless the key is 32 bytes long, and AbsentKey when it has no value.
        """
        require_key(key)
        return prove_key(self._store, key)

    def prove_update(self, location: int) -> bytes:
        """Return the proof that a key has the value of the update at a location, for `verify_key`.

        Of a superseded update it is the proof that a dishonest prover would show: `verify_key` refuses it.
        Raises PrunedLocation when the operation was pruned or does not exist.
        """
        return prove_update(self._store, location)

    def prove_root(self) -> bytes:
        """Return the proof that `canonical_root` has `root` inside, for `verify_root`."""
        return prove_root(self._store)

    def _check_own(self, batch: Batch) -> None:
        """Raise StaleBatch for a batch that another database made, however equal the two may look."""
        if batch.store is not self._store:
            msg = f"a batch of another database, on {batch.base.size} operations and root {batch.base.root.hex()}"
            raise StaleBatch(msg)
