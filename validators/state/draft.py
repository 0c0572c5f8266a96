"""From writes to operations: what a batch appends to the log (qmdb specification, section 2).

The order is fixed by the specification and by nothing else: changed and deleted keys by their old location, created
keys by key, the operations that the floor raise moves, the commit. The order in which keys were written is forgotten.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, final

from validators.state.operations import KEY_END, UPDATE
from validators.state.store import DELETED, Tip
from validators.state.view import Entries, View

Existing: TypeAlias = tuple[int, bytes, bytes, bytes | None]
"""A write to a key that the parent has: its old location, the key, the operation, the value."""

Created: TypeAlias = tuple[bytes, bytes, bytes]
"""A write to a new key: the key, the operation, the value."""

Segment: TypeAlias = tuple[int, Sequence[bytes]]
"""Location of the first of some consecutive operations, and the operations."""


@final
@dataclass(slots=True)
class Draft:
    """The operations of a batch while they are being written.

    Attributes:
        view: What the batch stands on.
        base: The tip that the batch extends.
        active: Live keys after the operations so far.
        operations: Encoded operations, in the order of the log.
        changes: Value of each changed key, None for a deleted one, in the order of the log.
        entries: Entry of each key that changed or moved.
        superseded: Locations that are active no longer.
    """

    view: View
    base: Tip
    active: int
    operations: list[bytes] = field(default_factory=list)
    changes: dict[bytes, bytes | None] = field(default_factory=dict)
    entries: Entries = field(default_factory=dict)
    superseded: list[int] = field(default_factory=list)

    def write_changes(self, writes: Mapping[bytes, bytes | None]) -> int:
        """Write the operations of all changed keys, and return how many of these keys the parent had.

        Existing keys come first, by their old location; created keys follow, by key.
        """
        existing, created = self._sort_writes(writes)
        location = self.base.size
        changes, entries = self.changes, self.entries
        removed = 0
        for _, key, operation, value in existing:
            changes[key] = value
            if value is None:
                entries[key] = DELETED
                removed += 1
            else:
                entries[key] = (location, operation)
            location += 1
        for key, operation, value in created:
            changes[key] = value
            entries[key] = (location, operation)
            location += 1
        self.operations += [write[2] for write in existing]
        self.operations += [write[1] for write in created]
        self.superseded += [write[0] for write in existing]
        self.active += len(created) - removed
        return len(existing)

    def _sort_writes(self, writes: Mapping[bytes, bytes | None]) -> tuple[list[Existing], list[Created]]:
        """Return the writes that change something: those to existing keys by location, those to new keys by key."""
        encode_update = self.view.store.codec.encode_update
        encode_delete = self.view.store.codec.encode_delete
        find_entry = self.view.find_entry
        existing: list[Existing] = []
        created: list[Created] = []
        for key, value in writes.items():
            location, before = find_entry(key)
            if value is not None:
                operation = encode_update(key, value)
                if location < 0:
                    created.append((key, operation, value))
                # Encoding is injective: equal bytes are an equal value, and no value need be decoded to know it.
                elif operation != before:
                    existing.append((location, key, operation, value))
            elif location >= 0:
                existing.append((location, key, encode_delete(key), None))
        # Locations and keys are unique, so no comparison goes past the first field.
        existing.sort()
        created.sort()
        return existing, created

    def raise_floor(self, steps: int, pending: Iterable[Segment]) -> int:
        """Move the oldest `steps` active operations to the end of the log and return the floor, just above the last.

        With fewer active keys than steps all are moved once and the floor ends where the moved ones begin.

        Args:
            steps: Operations to move, at least 1.
            pending: Operations of the ancestors that are not applied yet, oldest first.
        """
        own = (self.base.size, tuple(self.operations))
        if self.active == 0:
            return self.base.size + len(self.operations)
        floor, steps = self._move_committed(self.base.floor, steps)
        if steps:
            floor = self._move_pending((*pending, own), floor, steps)
        return floor

    def _move_committed(self, floor: int, steps: int) -> tuple[int, int]:
        """Move what is active in the store from the floor on; return the floor and the steps that are left."""
        find = self.view.store.flags.find
        log = self.view.store.log
        own = self.entries
        find_pending = self.view.find_entry if self.view.layers else None
        location = self.base.size + len(self.operations)
        moved: list[int] = []
        while steps:
            candidate = find(1, floor)
            if candidate < 0:
                break
            floor = candidate + 1
            operation = log[candidate]
            key = operation[1:KEY_END]
            # A set flag is an update or the latest commit; whatever writes above the store changed, it does not know.
            if key in own or operation[0] != UPDATE or (find_pending and find_pending(key)[0] != candidate):
                continue
            own[key] = (location, operation)
            moved.append(candidate)
            location += 1
            steps -= 1
        self.operations += [log[candidate] for candidate in moved]
        self.superseded += moved
        return floor, steps

    def _move_pending(self, segments: Iterable[Segment], floor: int, steps: int) -> int:
        """Move what is active in operations above the store, from the floor on; return the floor."""
        location = self.base.size + len(self.operations)
        for candidate, operation in iter_segments(segments, floor):
            floor = candidate + 1
            key = operation[1:KEY_END]
            if operation[0] != UPDATE or (self.entries.get(key) or self.view.find_entry(key))[0] != candidate:
                continue
            self.entries[key] = (location, operation)
            self.operations.append(operation)
            self.superseded.append(candidate)
            location += 1
            steps -= 1
            if steps == 0:
                break
        return floor


def iter_segments(segments: Iterable[Segment], floor: int) -> Iterator[tuple[int, bytes]]:
    """Yield location and bytes of all operations from the floor on."""
    for start, operations in segments:
        skipped = max(floor - start, 0)
        yield from enumerate(operations[skipped:], start + skipped)
