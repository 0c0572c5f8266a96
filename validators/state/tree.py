"""The range of mmr.py, hashed one height at a time and stored by height.

Nodes of a height are numbered from 0: node j of height h stands over leaves j << h to (j + 1) << h and has the position
(j + 1) * 2**(h + 1) - 2 - popcount(j). A whole batch is hashed one height after the other, with iterators in place of
loops, which halves the work around each hash. Digests of a height are joined in one bytearray: a node takes 32 bytes
instead of 73, and cutting either end is cheap.
"""

from collections.abc import Callable, Sequence
from hashlib import sha256
from operator import add, sub
from struct import Struct
from typing import Final, TypeAlias

from network.memo import Memo
from validators.state.mmr import peak_heights

DIGEST_BYTES: Final = 32
"""Length of every node."""
pack_position: Final = Struct(">Q").pack
"""Writes a position or count as it is hashed."""
pack_node: Final = Struct(f">Q{DIGEST_BYTES}s{DIGEST_BYTES}s").pack
"""Encodes the preimage of an inner node: its position and its two children."""


Grown: TypeAlias = tuple[tuple[bytes, ...], Sequence[bytes]]
"""The peaks of a range after more leaves, and the new nodes of each height from 0 on, joined."""

GrowTree: TypeAlias = Callable[[Sequence[bytes], int, Sequence[bytes]], Grown]
"""Appends leaves to a range: `grow_tree`, or a function that may know the result."""


def hash_leaves(first: int, elements: Sequence[bytes]) -> list[bytes]:
    """Return the digests of consecutive leaves, of which the first is leaf number `first`."""
    end = first + len(elements)
    positions = map(sub, range(2 * first, 2 * end, 2), map(int.bit_count, range(first, end)))
    return [node.digest() for node in map(sha256, map(add, map(pack_position, positions), elements))]


def hash_parents(height: int, first: int, children: Sequence[bytes]) -> list[bytes]:
    """Return the parents of consecutive nodes, in pairs; they have this height, and the first is number `first`.

    A last child without a sibling has no parent yet.
    """
    end = first + len(children) // 2
    step = 2 << height
    positions = map(
        sub, range((first + 1) * step - 2, (end + 1) * step - 2, step), map(int.bit_count, range(first, end))
    )
    child = iter(children)
    return [node.digest() for node in map(sha256, map(pack_node, positions, child, child))]


def grow_tree(peaks: Sequence[bytes], leaf_count: int, elements: Sequence[bytes]) -> Grown:
    """Append leaves to a range.

    Args:
        peaks: Peaks of the range, tallest first.
        leaf_count: Leaves of the range.
        elements: The new leaves' contents, oldest first.

    Returns:
        The peaks afterwards, and the new nodes of each height from 0 on, joined.
    """
    unmerged = list(peaks)
    total = leaf_count + len(elements)
    grown: list[bytes] = []
    rows: list[bytes] = []
    height = 0
    nodes = hash_leaves(leaf_count, elements)
    while nodes:
        rows.append(b"".join(nodes))
        # An old peak of this height is the left sibling of the first new node.
        if leaf_count >> height & 1:
            nodes.insert(0, unmerged.pop())
        if total >> height & 1:
            grown.append(nodes[-1])
        height += 1
        nodes = hash_parents(height, leaf_count >> height, nodes)
    # The tallest peaks, which no new node reached, stay.
    return (*unmerged, *reversed(grown)), tuple(rows)


def growing_with(memo: Memo[Grown]) -> GrowTree:
    """Return `grow_tree` for many callers that append the same leaves to the same range: only the first hashes them."""

    def grow(peaks: Sequence[bytes], leaf_count: int, elements: Sequence[bytes]) -> Grown:
        given = tuple(peaks), leaf_count, tuple(elements)
        grown = memo.find(given)
        if grown is None:
            grown = grow_tree(*given)
            memo.keep(given, grown)
        return grown

    return grow


class Levels:
    """The committed nodes, of which the oldest can be pruned and the newest cut.

    Pruned at leaf `start`, a height keeps its nodes from number (start >> height) & ~1 on. A path from a kept leaf
    meets no other nodes: a left sibling below `start` is the even number just before.
    """

    __slots__ = ("rows", "start")

    def __init__(self) -> None:
        self.rows: list[bytearray] = []
        self.start = 0

    @classmethod
    def pinned(cls, start: int, peaks: Sequence[bytes]) -> "Levels":
        """Return the nodes over `start` leaves of which only the peaks, tallest first, are not pruned."""
        levels = cls()
        levels.start = start
        levels.rows = [bytearray() for _ in range(start.bit_length())]
        for height, peak in zip(peak_heights(start), peaks, strict=True):
            levels.rows[height] += peak
        return levels

    def pinned_peaks(self, start: int) -> tuple[bytes, ...]:
        """Return the peaks over the leaves below `start`, tallest first; `start` was not pruned."""
        return tuple(self.node(height, (start >> height) - 1) for height in peak_heights(start))

    def first_kept(self, height: int) -> int:
        """Return the number of the oldest node kept at a height."""
        return self.start >> height & ~1

    def node(self, height: int, index: int) -> bytes:
        """Return a node that was not pruned."""
        offset = DIGEST_BYTES * (index - self.first_kept(height))
        assert 0 <= offset < len(self.rows[height]), f"node {index} of height {height} is not stored"
        return bytes(self.rows[height][offset : offset + DIGEST_BYTES])

    def extend(self, rows: Sequence[bytes]) -> None:
        """Append the nodes that `grow_tree` returned for the next leaves."""
        while len(self.rows) < len(rows):
            self.rows.append(bytearray())
        for row, digests in zip(self.rows, rows, strict=False):
            row.extend(digests)

    def cut(self, leaf_count: int) -> None:
        """Drop all nodes beyond a range of `leaf_count` leaves."""
        for height, row in enumerate(self.rows):
            del row[DIGEST_BYTES * ((leaf_count >> height) - self.first_kept(height)) :]
        while self.rows and not self.rows[-1]:
            self.rows.pop()

    def prune(self, start: int) -> None:
        """Forget the nodes that no path from leaf `start` or a later leaf meets; `start` never falls."""
        assert start >= self.start, f"pruning falls from {self.start} to {start}"
        # With the old start, so before it moves.
        kept = [self.first_kept(height) for height in range(len(self.rows))]
        self.start = start
        for height, row in enumerate(self.rows):
            del row[: DIGEST_BYTES * (self.first_kept(height) - kept[height])]
