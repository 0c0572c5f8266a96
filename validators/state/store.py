"""The committed part of a state database: its log, its tree, and each key's location.

Everything here can be rebuilt from the operation log alone (`rebuild_store`). Log, tree and flags only ever grow at the
end, so cutting them back to an older size restores them. An `Undo` of history.py restores all other changes. Their
oldest part can be pruned, below every floor that can still be restored.

Values are not kept apart: a key's location leads to its operation, whose bytes hold the value.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import repeat
from operator import sub
from typing import Any

from validators.state.activity import Activity
from validators.state.errors import CorruptLog
from validators.state.mmr import count_inactive_peaks, fold_root
from validators.state.operations import COMMIT, DELETE, UPDATE, Operation, OperationCodec
from validators.state.tip import Tip
from validators.state.tree import GrowTree, Levels, grow_tree
from validators.state.undo import Undo


class Store:
    """The committed data, open to the modules of this package only.

    Attributes:
        codec: The codec of operations.
        start: Location of the oldest kept operation, a multiple of a chunk's bits; index 0 of log and flags.
        log: All kept operations, oldest first.
        levels: Nodes of the tree.
        flags: One byte per operation, 1 for the latest update of a live key and for the latest commit, else 0. Bytes,
            not bits, because `find` then steps to the next active operation at the speed of memchr.
        locations: Location of each live key's latest update.
        tip: The result of the last applied batch.
        activity: Bitmap and grafted tree at the tip, None until a canonical root is asked for.
        undos: The records that undo the last applied batches, oldest first, at most as many as are to be retained.
        epoch: Counts the events that can kill a branch; a batch checked in this epoch need not be checked again.
        grow: Hashes the operations of batches.
        share: Returns an equal outcome of a batch that another database has, or the outcome itself.
    """

    __slots__ = (
        *("__weakref__", "activity", "codec", "epoch", "flags", "grow", "levels", "locations", "log", "share", "start"),
        *("tip", "undos"),
    )

    def __init__(self, codec: OperationCodec, retain: int = 0) -> None:
        self.codec = codec
        self.start = 0
        self.log: list[bytes] = []
        self.levels = Levels()
        self.flags = bytearray()
        self.locations: dict[bytes, int] = {}
        self.tip = Tip(0, 0, 0, fold_root((), 0), ())
        self.activity: Activity | None = None
        self.undos: deque[Undo] = deque(maxlen=retain)
        self.epoch = 0
        self.grow: GrowTree = grow_tree
        self.share: Callable[[Any], Any] = _alone

    def find_value(self, key: bytes) -> bytes | None:
        """Return a key's committed value, or None."""
        location = self.locations.get(key)
        return None if location is None else self.codec.value_of(self.log[location - self.start])

    def read_operations(self, locations: Sequence[int]) -> list[bytes]:
        """Return the encoded operations at locations that were not pruned."""
        indices = map(sub, locations, repeat(self.start)) if self.start else locations
        return list(map(self.log.__getitem__, indices))

    def require_activity(self) -> Activity:
        """Return bitmap and grafted tree at the tip; the first call builds them, and later batches keep them."""
        if self.activity is None:
            self.activity = Activity(self.tip, self.levels)
        self.activity.refresh(self.tip, self.flags, self.levels)
        return self.activity


def _alone(outcome: object) -> object:
    """Return the outcome itself: nothing is shared."""
    return outcome


def extend_tree(
    base: Tip, operations: Sequence[bytes], floor: int, active: int, *, grow: GrowTree = grow_tree
) -> tuple[Tip, Sequence[bytes]]:
    """Return the tip after more operations, and the tree's new nodes by height."""
    size = base.size + len(operations)
    peaks, rows = grow(base.peaks, base.size, operations)
    root = fold_root(peaks, size, count_inactive_peaks(size, floor))
    return Tip(size, floor, active, root, peaks), rows


def rebuild_store(
    codec: OperationCodec, operations: Iterable[bytes], *, retain: int = 0, start: int = 0, peaks: Sequence[bytes] = ()
) -> Store:
    """Rebuild everything from an operation log, or from its tail and the peaks over the pruned operations.

    Args:
        codec: The codec of the operations.
        operations: Encoded operations from `start` on, ending with a commit.
        retain: Number of batches applied from now on that can be undone.
        start: Location of the first operation, a multiple of a chunk's bits; nothing below is active.
        peaks: Peaks of the tree over the operations below `start`, tallest first.

    Raises:
        CorruptLog: An operation cannot be decoded; or a whole log does not start with the first commit; or the log does
            not end with a commit; or a delete finds no key in a whole log; or a floor falls, passes its commit, or
            leaves an active operation below it. A well-formed but wrong log is found by comparing roots.
    """
    store = Store(codec, retain)
    store.start = start
    store.levels = Levels.pinned(start, peaks)
    floor = 0
    commit_index: int | None = None
    operation = Operation(UPDATE)
    for index, encoded in enumerate(operations):
        operation = codec.decode(encoded)
        replay_operation(store, index, operation)
        if operation.kind == COMMIT:
            if commit_index is not None:
                store.flags[commit_index] = 0
            check_commit(store, start + index, operation, floor)
            store.flags[index] = 1
            floor, commit_index = operation.floor, index
        store.log.append(encoded)
    if operation.kind != COMMIT or floor < start:
        msg = f"a log of {len(store.log)} operations from {start} on does not end with a commit whose floor is in it"
        raise CorruptLog(msg)
    base = Tip(start, 0, 0, b"", tuple(peaks))
    store.tip, rows = extend_tree(base, store.log, floor, len(store.locations))
    store.levels.extend(rows)
    return store


def rebuild_indexes(store: Store) -> None:
    """Rebuild all but the tip and the undos from the kept log and the peaks over the pruned operations.

    The tip stays the same object, because pending batches extend it.

    Raises:
        CorruptLog: The log does not lead to the tip. Nothing has changed then.
    """
    peaks = store.levels.pinned_peaks(store.start)
    fresh = rebuild_store(store.codec, store.log, start=store.start, peaks=peaks)
    tips = (store.tip, fresh.tip)
    if tips[0].root != tips[1].root or tips[0].floor != tips[1].floor or tips[0].active != tips[1].active:
        msg = f"the log leads to the root {fresh.tip.root.hex()} and not to {store.tip.root.hex()}"
        raise CorruptLog(msg)
    store.levels, store.flags, store.locations = fresh.levels, fresh.flags, fresh.locations
    if store.activity is not None:
        store.activity = Activity(store.tip, store.levels)


def replay_operation(store: Store, index: int, operation: Operation) -> None:
    """Apply one operation of a log: set its key's location, and clear the flag of the operation it replaces."""
    location = store.start + index
    if location == 0 and operation != Operation(COMMIT):
        msg = f"a log starts with {operation} instead of a commit with floor 0 and no metadata"
        raise CorruptLog(msg)
    previous = store.locations.pop(operation.key, None)
    if previous is not None:
        store.flags[previous - store.start] = 0
    elif operation.kind == DELETE and store.start == 0:
        # In a tail, the key's last update may have been pruned.
        msg = f"operation {location} deletes the absent key {operation.key.hex()}"
        raise CorruptLog(msg)
    if operation.kind == UPDATE:
        store.locations[operation.key] = location
    store.flags.append(operation.kind == UPDATE)


def check_commit(store: Store, location: int, commit: Operation, floor: int) -> None:
    """Raise CorruptLog unless a commit's floor lies between the floor before and every active operation."""
    if not floor <= commit.floor <= location:
        msg = f"the commit at {location} moves the floor from {floor} to {commit.floor}"
        raise CorruptLog(msg)
    start = store.start
    active = store.flags.find(1, max(floor - start, 0), max(commit.floor - start, 0))
    if active >= 0:
        msg = f"the commit at {location} raises the floor to {commit.floor} above the active operation {start + active}"
        raise CorruptLog(msg)
