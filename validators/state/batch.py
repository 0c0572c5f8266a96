"""A speculative batch of writes on the committed tip or on another batch.

A batch goes from open (it takes writes) to merkleized (it has operations and a root) to applied or dropped. Batches
chain and fork: each knows its parent and the tip that it extends. The tip is an object, compared by identity, because
size and root of siblings can be equal.

A batch is alive while the walk from it to its first applied ancestor meets no dropped batch and ends at the committed
tip. The walk is made once per epoch, that is, only after something was applied or dropped. It ends at the first
ancestor that was found alive in the same epoch. So a drop only counts the epoch up, a read compares two
integers, and a chain of batches asked from its first batch on takes one step for each.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from validators.state.activity import GRAFT_HEIGHT, Activity, Graft, RowLayer
from validators.state.draft import Draft
from validators.state.errors import DeadBranch, NotMerkleized, SealedBatch, StaleBatch
from validators.state.operations import KEY_BYTES, require_key, require_length
from validators.state.store import Store, extend_tree
from validators.state.tip import Tip
from validators.state.view import Entries, StateView


class BatchStatus(Enum):
    """Stages in the life of a batch."""

    OPEN = "open"
    MERKLEIZED = "merkleized"
    APPLIED = "applied"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True, eq=False)
class BatchOutcome:
    """The result of merkleizing a batch.

    Attributes:
        tip: The database after the batch.
        operations: Encoded operations, in the order of the log.
        nodes: The tree's new nodes by height, joined.
        flags: One byte per operation, 1 for operations that are active after the batch.
        written: Keys that changed against the parent, in the order of the log.
        entries: Location of each key that changed or moved.
        superseded: Locations below the batch that became inactive, the location of the previous commit last.
        rewritten: The superseded locations from the new floor on; below the floor everything is inactive anyway.
        displaced: The keys that lived at `superseded`.
        deleted: Keys deleted.
        created: Keys that the parent did not have.
    """

    tip: Tip
    operations: tuple[bytes, ...]
    nodes: Sequence[bytes]
    flags: bytes
    written: list[bytes]
    entries: Entries
    superseded: list[int]
    rewritten: list[int]
    displaced: list[bytes]
    deleted: list[bytes]
    created: list[bytes]


class Batch:
    """Writes on top of a parent. Made by `Database.batch` only.

    Attributes that are not methods or properties belong to this package.
    """

    __slots__ = (
        *("_canonical_root", "_changes", "_value_bytes", "_view", "_writes", "base", "graft"),
        *("outcome", "parent", "seen_epoch", "status", "store"),
    )

    def __init__(self, store: Store, parent: "Batch | None") -> None:
        self.store: Final = store
        self.parent = parent
        self.base: Final = store.tip if parent is None else parent.result.tip
        self.status = BatchStatus.OPEN
        self.outcome: BatchOutcome | None = None
        self._changes: dict[bytes, bytes | None] | None = None
        self.graft: Graft | None = None
        self._canonical_root: bytes | None = None
        self._writes: dict[bytes, bytes | None] = {}
        self._view = StateView(store) if parent is None else parent.view_from_child()
        self._value_bytes: Final = store.codec.value_bytes
        self.seen_epoch = store.epoch

    @property
    def result(self) -> BatchOutcome:
        """The result of merkleizing; raises NotMerkleized before that."""
        if self.outcome is None:
            msg = f"a batch on {self.base.size} operations has no root yet"
            raise NotMerkleized(msg)
        return self.outcome

    @property
    def root(self) -> bytes:
        """Root over the operations after this batch, 32 bytes; raises NotMerkleized before `merkleize`."""
        return self.result.tip.root

    @property
    def canonical_root(self) -> bytes:
        """Root over operations and activity bitmap after this batch, 32 bytes; hashed at the first request.

        Raises NotMerkleized before `merkleize`, and DeadBranch when the request comes after the branch died.
        """
        _ = self.result
        if self._canonical_root is None:
            self.check_alive()
            activity = self.store.require_activity()
            self._canonical_root = activity.root if self.status is BatchStatus.APPLIED else self.require_graft().root
        return self._canonical_root

    @property
    def size(self) -> int:
        """Operations in the log after this batch; raises NotMerkleized before `merkleize`."""
        return self.result.tip.size

    @property
    def floor(self) -> int:
        """Inactivity floor after this batch; raises NotMerkleized before `merkleize`."""
        return self.result.tip.floor

    @property
    def active(self) -> int:
        """Live keys after this batch; raises NotMerkleized before `merkleize`."""
        return self.result.tip.active

    @property
    def operations(self) -> tuple[bytes, ...]:
        """Encoded operations of this batch; raises NotMerkleized before `merkleize`."""
        return self.result.operations

    @property
    def changes(self) -> Mapping[bytes, bytes | None]:
        """Keys whose value differs from the parent's, with the value or None for deleted, in the order of the log.

        Raises NotMerkleized before `merkleize`. Computed at the first request, which a losing batch never gets.
        """
        if self._changes is None:
            written = self.result.written
            self._changes = dict(zip(written, map(self._writes.__getitem__, written), strict=True))
        return self._changes

    def get(self, key: bytes) -> bytes | None:
        """Return a key's value as seen by this batch, its ancestors and the database, or None.

        Raises:
            DeadBranch: The batch or an ancestor was dropped or lost to an applied sibling.
            BadKey: The key is not 32 bytes long.
        """
        if self.seen_epoch != self.store.epoch:
            self.check_alive()
        require_key(key)
        if self.status is not BatchStatus.APPLIED and key in self._writes:
            return self._writes[key]
        return self._view.find_value(key)

    def write(self, key: bytes, value: bytes | None) -> None:
        """Set a key, or delete it with None; the last write of a key wins.

        Raises:
            DeadBranch: The batch or an ancestor was dropped or lost to an applied sibling.
            SealedBatch: The batch already has its root.
            BadKey: The key is not 32 bytes long.
            BadValue: The value does not have the length that the database requires.
        """
        if self.seen_epoch != self.store.epoch or self.status is not BatchStatus.OPEN:
            self._check_open()
        if len(key) != KEY_BYTES:
            require_key(key)
        if value is not None and self._value_bytes is not None:
            require_length(value, self._value_bytes)
        self._writes[key] = value

    def merkleize(self, metadata: bytes | None = None, *, keep_unchanged: bool = False) -> bytes:
        """Turn the writes into operations and return the root after them.

        Writing a value that the parent already has makes no operation; neither does deleting an absent key.

        Args:
            metadata: Kept in the batch's commit operation.
            keep_unchanged: Writing a value that the parent already has is an update like any other, as the
                specification says; `changes` then includes unchanged values.

        Raises:
            DeadBranch: The batch or an ancestor was dropped or lost to an applied sibling.
            SealedBatch: The batch already has its root.
            BadValue: The metadata does not have the length that the database requires of values.
        """
        self._check_open()
        draft = Draft(self._view, self.base, self.base.active)
        steps = draft.write_changes(self._writes, keep_unchanged=keep_unchanged)
        ancestors = () if self.parent is None else self.parent.list_pending()
        # The previous commit becomes inactive: it adds one step to the number of changed keys.
        floor = draft.raise_floor(steps + 1, ((ancestor.base.size, ancestor.operations) for ancestor in ancestors))
        draft.end(self.store.codec.encode_commit(metadata, floor))
        tip, nodes = extend_tree(self.base, draft.operations, floor, draft.active, grow=self.store.grow)
        outcome = BatchOutcome(
            tip=tip,
            operations=tuple(draft.operations),
            nodes=nodes,
            flags=bytes(draft.flags),
            written=draft.written,
            entries=draft.entries,
            superseded=draft.superseded,
            rewritten=draft.list_rewritten(floor),
            displaced=draft.displaced,
            deleted=draft.deleted,
            created=draft.created,
        )
        self.outcome = self.store.share(outcome)
        self.status = BatchStatus.MERKLEIZED
        return tip.root

    def drop(self) -> None:
        """Drop the batch and all its descendants; a second drop changes nothing.

        Raises:
            StaleBatch: The batch was applied already.
        """
        if self.status is BatchStatus.APPLIED:
            msg = f"the batch with root {self.root.hex()} was applied and cannot be dropped"
            raise StaleBatch(msg)
        self.status = BatchStatus.DROPPED
        self.store.epoch += 1

    def require_graft(self) -> Graft:
        """Return bitmap and grafted tree after this pending batch; missing ancestors' are built first, oldest first."""
        activity = self.store.require_activity()
        layers: tuple[RowLayer, ...] = ()
        for member in self.list_pending():
            if member.graft is None:
                member.graft = member.make_graft(activity, layers)
            layers = member.graft.layers
        assert self.graft is not None, "the pending chain of a batch ends with the batch"
        return self.graft

    def make_graft(self, activity: Activity, layers: tuple[RowLayer, ...]) -> Graft:
        """Return bitmap and grafted tree after this batch, made from the parent's."""
        result = self.result
        return activity.graft(
            self.base,
            result.tip,
            # Once a layer's newest batch is applied, the whole layer is, and the store has the same entries.
            tuple(layer for layer in layers if layer.end > self.store.tip.size),
            flags=result.flags,
            rewritten=result.rewritten,
            nodes=result.nodes[GRAFT_HEIGHT] if len(result.nodes) > GRAFT_HEIGHT else b"",
        )

    def settle(self) -> None:
        """Mark the batch as applied and drop data that the store now has, which would fill the memory."""
        self.status = BatchStatus.APPLIED
        # Cut off, because every applied batch would otherwise keep its ancestors in memory.
        self.parent = None
        self.graft = None
        self._view = StateView(self.store)

    def is_alive(self) -> bool:
        """Return whether the batch can still be read, written or applied on the present database."""
        member: Batch | None = self
        while member is not None and member.seen_epoch != self.store.epoch:
            if member.status is BatchStatus.DROPPED:
                return False
            if member.status is BatchStatus.APPLIED:
                # By identity: after a rewind a different tip may have the same size.
                if member.outcome is None or member.outcome.tip is not self.store.tip:
                    return False
                break
            if member.base is self.store.tip:
                break
            member = member.parent
        if member is None:
            return False
        # Remembered, so that the walk over the ancestors is made once for each change of the store, and a child's walk
        # ends here.
        self.seen_epoch = self.store.epoch
        return True

    def check_alive(self) -> None:
        """Raise DeadBranch unless the batch is alive."""
        if not self.is_alive():
            msg = (
                f"the batch on {self.base.size} operations and root {self.base.root.hex()} is {self.status.value}, but "
                f"its branch was dropped or lost to the tip with {self.store.tip.size} and {self.store.tip.root.hex()}"
            )
            raise DeadBranch(msg)

    def list_pending(self) -> list["Batch"]:
        """Return this batch and its ancestors down to the committed tip, oldest first."""
        pending: list[Batch] = []
        member: Batch | None = self
        while member is not None and member.status is not BatchStatus.APPLIED:
            pending.append(member)
            member = member.parent
        # Oldest first: each batch is appended where its parent ends.
        pending.reverse()
        return pending

    def view_from_child(self) -> StateView:
        """Return the view of a child: this batch's changes over the state that the batch itself reads."""
        if self.status is BatchStatus.APPLIED:
            return StateView(self.store)
        return self._view.stack(self.result.entries, self.result.operations, self.size)

    def _check_open(self) -> None:
        """Raise DeadBranch or SealedBatch unless the batch takes writes."""
        self.check_alive()
        if self.status is not BatchStatus.OPEN:
            msg = f"the batch on {self.base.size} operations is {self.status.value} and takes no more writes"
            raise SealedBatch(msg)
