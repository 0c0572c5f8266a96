"""Reading through pending batches to the store.

A batch holds its own changes only. To read through many pending ancestors, it keeps their changes in layers that merge
as a binary counter does: n ancestors make about log2(n) layers. One flat copy per batch was rejected, because its cost
grows with the whole pending chain; so was the walk through every ancestor, because each miss pays for all of them.
"""

from dataclasses import dataclass
from typing import TypeAlias, final

from validators.state.store import DELETED, Entry, Store

Entries: TypeAlias = dict[bytes, Entry]
"""Latest entry of each key that some batches wrote, moved or deleted."""


@final
@dataclass(frozen=True, slots=True)
class Layer:
    """Changes of `count` consecutive batches; `end` is the log's size after the newest of them."""

    count: int
    end: int
    entries: Entries


@final
@dataclass(frozen=True, slots=True)
class View:
    """The store under layers of pending changes, newest layer first.

    It stays right when the oldest of these changes are applied, for then the store says the same. It is wrong once
    anything else is applied, which the batch that reads through it has to know.
    """

    store: Store
    layers: tuple[Layer, ...] = ()

    def find_entry(self, key: bytes) -> Entry:
        """Return a key's latest entry, DELETED if it has none."""
        for layer in self.layers:
            entry = layer.entries.get(key)
            if entry is not None:
                return entry
        location = self.store.locations.get(key)
        return DELETED if location is None else (location, self.store.log[location])

    def find_value(self, key: bytes) -> bytes | None:
        """Return a key's value, or None."""
        location, operation = self.find_entry(key)
        return None if location < 0 else self.store.codec.value_of(operation)

    def stack(self, entries: Entries, end: int) -> "View":
        """Return the view through one more batch, which left `end` operations in the log."""
        newest = Layer(1, end, entries)
        # Once a layer's newest batch is applied, all of the layer is: what it says is in the store.
        older = [layer for layer in self.layers if layer.end > self.store.tip.size]
        while older and older[0].count <= newest.count:
            layer = older.pop(0)
            newest = Layer(layer.count + newest.count, end, layer.entries | newest.entries)
        return View(self.store, (newest, *older))
