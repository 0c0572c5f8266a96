"""A set of heights as a radix tree over their eight bytes: ordered, shared between forks, with a root of its own.

The shape follows from the heights alone (Q-35): an inner node stands at the first bit at which two heights below it
differ. A change makes new nodes on one path, at most 63, and leaves the old tree as it was. Hashes are made when a
root is asked for, and kept with their node.
"""

import hashlib
from collections.abc import Iterator
from typing import Final

HEIGHT_BITS: Final = 64


class _Leaf:
    """A height with its bucket's record."""

    __slots__ = ("height", "record", "root")

    def __init__(self, height: int, record: bytes) -> None:
        self.height = height
        self.record = record
        self.root: bytes | None = None


class _Inner:
    """The heights below it agree before `bit`, 0 the most significant, and differ there: `low` has it clear."""

    __slots__ = ("bit", "count", "high", "low", "root", "sample")

    def __init__(self, bit: int, low: "_Node", high: "_Node") -> None:
        self.bit = bit
        self.low = low
        self.high = high
        self.count = _count(low) + _count(high)
        self.sample = _sample(low)
        self.root: bytes | None = None


_Node = _Leaf | _Inner


class HeightTree:
    """An immutable set of heights; `put`, `drop` and `take` return what it becomes."""

    __slots__ = ("_node",)

    def __init__(self, node: _Node | None = None) -> None:
        self._node = node

    def __len__(self) -> int:
        """The number of heights."""
        return 0 if self._node is None else _count(self._node)

    def __iter__(self) -> Iterator[int]:
        """Yield the heights, ascending."""
        pending = [] if self._node is None else [self._node]
        while pending:
            node = pending.pop()
            if isinstance(node, _Leaf):
                yield node.height
            else:
                # The low side last, because the stack hands it out first: ascending.
                pending += (node.high, node.low)

    def put(self, height: int, record: bytes) -> "HeightTree":
        """Return the tree with a height in it, its bucket's record as given."""
        leaf = _Leaf(height, record)
        return HeightTree(leaf if self._node is None else _put(self._node, leaf))

    def drop(self, height: int) -> "HeightTree":
        """Return the tree without a height that is in it."""
        assert self._node is not None, f"height {height} is not in an empty tree"
        return HeightTree(_drop(self._node, height))

    def take(self, last: int) -> tuple[list[int], "HeightTree"]:
        """Return the heights up to `last`, ascending, and the tree without them."""
        taken: list[int] = []
        for height in self:
            if height > last:
                break
            taken.append(height)
        tree = self
        for height in taken:
            tree = tree.drop(height)
        return taken, tree

    def root(self) -> bytes:
        """Return the 32-byte root of a tree that is not empty (docs/state.md, tiers)."""
        assert self._node is not None, "an empty tree has no root"
        return _root(self._node)


EMPTY: Final = HeightTree()
"""No heights."""


def _count(node: _Node) -> int:
    return 1 if isinstance(node, _Leaf) else node.count


def _sample(node: _Node) -> int:
    """Return some height below a node."""
    return node.height if isinstance(node, _Leaf) else node.sample


def _has_bit(height: int, bit: int) -> bool:
    return bool(height >> (HEIGHT_BITS - 1 - bit) & 1)


def _put(node: _Node, leaf: _Leaf) -> _Node:
    height = leaf.height
    differing = height ^ _sample(node)
    bit = HEIGHT_BITS - differing.bit_length()
    if isinstance(node, _Leaf):
        # The same height with a new record: a new leaf, since forks share the old one with its root.
        if not differing:
            return leaf
    elif bit >= node.bit:
        if _has_bit(height, node.bit):
            return _Inner(node.bit, node.low, _put(node.high, leaf))
        return _Inner(node.bit, _put(node.low, leaf), node.high)
    return _Inner(bit, node, leaf) if _has_bit(height, bit) else _Inner(bit, leaf, node)


def _drop(node: _Node, height: int) -> _Node | None:
    if isinstance(node, _Leaf):
        assert node.height == height, f"height {height} is not in the tree"
        return None
    if _has_bit(height, node.bit):
        high = _drop(node.high, height)
        return node.low if high is None else _Inner(node.bit, node.low, high)
    low = _drop(node.low, height)
    return node.high if low is None else _Inner(node.bit, low, node.high)


def _root(node: _Node) -> bytes:
    """Hash a node and those below it that are not hashed yet; no deeper than a height has bits."""
    if node.root is None:
        if isinstance(node, _Leaf):
            content = b"\x00" + node.height.to_bytes(8, "big") + node.record
        else:
            content = b"\x01" + bytes((node.bit,)) + _root(node.low) + _root(node.high)
        # Kept with the node, which never changes: forks that share it hash it once.
        node.root = hashlib.sha256(content).digest()
    return node.root
