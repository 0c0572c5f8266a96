"""Which heights have timers: an index derived from the state, per branch, never part of it.

The finalized state's heights are one sorted list; each unfinalized block adds a layer with what it changed. A query
walks the few layers of its branch; dropping a branch costs nothing; finalizing folds one layer into the list.
Invariant: the answer equals what a scan of the buckets in the branch's state would give (tests compare the two).
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import final

from validators.execution.schema import BUCKETS


@final
class HeightIndex:
    """Heights with live timers in the finalized state, ascending."""

    def __init__(self, heights: Iterable[int] = ()) -> None:
        self._heights = sorted(heights)

    def rebuild(self, heights: Iterable[int]) -> None:
        """Hold these heights instead, for the finalized state read anew."""
        self._heights = sorted(heights)

    def between(self, after: int, upto: int) -> list[int]:
        """Return the heights above `after` and not above `upto`, ascending."""
        return self._heights[bisect_right(self._heights, after) : bisect_right(self._heights, upto)]

    def fold(self, changes: dict[int, bool]) -> None:
        """Take over a finalized block's changes: height to whether it has timers now."""
        for height, is_present in changes.items():
            place = bisect_left(self._heights, height)
            was_present = self._heights[place : place + 1] == [height]
            if is_present and not was_present:
                self._heights.insert(place, height)
            elif was_present and not is_present:
                del self._heights[place]


@final
class BranchHeights:
    """The index as of one block: the layer of its own `changes` over its parent's, until it is folded."""

    __slots__ = ("_index", "changes", "is_folded", "parent")

    def __init__(self, index: HeightIndex, parent: "BranchHeights | None") -> None:
        self._index = index
        self.parent = parent
        self.is_folded = False
        self.changes: dict[int, bool] = {}

    def due_heights(self, upto: int, after: int = -1) -> list[int]:
        """Return the heights with timers above `after` and not above `upto`, ascending."""
        present = dict.fromkeys(self._index.between(after, upto), True)
        for changes in reversed(self._layers()):
            for height, is_present in changes.items():
                if after < height <= upto:
                    present[height] = is_present
        return sorted(height for height, is_present in present.items() if is_present)

    def fold(self) -> None:
        """Move this layer, whose ancestors are folded, into the index: its block is finalized."""
        assert self.parent is None or self.parent.is_folded, "blocks are finalized oldest first"
        self._index.fold(self.changes)
        self.is_folded = True
        self.parent = None

    def _layers(self) -> list[dict[int, bool]]:
        """Return the changes that the index does not hold yet, newest first."""
        layers: list[dict[int, bool]] = []
        layer: BranchHeights | None = self
        while layer is not None and not layer.is_folded:
            layers.append(layer.changes)
            layer = layer.parent
        return layers


def scan_heights(keys: Iterable[bytes]) -> list[int]:
    """Return the heights of all buckets among the state's keys, ascending: the index, rebuilt."""
    return sorted(int.from_bytes(key[1:9], "big") for key in keys if key[0] == BUCKETS.code)
