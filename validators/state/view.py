"""Reading through pending batches to the store.

A batch holds only its own changes. To read through many pending ancestors, it keeps their changes in layers that merge
as a binary counter does: n ancestors make about log2(n) layers. A flat copy per batch was rejected, because its cost
grows with the whole pending chain. A walk through every ancestor was rejected, because each miss visits all of them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from validators.state.store import Store

Entries: TypeAlias = dict[bytes, int]
"""Latest location of each key that a run of batches wrote or moved, DELETED for a deleted key."""

DELETED: Final = -1
"""The location of a key that pending operations removed."""


@dataclass(frozen=True, slots=True)
class Layer:
    """Changes and operations of `count` consecutive batches, whose operations start at `start` and end before `end`."""

    count: int
    start: int
    end: int
    entries: Entries
    operations: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class StateView:
    """The store under layers of pending changes, newest layer first.

    It stays right when the oldest of these changes are applied, because the store then says the same. It is wrong once
    anything else is applied or rewound; the batch that reads through it must notice.
    """

    store: Store
    layers: tuple[Layer, ...] = ()

    def find_location(self, key: bytes) -> int | None:
        """Return the location of a key's latest update, None if it has none."""
        for layer in self.layers:
            location = layer.entries.get(key)
            if location is not None:
                return None if location == DELETED else location
        return self.store.locations.get(key)

    def locate(self) -> Callable[[bytes], int | None]:
        """Return a function that finds a key's location: the index's own method when nothing is pending."""
        return self.find_location if self.layers else self.store.locations.get

    def read_operations(self, locations: Sequence[int]) -> list[bytes]:
        """Return the encoded operations at locations that were not pruned."""
        return (
            [self.operation_at(location) for location in locations]
            if self.layers
            else self.store.read_operations(locations)
        )

    def operation_at(self, location: int) -> bytes:
        """Return the encoded operation at a location that was not pruned."""
        for layer in self.layers:
            if layer.start <= location < layer.end:
                return layer.operations[location - layer.start]
        return self.store.log[location - self.store.start]

    def find_value(self, key: bytes) -> bytes | None:
        """Return a key's value, or None."""
        location = self.find_location(key)
        return None if location is None else self.store.codec.value_of(self.operation_at(location))

    def stack(self, entries: Entries, operations: Sequence[bytes], end: int) -> "StateView":
        """Return the view through another batch, which left `end` operations in the log."""
        newest = Layer(1, end - len(operations), end, entries, tuple(operations))
        # Once a layer's newest batch is applied, the whole layer is: its entries are in the store.
        older = [layer for layer in self.layers if layer.end > self.store.tip.size]
        while older and older[0].count <= newest.count:
            layer = older.pop(0)
            entries = layer.entries | newest.entries
            count = layer.count + newest.count
            newest = Layer(count, layer.start, end, entries, layer.operations + newest.operations)
        return StateView(self.store, (newest, *older))
