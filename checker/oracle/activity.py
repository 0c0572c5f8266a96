"""The activity bitmap of the operations and the tree over it: QMDB Current by the rules of docs/state.md.

Each operation has a bit, and 256 bits make a chunk. A tree over the full chunks is kept besides the operations' own
tree: its leaf is a chunk hashed with the root of the chunk's operations. After a block only the chunks whose bits
changed, and the nodes above them, are hashed again.
"""

from copy import copy
from typing import Final

from checker.oracle.merkle import CHUNK_LEAVES, Mountains, fold_mountains, log_root
from checker.oracle.records import be8, sha256


class ActivityTree:
    """The bits of all operations, the oldest first, and the grafted tree over the full chunks."""

    def __init__(self) -> None:
        # A number of 256 bits for each chunk; its lowest bit is the chunk's first operation.
        self._chunks: list[int] = []
        self._bits = 0
        # The chunks whose bits changed since the root was last taken; a dict, because it keeps its order.
        self._touched: dict[int, None] = {}
        # Row 0 has a digest for each full chunk, each further row a digest for each complete pair of the row below.
        self._rows: list[list[bytes]] = [[]]

    def fork(self) -> "ActivityTree":
        """Return an independent copy of the bits and the tree."""
        other = copy(self)
        vars(other).update(
            _chunks=list(self._chunks), _touched=dict(self._touched), _rows=[list(row) for row in self._rows]
        )
        return other

    def append(self, *, is_active: bool) -> None:
        """Add the bit of the next operation."""
        chunk, place = divmod(self._bits, CHUNK_LEAVES)
        if not place:
            self._chunks.append(0)
        self._chunks[chunk] |= is_active << place
        self._touched[chunk] = None
        self._bits += 1

    def clear(self, location: int) -> None:
        """Clear the bit of an operation that was active."""
        chunk, place = divmod(location, CHUNK_LEAVES)
        self._chunks[chunk] &= ~(1 << place)
        self._touched[chunk] = None

    def root(self, operations: Mountains, floor: int) -> bytes:
        """Return the canonical root over operations and bits."""
        self._graft(operations.chunks)
        content = log_root(operations, floor) + self._grafted_root(operations, floor)
        partial_bits = self._bits % CHUNK_LEAVES
        if partial_bits:
            content += be8(partial_bits) + sha256(_as_bytes(self._chunks[-1]))
        return sha256(content)

    def _graft(self, subtree_roots: list[bytes]) -> None:
        """Rehash the nodes above the changed chunks; the last chunk waits until it is full."""
        changed = sorted(index for index in self._touched if index < len(subtree_roots))
        self._touched.clear()
        for index in changed:
            bits, subtree_root = self._chunks[index], subtree_roots[index]
            _put(self._rows[0], index, sha256(_as_bytes(bits) + subtree_root) if bits else subtree_root)
        height = 0
        while changed:
            row = self._rows[height]
            # Two neighbours lead to the same parent; an odd node at the end has no parent yet.
            changed = list(dict.fromkeys(index // 2 for index in changed if index | 1 < len(row)))
            height += 1
            if changed and height == len(self._rows):
                self._rows.append([])
            for index in changed:
                pair = row[2 * index] + row[2 * index + 1]
                _put(self._rows[height], index, sha256(be8(_position(height, index)) + pair))

    def _grafted_root(self, operations: Mountains, floor: int) -> bytes:
        """Return the root over the operations' peaks, with the grafted tree's digests for peaks over full chunks."""
        digests: list[bytes] = []
        inactive, end = 0, 0
        for leaves, digest in operations.peaks:
            first, end = end, end + leaves
            if leaves < CHUNK_LEAVES:
                digests.append(digest)
                continue
            # The range ends with a full chunk: only here may the part below the floor end.
            inactive += end <= floor
            chunks = leaves // CHUNK_LEAVES
            digests.append(self._rows[chunks.bit_length() - 1][first // leaves])
        return fold_mountains(operations.leaves, digests, inactive)


_CHUNK_BYTES: Final = CHUNK_LEAVES // 8


def _as_bytes(chunk: int) -> bytes:
    return chunk.to_bytes(_CHUNK_BYTES, "little")


def _put(row: list[bytes], index: int, digest: bytes) -> None:
    if index == len(row):
        row.append(digest)
    else:
        row[index] = digest


def _position(height: int, index: int) -> int:
    """Return the position in the operations' tree of the node over 2^height chunks, the index-th of its row."""
    leaves = CHUNK_LEAVES << height
    first = index * leaves
    return 2 * first - first.bit_count() + 2 * leaves - 2
