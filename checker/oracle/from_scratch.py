"""The canonical root computed from the operations alone: the value that the incremental trees must reach."""

import hashlib
from collections.abc import Sequence
from typing import Final, NamedTuple

from checker.oracle.merkle import fold_mountains
from checker.oracle.records import be8, sha256

_CHUNK_BITS: Final = 256
_CHUNK_HEIGHT: Final = 8
_UPDATE: Final = 0xD2
_DELETE: Final = 0xD1


class Trees(NamedTuple):
    """Both trees of a log, row by row from the leaves on, with its activity bits and its peaks.

    Attributes:
        size: The number of operations.
        plain: The tree over the operations.
        grafted: The tree whose nodes over full chunks are hashed with the chunks' bits.
        bitmap: The bits of all operations, padded to whole chunks.
        ends: Height and end of each peak, the tallest first.
        floor: The location below which no operation is active.
    """

    size: int
    plain: list[list[bytes]]
    grafted: list[list[bytes]]
    bitmap: bytes
    ends: list[tuple[int, int]]
    floor: int

    def peaks(self, rows: list[list[bytes]]) -> list[bytes]:
        """Return the peaks of one of the trees."""
        return [rows[height][(end >> height) - 1] for height, end in self.ends]

    @property
    def inactive(self) -> list[int]:
        """The heights of the peaks that lie below the floor."""
        return [height for height, end in self.ends if end <= self.floor]

    @property
    def aligned(self) -> int:
        """The number of them over full chunks."""
        return sum(height >= _CHUNK_HEIGHT for height in self.inactive)

    @property
    def operations_root(self) -> bytes:
        """The root over the operations alone."""
        return fold_mountains(self.size, self.peaks(self.plain), len(self.inactive))

    @property
    def grafted_root(self) -> bytes:
        """The root over operations and bits of full chunks."""
        return fold_mountains(self.size, self.peaks(self.grafted), self.aligned)

    def chunk(self, index: int) -> bytes:
        """Return the 32 bytes of a chunk of the bitmap."""
        return self.bitmap[32 * index : 32 * index + 32]

    @property
    def partial(self) -> bytes:
        """The number of bits in the last chunk, and its digest; no bytes if the last chunk is full."""
        used = self.size % _CHUNK_BITS
        return be8(used) + sha256(self.chunk(self.size // _CHUNK_BITS)) if used else b""


def canonical_root_of(operations: Sequence[bytes], floor: int) -> bytes:
    """Return the canonical root of a log, encoded operations from the first to the last commit."""
    trees = trees_of(operations, floor)
    return sha256(trees.operations_root + trees.grafted_root + trees.partial)


def trees_of(operations: Sequence[bytes], floor: int) -> Trees:
    """Return the trees of a log."""
    count = len(operations)
    bitmap = _bitmap(operations)
    # Hashed in place: over a whole log two function calls for each operation take a third of the time.
    leaves = [
        hashlib.sha256((2 * location - location.bit_count()).to_bytes(8, "big") + operation).digest()
        for location, operation in enumerate(operations)
    ]
    plain = [leaves]
    _grow(plain, 0)
    # The grafted tree shares the rows below a chunk's height.
    grafted = plain[:_CHUNK_HEIGHT]
    if count >= _CHUNK_BITS:
        chunks = [bitmap[32 * index : 32 * index + 32] for index in range(count // _CHUNK_BITS)]
        roots = plain[_CHUNK_HEIGHT]
        grafted.append(
            [sha256(chunk + root) if any(chunk) else root for chunk, root in zip(chunks, roots, strict=True)]
        )
        _grow(grafted, _CHUNK_HEIGHT)
    return Trees(count, plain, grafted, bitmap, _peak_ends(count), floor)


def _bitmap(operations: Sequence[bytes]) -> bytes:
    latest: dict[bytes, int] = {}
    for location, operation in enumerate(operations):
        if operation[0] == _UPDATE:
            latest[operation[1:33]] = location
        elif operation[0] == _DELETE:
            del latest[operation[1:33]]
    bitmap = bytearray(-(-len(operations) // _CHUNK_BITS) * 32)
    for location in [*latest.values(), len(operations) - 1]:
        bitmap[location // 8] |= 1 << location % 8
    return bytes(bitmap)


def _grow(rows: list[list[bytes]], height: int) -> None:
    """Add the rows above the last row, whose nodes have this height."""
    while len(rows[-1]) > 1:
        row, height = rows[-1], height + 1
        # A node's number in post-order follows from its first leaf; all nodes below it come first.
        below, leaves = (2 << height) - 2, range(0, len(row) // 2 << height, 1 << height)
        rows.append(
            [
                hashlib.sha256((2 * leaf - leaf.bit_count() + below).to_bytes(8, "big") + left + right).digest()
                for leaf, left, right in zip(leaves, row[::2], row[1::2], strict=False)
            ]
        )


def _peak_ends(count: int) -> list[tuple[int, int]]:
    """Return height and end of each peak, the tallest first."""
    heights = [height for height in reversed(range(count.bit_length())) if count >> height & 1]
    return [(height, count >> height << height) for height in heights]
