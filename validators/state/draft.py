"""The operations that a batch appends to the log, made from its writes (docs/state.md).

The specification fixes their order: changed and deleted keys by their old location, created keys by key, the operations
that the floor raise moves, the commit. The order in which keys were written does not matter.

Keys, operations and locations stand in parallel lists, and whole lists are zipped into dicts: an object per operation
took a third of a batch's time when measured.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress
from operator import ne, not_
from typing import Final, TypeAlias

from validators.state.operations import DELETE, KEY_END, UPDATE
from validators.state.tip import Tip
from validators.state.view import DELETED, Entries, StateView

Segment: TypeAlias = tuple[int, Sequence[bytes]]
"""Location of the first of some consecutive operations, and the operations."""

SCAN_FLAGS_MIN: Final = 64
"""Flags scanned at once beyond one flag for each operation to move, so that the last few need no scan each."""


@dataclass(slots=True)
class Draft:
    """The operations of a batch while they are being written.

    Attributes:
        view: The state that the batch extends.
        base: The tip that the batch extends.
        active: Live keys after the operations so far.
        operations: Encoded operations, in the order of the log.
        flags: One byte per operation, 1 for active operations.
        written: Keys that changed, in the order of the log.
        entries: Location of each key that changed or moved, DELETED for a deleted key.
        superseded: Locations below the batch that the batch made inactive.
        displaced: The keys at these locations, in the same order.
        deleted: Keys deleted.
        created: Keys that the parent did not have.
    """

    view: StateView
    base: Tip
    active: int
    operations: list[bytes] = field(default_factory=list)
    flags: bytearray = field(default_factory=bytearray)
    written: list[bytes] = field(default_factory=list)
    entries: Entries = field(default_factory=dict)
    superseded: list[int] = field(default_factory=list)
    displaced: list[bytes] = field(default_factory=list)
    deleted: list[bytes] = field(default_factory=list)
    created: list[bytes] = field(default_factory=list)

    def write_changes(self, writes: Mapping[bytes, bytes | None], *, keep_unchanged: bool) -> int:
        """Write the operations of all changed keys, and return the number of these keys that the parent had.

        Existing keys come first, by their old location; created keys follow, by key. With `keep_unchanged` a key whose
        value stays counts as changed.
        """
        keys = list(writes)
        operations = self.view.store.codec.encode_writes(writes)
        locations: list[int | None] = list(map(self.view.locate(), keys))
        made: dict[bytes, bytes] = {}
        if None in locations:
            is_absent = [location is None for location in locations]
            absent = zip(compress(keys, is_absent), compress(operations, is_absent), strict=True)
            made = {key: operation for key, operation in absent if operation[0] == UPDATE}
            is_known = [not absent for absent in is_absent]
            keys = list(compress(keys, is_known))
            operations = list(compress(operations, is_known))
        known = [location for location in locations if location is not None]
        self._write_known(keys, operations, known, keep_unchanged=keep_unchanged)
        self._write_created(made)
        if None in writes.values():
            self._mark_deleted()
        self.active += len(self.created) - len(self.deleted)
        return len(self.displaced)

    def _write_known(
        self, keys: list[bytes], operations: list[bytes], locations: list[int], *, keep_unchanged: bool
    ) -> None:
        """Write the operations of keys that the parent has; skip unchanged values unless they are kept."""
        # In the order of the log, which is also the order in memory: a large log is read faster in this order.
        order = sorted(range(len(locations)), key=locations.__getitem__)
        locations = list(map(locations.__getitem__, order))
        operations = list(map(operations.__getitem__, order))
        keys = list(map(keys.__getitem__, order))
        if not keep_unchanged:
            # Encoding is injective: equal bytes mean equal values, so no value has to be decoded.
            is_changed = list(map(ne, operations, self.view.read_operations(locations)))
            locations = list(compress(locations, is_changed))
            keys = list(compress(keys, is_changed))
            operations = list(compress(operations, is_changed))
        self.superseded, self.displaced, self.operations = locations, keys, operations

    def _write_created(self, made: Mapping[bytes, bytes]) -> None:
        """Write the operations of new keys, and note where all written keys are now."""
        self.created = sorted(made)
        self.operations += map(made.__getitem__, self.created)
        self.written = self.displaced + self.created
        count = len(self.written)
        self.entries = dict(zip(self.written, range(self.base.size, self.base.size + count), strict=True))
        self.flags += b"\1" * count

    def _mark_deleted(self) -> None:
        """Mark the existing keys' operations that are deletes as inactive, and their keys as gone."""
        for number, (key, operation) in enumerate(zip(self.displaced, self.operations, strict=False)):
            if operation[0] == DELETE:
                self.flags[number] = 0
                self.entries[key] = DELETED
                self.deleted.append(key)

    def raise_floor(self, steps: int, pending: Iterable[Segment]) -> int:
        """Move the oldest `steps` active operations to the end of the log; return the floor, just above the last moved.

        With fewer active keys than steps every operation is moved once, and the moved operations begin at the floor.

        Args:
            steps: Operations to move, at least 1.
            pending: Operations of the ancestors that are not applied yet, oldest first.
        """
        if self.active == 0:
            return self.base.size + len(self.operations)
        own = (self.base.size, len(self.operations))
        floor, steps = self._move_committed(self.base.floor, steps)
        if steps:
            floor = self._move_pending((*pending, (own[0], self.operations[: own[1]])), floor, steps)
        return floor

    def _move_committed(self, floor: int, steps: int) -> tuple[int, int]:
        """Move the active operations of the store from the floor on; return the floor and the remaining steps."""
        store = self.view.store
        flags, start = store.flags, store.start
        scanned = floor - start
        while steps and (window := flags[scanned : scanned + steps + SCAN_FLAGS_MIN]):
            candidates = list(compress(range(scanned + start, scanned + start + len(window)), window))
            scanned += len(window)
            moved = self._select_movable(candidates)[:steps]
            steps -= len(moved)
            if candidates:
                # Every candidate was read, moved or not, unless the steps ran out first.
                floor = candidates[-1] + 1 if steps else moved[-1] + 1
            self._move(moved)
        return floor, steps

    def _select_movable(self, candidates: list[int]) -> list[int]:
        """Return the store's active operations that still are the latest of their key, ascending as given.

        An active operation of the store is an update or its last commit. The store does not know the changes of the
        pending batches above it.
        """
        store = self.view.store
        if candidates and candidates[-1] == store.start + len(store.log) - 1:
            # The last operation of the store is its commit, which has a flag but no key to move.
            candidates = candidates[:-1]
        keys = [operation[1:KEY_END] for operation in store.read_operations(candidates)]
        is_movable = list(map(not_, map(self.entries.__contains__, keys)))
        movable = list(compress(candidates, is_movable))
        if not self.view.layers:
            return movable
        find = self.view.find_location
        keys = list(compress(keys, is_movable))
        return [location for location, key in zip(movable, keys, strict=True) if find(key) == location]

    def _move(self, moved: list[int]) -> None:
        """Append committed operations again."""
        operations = self.view.store.read_operations(moved)
        keys = [operation[1:KEY_END] for operation in operations]
        location = self.base.size + len(self.operations)
        self.entries.update(zip(keys, range(location, location + len(keys)), strict=True))
        self.operations += operations
        self.flags += b"\1" * len(moved)
        self.superseded += moved
        self.displaced += keys

    def _move_pending(self, segments: Iterable[Segment], floor: int, steps: int) -> int:
        """Move the active operations of the batches above the store, from the floor on; return the floor."""
        location = self.base.size + len(self.operations)
        for candidate, operation in iter_segments(segments, floor):
            floor = candidate + 1
            key = operation[1:KEY_END]
            if operation[0] != UPDATE or self._find_location(key) != candidate:
                continue
            self.entries[key] = location
            self.operations.append(operation)
            self.flags.append(1)
            if candidate < self.base.size:
                self.superseded.append(candidate)
                self.displaced.append(key)
            else:
                self.flags[candidate - self.base.size] = 0
            location += 1
            steps -= 1
            if steps == 0:
                break
        return floor

    def _find_location(self, key: bytes) -> int | None:
        """Return the location of a key's latest update, including this draft's; None or DELETED if it has none."""
        location = self.entries.get(key)
        return self.view.find_location(key) if location is None else location

    def list_rewritten(self, floor: int) -> list[int]:
        """Return, ascending, the superseded locations of written keys from the new floor on; moved keys are below."""
        # `end` has put the commit last; moved operations stand before it, and written ones ascend at the start.
        written = self.superseded[: len(self.written) - len(self.created)]
        return [*written[bisect_left(written, floor) :], self.base.size - 1]

    def end(self, commit: bytes) -> None:
        """Append the commit, which takes the flag from the previous commit."""
        self.superseded.append(self.base.size - 1)
        self.operations.append(commit)
        self.flags.append(1)


def iter_segments(segments: Iterable[Segment], floor: int) -> Iterator[tuple[int, bytes]]:
    """Yield location and bytes of all operations from the floor on."""
    for start, operations in segments:
        skipped = max(floor - start, 0)
        yield from enumerate(operations[skipped:], start + skipped)
