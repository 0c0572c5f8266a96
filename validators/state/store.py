"""The committed part of a state database: its log, its tree, and where each key lives.

Everything here can be rebuilt from the operation log alone (`rebuild_store`). Positions only ever grow at the end, so
cutting `log`, `nodes` and `flags` back to an older size restores them; only the locations that later operations took
over would have to be put back besides.

Values are not kept apart: a key's location leads to its operation, whose bytes hold the value.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, final

from validators.state.errors import CorruptLog
from validators.state.mmr import append_leaves, count_inactive_peaks, fold_root
from validators.state.operations import COMMIT, DELETE, UPDATE, Codec, Operation

Entry: TypeAlias = tuple[int, bytes]
"""Location and bytes of a key's latest update."""

DELETED: Final[Entry] = (-1, b"")
"""Entry of a key that pending operations removed: no location, no bytes."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Tip:
    """The database after one batch; compared by identity, so that an equal-looking sibling is another tip.

    Attributes:
        size: Operations in the log.
        floor: Location below which no operation is active.
        active: Live keys.
        root: Root over the operations, 32 bytes.
        peaks: Peaks of the tree, tallest first.
    """

    size: int
    floor: int
    active: int
    root: bytes
    peaks: tuple[bytes, ...]


@final
class Store:
    """What is committed, open to the modules of this package and to nobody else.

    Attributes:
        codec: How operations are written.
        log: All operations, oldest first.
        nodes: All nodes of the tree, by position.
        flags: One byte per operation, 1 for the latest update of a live key and for the latest commit, else 0. A byte
            and not a bit, because `find` then steps to the next active operation at the speed of memchr.
        locations: Location of each live key's latest update.
        tip: The result of the last applied batch.
        epoch: Counts the events that can kill a branch; a batch that saw this epoch need not check again.
    """

    __slots__ = ("codec", "epoch", "flags", "locations", "log", "nodes", "tip")

    def __init__(self, codec: Codec) -> None:
        self.codec = codec
        self.log: list[bytes] = []
        self.nodes: list[bytes] = []
        self.flags = bytearray()
        self.locations: dict[bytes, int] = {}
        self.tip = Tip(0, 0, 0, fold_root((), 0), ())
        self.epoch = 0

    def find_value(self, key: bytes) -> bytes | None:
        """Return a key's committed value, or None."""
        location = self.locations.get(key)
        return None if location is None else self.codec.value_of(self.log[location])


def extend_tree(base: Tip, operations: Sequence[bytes], floor: int, active: int) -> tuple[Tip, list[bytes]]:
    """Return the tip after more operations, and the tree's new nodes in the order of their positions."""
    size = base.size + len(operations)
    peaks = list(base.peaks)
    nodes = append_leaves(peaks, base.size, operations)
    root = fold_root(peaks, size, count_inactive_peaks(size, floor))
    return Tip(size, floor, active, root, tuple(peaks)), nodes


def rebuild_store(codec: Codec, operations: Iterable[bytes]) -> Store:
    """Rebuild everything from an operation log.

    Raises:
        CorruptLog: An operation cannot be decoded; or the log does not start with the first commit or not end with one;
            or a delete finds no key; or a floor falls, passes its commit, or leaves an active operation below it.
            A log that is well formed but wrong is found by comparing roots, not here.
    """
    store = Store(codec)
    floor = 0
    commit_location = 0
    operation = Operation(UPDATE)
    for location, encoded in enumerate(operations):
        operation = codec.decode(encoded)
        replay_operation(store, location, operation)
        if operation.kind == COMMIT:
            store.flags[commit_location] = 0
            check_commit(store, location, operation, floor)
            store.flags[location] = 1
            floor, commit_location = operation.floor, location
        store.log.append(encoded)
    if operation.kind != COMMIT:
        msg = f"a log of {len(store.log)} operations does not end with a commit"
        raise CorruptLog(msg)
    store.tip, store.nodes = extend_tree(store.tip, store.log, floor, len(store.locations))
    return store


def replay_operation(store: Store, location: int, operation: Operation) -> None:
    """Take over one operation of a log: where its key lives now, and which operation is active no longer."""
    if location == 0 and operation != Operation(COMMIT):
        msg = f"a log starts with {operation} instead of a commit with floor 0 and no metadata"
        raise CorruptLog(msg)
    previous = store.locations.pop(operation.key, None)
    if previous is not None:
        store.flags[previous] = 0
    elif operation.kind == DELETE:
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
    active = store.flags.find(1, floor, commit.floor)
    if active >= 0:
        msg = f"the commit at {location} raises the floor to {commit.floor} above the active operation {active}"
        raise CorruptLog(msg)
