"""A speculative batch of writes on the committed tip or on another batch.

A batch goes from open (it takes writes) to merkleized (it has operations and a root) to applied or dropped. Batches
chain and fork: each knows its parent and the tip that it extends. That tip is an object, compared by identity; size
and root of siblings can be equal, their identity cannot.

A batch is alive while the walk from it to its first applied ancestor meets no dropped batch and ends at the committed
tip. The walk is made once per epoch, that is again only after something was applied or dropped, so that a drop costs
nothing but the count, and a read costs one comparison of integers.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final, final

from validators.state.draft import Draft
from validators.state.errors import DeadBranch, NotMerkleized, SealedBatch, StaleBatch
from validators.state.operations import require_key, require_length
from validators.state.store import Store, Tip, extend_tree
from validators.state.view import Entries, View


class Status(Enum):
    """Where a batch stands in its life."""

    OPEN = "open"
    MERKLEIZED = "merkleized"
    APPLIED = "applied"
    DROPPED = "dropped"


@final
@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What merkleizing a batch found.

    Attributes:
        tip: The database after the batch.
        operations: Encoded operations, in the order of the log.
        nodes: The tree's new nodes, in the order of their positions.
        changes: Value of each key that changed against the parent, None for a deleted one, in the order of the log.
        entries: Entry of each key that changed or moved.
        superseded: Locations that are active no longer, the one of the commit before included.
    """

    tip: Tip
    operations: tuple[bytes, ...]
    nodes: list[bytes]
    changes: dict[bytes, bytes | None]
    entries: Entries
    superseded: list[int]


@final
class Batch:
    """Writes on top of a parent. Made by `Database.batch` only.

    Attributes that are not methods or properties belong to this package.
    """

    __slots__ = ("_seen_epoch", "_view", "_writes", "base", "outcome", "parent", "status", "store")

    def __init__(self, store: Store, parent: "Batch | None") -> None:
        self.store: Final = store
        self.parent = parent
        self.base: Final = store.tip if parent is None else parent.result.tip
        self.status = Status.OPEN
        self.outcome: Outcome | None = None
        self._writes: dict[bytes, bytes | None] = {}
        self._view = View(store) if parent is None else parent.view_from_child()
        self._seen_epoch = store.epoch

    @property
    def result(self) -> Outcome:
        """All that merkleizing found; raises NotMerkleized before that."""
        if self.outcome is None:
            msg = f"a batch on {self.base.size} operations has no root yet"
            raise NotMerkleized(msg)
        return self.outcome

    @property
    def root(self) -> bytes:
        """Root over the operations after this batch, 32 bytes; raises NotMerkleized before `merkleize`."""
        return self.result.tip.root

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

        Raises NotMerkleized before `merkleize`.
        """
        return self.result.changes

    def get(self, key: bytes) -> bytes | None:
        """Return a key's value as this batch, its ancestors and the database have it, or None.

        Raises:
            DeadBranch: The batch, or one it stands on, was dropped or lost to an applied sibling.
            BadKey: The key is not 32 bytes long.
        """
        if self._seen_epoch != self.store.epoch:
            self.check_alive()
        require_key(key)
        if key in self._writes:
            return self._writes[key]
        return self._view.find_value(key)

    def write(self, key: bytes, value: bytes | None) -> None:
        """Set a key, or delete it with None; the last write of a key wins.

        Raises:
            DeadBranch: The batch, or one it stands on, was dropped or lost to an applied sibling.
            SealedBatch: The batch already has its root.
            BadKey: The key is not 32 bytes long.
            BadValue: The value has not the length that the database asks for.
        """
        if self._seen_epoch != self.store.epoch or self.status is not Status.OPEN:
            self._check_open()
        require_key(key)
        if value is not None:
            require_length(value, self.store.codec.value_bytes)
        self._writes[key] = value

    def merkleize(self, metadata: bytes | None = None) -> bytes:
        """Turn the writes into operations and return the root after them.

        A write of the value that the parent already has makes no operation; neither does the delete of an absent key.

        Args:
            metadata: Kept in the batch's commit operation.

        Raises:
            DeadBranch: The batch, or one it stands on, was dropped or lost to an applied sibling.
            SealedBatch: The batch already has its root.
            BadValue: The metadata has not the length that the database asks of values.
        """
        self._check_open()
        draft = Draft(self._view, self.base, self.base.active)
        steps = draft.write_changes(self._writes)
        ancestors = () if self.parent is None else self.parent.list_pending()
        # The commit before is active no longer: it makes the one step more than the changed keys do.
        floor = draft.raise_floor(steps + 1, ((ancestor.base.size, ancestor.operations) for ancestor in ancestors))
        draft.superseded.append(self.base.size - 1)
        draft.operations.append(self.store.codec.encode_commit(metadata, floor))
        tip, nodes = extend_tree(self.base, draft.operations, floor, draft.active)
        operations = tuple(draft.operations)
        self.outcome = Outcome(tip, operations, nodes, draft.changes, draft.entries, draft.superseded)
        self.status = Status.MERKLEIZED
        return tip.root

    def drop(self) -> None:
        """Give the batch up, and with it all that stand on it; a second drop changes nothing.

        Raises:
            StaleBatch: The batch was applied already.
        """
        if self.status is Status.APPLIED:
            msg = f"the batch with root {self.root.hex()} was applied and cannot be dropped"
            raise StaleBatch(msg)
        self.status = Status.DROPPED
        self.store.epoch += 1

    def settle(self) -> None:
        """Mark the batch as applied and let go of all that the store now has; a chain of all blocks would stay else."""
        self.status = Status.APPLIED
        self.parent = None
        self._view = View(self.store)
        self._writes = {}

    def is_alive(self) -> bool:
        """Return whether the batch can still be read, written or applied on the database as it is."""
        member: Batch | None = self
        while member is not None:
            if member.status is Status.DROPPED:
                return False
            if member.status is Status.APPLIED:
                return member.outcome is not None and member.outcome.tip is self.store.tip
            if member.base is self.store.tip:
                return True
            member = member.parent
        return False

    def check_alive(self) -> None:
        """Raise DeadBranch unless the batch is alive, and remember the epoch in which it was."""
        if not self.is_alive():
            msg = (
                f"the batch on {self.base.size} operations and root {self.base.root.hex()} is {self.status.value}, but "
                f"its branch was dropped or lost to the tip with {self.store.tip.size} and {self.store.tip.root.hex()}"
            )
            raise DeadBranch(msg)
        self._seen_epoch = self.store.epoch

    def list_pending(self) -> list["Batch"]:
        """Return this batch and its ancestors down to the committed tip, oldest first."""
        pending: list[Batch] = []
        member: Batch | None = self
        while member is not None and member.status is not Status.APPLIED:
            pending.append(member)
            member = member.parent
        pending.reverse()
        return pending

    def view_from_child(self) -> View:
        """Return the view of a child: this batch's changes over all that the batch itself reads."""
        if self.status is Status.APPLIED:
            return View(self.store)
        return self._view.stack(self.result.entries, self.size)

    def _check_open(self) -> None:
        """Raise DeadBranch or SealedBatch unless the batch takes writes."""
        self.check_alive()
        if self.status is not Status.OPEN:
            msg = f"the batch on {self.base.size} operations is {self.status.value} and takes no more writes"
            raise SealedBatch(msg)
