"""Activity bitmap, grafted tree and canonical root (docs/state.md).

One bit per operation, lowest first in each byte, is set if the operation is the latest update of a live key or the
latest commit. 256 bits are a chunk. Over each full chunk stands a grafted leaf: the hash of the chunk and the tree's
node over the same operations, or that node itself while no bit is set. Nodes above are hashed with the tree's own
positions. So a node of the grafted tree changes when a bit below it does, and a batch hashes again only the paths above
the chunks that it changed.

Everything is held in rows, dicts by number from 0: row 0 has the chunks, of which the last may be partial; row 1 the
tree's nodes over full chunks; row 2 + k the grafted nodes of height 8 + k. The rows of a pending batch hold only its
changes.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, TypeAlias

from validators.state.mmr import count_inactive_peaks, fold_root, peak_heights
from validators.state.tip import Tip
from validators.state.tree import DIGEST_BYTES, Levels, pack_node, pack_position

CHUNK_BYTES: Final = 32
"""Length of a chunk."""
CHUNK_BITS: Final = 8 * CHUNK_BYTES
"""Operations under a chunk."""
GRAFT_HEIGHT: Final = 8
"""Height of the tree's nodes over a full chunk: 2**GRAFT_HEIGHT is CHUNK_BITS."""
EMPTY_CHUNK: Final = bytes(CHUNK_BYTES)
"""A chunk without a set bit."""
CLEARING: Final = tuple(0xFF ^ 1 << bit for bit in range(8))
"""Masks that clear one bit of a byte; a table, because each superseded operation needs one."""
BINARY_DIGITS: Final = bytes((0x30, 0x31)) + bytes(254)
"""Translates flags to the digits that `int` reads."""

CHUNKS: Final = 0
SUBTREES: Final = 1
GRAFTS: Final = 2

Rows: TypeAlias = list[dict[int, bytes]]
"""Chunks, nodes over full chunks, grafted nodes by height: see the head of this module."""
Reader: TypeAlias = Callable[[int], bytes | None]
"""Finds an entry of one row by its number."""
RowReader: TypeAlias = Callable[[int], Reader]
"""Returns the reader of a row by the row's number."""


@dataclass(frozen=True, slots=True)
class RowLayer:
    """The changes of `count` consecutive batches; `end` is the log's size after the newest of them."""

    count: int
    end: int
    rows: Rows


@dataclass(frozen=True, slots=True)
class Graft:
    """Bitmap and grafted tree after a pending batch.

    Attributes:
        rows: The batch's changes.
        layers: Changes of the batch and its pending ancestors, newest first.
        grafted_root: Root of the grafted tree.
        root: The canonical root.
    """

    rows: Rows
    layers: tuple[RowLayer, ...]
    grafted_root: bytes
    root: bytes


class Activity:
    """Bitmap and grafted tree at the committed tip.

    A rewind only notes which chunks are stale; they are hashed when they are next needed. Restoring the entries that
    each batch had replaced took twice the time when measured, and slowed every commit.

    Attributes:
        rows: All entries from the pruned location on, and the left siblings of paths from there.
        stale: Numbers of the chunks that must be made again from the flags; sorted when they are read.
        grafted_root: Root of the grafted tree; as of the last refresh.
        root: The canonical root; as of the last refresh.
    """

    __slots__ = ("grafted_root", "root", "rows", "stale")

    def __init__(self, tip: Tip, levels: Levels) -> None:
        """Make a bitmap whose chunks are all stale."""
        first = levels.start >> GRAFT_HEIGHT
        self.rows: Rows = [{}, {}, {}]
        self.stale = set(range(first, count_entries(CHUNKS, tip.size)))
        self.grafted_root = b""
        self.root = b""
        for height in range(GRAFT_HEIGHT, tip.size.bit_length()):
            row = height - GRAFT_HEIGHT + GRAFTS
            if row == len(self.rows):
                self.rows.append({})
            if levels.start >> height & 1:
                # The left sibling lies entirely below the pruned location, where nothing is active.
                index = (levels.start >> height) - 1
                self.rows[row][index] = levels.node(height, index)

    def refresh(self, tip: Tip, flags: bytearray, levels: Levels) -> None:
        """Make the stale chunks again from the flags of the kept operations, and hash the paths above them."""
        if not self.stale:
            return
        full = tip.size >> GRAFT_HEIGHT
        chunks: dict[int, bytes] = {}
        # Sorted: a set's order must not reach anything that is hashed or shown.
        for index in sorted(self.stale):
            start = index * CHUNK_BITS - levels.start
            chunks[index] = join_flags(flags[start : start + CHUNK_BITS], CHUNK_BYTES)
        subtrees = {index: levels.node(GRAFT_HEIGHT, index) for index in chunks if index < full}
        leaves = graft_leaves(chunks, subtrees, _find_nothing, full)
        self._take(hash_paths([chunks, subtrees, leaves], tip.size, self.reader))
        self.stale.clear()
        self.grafted_root, self.root = fold_canonical(tip, self.reader)

    def reader(self, row: int) -> Reader:
        """Return a function that finds the entries of one row at the tip."""
        return self.rows[row].get if row < len(self.rows) else _find_nothing

    def view(self, layers: Sequence[RowLayer]) -> RowReader:
        """Return a function from a row's number to its reader through the layers of pending batches, newest first."""

        def read(row: int) -> Reader:
            return stack_readers([layer.rows[row] for layer in layers if row < len(layer.rows)], self.reader(row))

        return read

    def graft(
        self,
        base: Tip,
        tip: Tip,
        layers: tuple[RowLayer, ...],
        *,
        flags: bytes,
        rewritten: Sequence[int],
        nodes: bytes,
    ) -> Graft:
        """Return bitmap and grafted tree after another batch; this object does not change.

        Args:
            base: The tip that the batch extends.
            tip: The tip after it.
            layers: Changes of its pending ancestors, newest first.
            flags: One byte for each operation of the batch, 1 for operations still active after it.
            rewritten: Locations below the batch that the batch made inactive, at least the locations from the floor on.
            nodes: The tree's new nodes of the grafting height, joined.
        """
        read = self.view(layers)
        first = base.size >> GRAFT_HEIGHT
        digests = (nodes[start : start + DIGEST_BYTES] for start in range(0, len(nodes), DIGEST_BYTES))
        chunks = change_chunks(base, tip.floor, flags, rewritten, read=read(CHUNKS))
        rows: Rows = [chunks, dict(enumerate(digests, first))]
        rows.append(graft_leaves(rows[CHUNKS], rows[SUBTREES], read(SUBTREES), tip.size >> GRAFT_HEIGHT))
        rows = hash_paths(rows, tip.size, read)
        stacked = stack_layer(layers, RowLayer(1, tip.size, rows))
        return Graft(rows, stacked, *fold_canonical(tip, self.view(stacked)))

    def commit(self, graft: Graft) -> None:
        """Take over the changes of an applied batch."""
        self._take(graft.rows)
        self.grafted_root, self.root = graft.grafted_root, graft.root

    def _take(self, changes: Rows) -> None:
        # A rewind may have dropped rows that are still to be rebuilt.
        while len(self.rows) < len(changes):
            self.rows.append({})
        for row, changed in zip(self.rows, changes, strict=False):
            row.update(changed)

    def rewind(self, size: int, size_before: int, stale: Iterable[int]) -> None:
        """Undo the newest batches, which made the log grow from `size_before` to `size`.

        Args:
            size: Operations now.
            size_before: Operations that stay.
            stale: Numbers of the chunks in which these batches cleared bits.
        """
        for number, row in enumerate(self.rows):
            for index in range(count_entries(number, size_before), count_entries(number, size)):
                row.pop(index, None)
        # Rows of heights that the shorter log does not have; the three lowest always stay.
        while len(self.rows) > GRAFTS + 1 and not self.rows[-1]:
            self.rows.pop()
        # `stale` includes the chunk that lost its later operations: each batch clears the bit of the previous commit.
        self.stale.update(stale)
        self.stale.difference_update(range(count_entries(CHUNKS, size_before), count_entries(CHUNKS, size)))

    def prune(self, before: int, start: int) -> None:
        """Forget entries that no path from `start` on needs; the old start was `before`; both are chunk boundaries."""
        for number, row in enumerate(self.rows):
            shift = GRAFT_HEIGHT + max(number - GRAFTS, 0)
            siblings = ~1 if number >= GRAFTS else ~0
            for index in range(before >> shift & siblings, start >> shift & siblings):
                row.pop(index, None)
        self.stale.difference_update(range(before >> GRAFT_HEIGHT, start >> GRAFT_HEIGHT))


def _find_nothing(_index: int) -> bytes | None:
    """Return None for any entry, in place of a row that does not exist yet."""
    return None


def count_entries(row: int, size: int) -> int:
    """Return the number of entries of a row, pruned entries included, over a log of `size` operations."""
    return (size + CHUNK_BITS - 1) // CHUNK_BITS if row == CHUNKS else size >> GRAFT_HEIGHT + max(row - GRAFTS, 0)


def stack_readers(rows: Sequence[Mapping[int, bytes]], below: Reader) -> Reader:
    """Return a function that finds an entry in the first row that has it, else below."""
    if not rows:
        return below

    def find(index: int) -> bytes | None:
        for row in rows:
            found = row.get(index)
            if found is not None:
                return found
        return below(index)

    return find


def stack_layer(older: tuple[RowLayer, ...], newest: RowLayer) -> tuple[RowLayer, ...]:
    """Return the layers with `newest`, merged as a binary counter does, so that n batches make about log2(n) layers."""
    rest = list(older)
    while rest and rest[0].count <= newest.count:
        layer = rest.pop(0)
        width = max(len(layer.rows), len(newest.rows))
        padded = [rows + [{}] * (width - len(rows)) for rows in (layer.rows, newest.rows)]
        newest = RowLayer(layer.count + newest.count, newest.end, [old | new for old, new in zip(*padded, strict=True)])
    return (newest, *rest)


def join_flags(flags: bytes | bytearray, length: int) -> bytes:
    """Return flags as bits, the first flag lowest in the first byte, padded to `length` bytes."""
    return int(bytes(flags[::-1]).translate(BINARY_DIGITS), 2).to_bytes(length, "little")


def change_chunks(base: Tip, floor: int, flags: bytes, rewritten: Iterable[int], *, read: Reader) -> dict[int, bytes]:
    """Return the chunks that a batch changes, ascending.

    Args:
        base: The tip that the batch extends.
        floor: The floor after it. Nothing below is active, so operations moved by the floor raise need no lookup.
        flags: One byte for each operation of the batch, 1 for operations still active after it.
        rewritten: Locations whose operations became inactive, at least the locations from `floor` on.
        read: Finds a chunk as it was before.
    """
    changed = clear_below_floor(base, floor, read)
    find = changed.get
    for location in rewritten:
        index = location >> GRAFT_HEIGHT
        chunk = find(index)
        if chunk is None:
            chunk = changed[index] = bytearray(read(index) or EMPTY_CHUNK)
        chunk[location >> 3 & 31] &= CLEARING[location & 7]
    first = base.size >> GRAFT_HEIGHT
    used = base.size % CHUNK_BITS
    # The batch's flags continue inside the partial chunk.
    partial = changed.pop(first, None) or (read(first) if used else None) or EMPTY_CHUNK
    bits = int.from_bytes(partial, "little")
    bits |= int(flags[::-1].translate(BINARY_DIGITS), 2) << used
    count = (used + len(flags) + CHUNK_BITS - 1) // CHUNK_BITS
    appended = bits.to_bytes(CHUNK_BYTES * count, "little")
    chunks: dict[int, bytes] = {index: bytes(changed[index]) for index in sorted(changed)}
    for number in range(count):
        chunks[first + number] = appended[CHUNK_BYTES * number : CHUNK_BYTES * (number + 1)]
    return chunks


def clear_below_floor(base: Tip, floor: int, read: Reader) -> dict[int, bytearray]:
    """Return the chunks in which bits are cleared because the floor rises over them."""
    changed: dict[int, bytearray] = {}
    for index in range(base.floor >> GRAFT_HEIGHT, (min(floor, base.size) + CHUNK_BITS - 1) >> GRAFT_HEIGHT):
        chunk = read(index)
        assert chunk is not None, f"chunk {index} is not stored, and the floor was {base.floor}"
        bits = int.from_bytes(chunk, "little")
        below = min(floor - index * CHUNK_BITS, CHUNK_BITS)
        if bits >> below << below != bits:
            changed[index] = bytearray((bits >> below << below).to_bytes(CHUNK_BYTES, "little"))
    return changed


def graft_leaves(
    chunks: Mapping[int, bytes], subtrees: Mapping[int, bytes], read: Reader, full: int
) -> dict[int, bytes]:
    """Return the grafted leaf of each full chunk, numbered below `full`, in the same order.

    Args:
        chunks: Changed chunks by number.
        subtrees: The tree's nodes over chunks, where they are new.
        read: Finds the older nodes.
        full: Number of full chunks.
    """
    digest_of = sha256
    leaves: dict[int, bytes] = {}
    for index, chunk in chunks.items():
        if index >= full:
            break
        subtree = subtrees.get(index) or read(index)
        assert subtree is not None, f"the node over chunk {index} is not stored"
        leaves[index] = subtree if chunk == EMPTY_CHUNK else digest_of(chunk + subtree).digest()
    return leaves


def hash_paths(rows: Rows, size: int, read: RowReader) -> Rows:
    """Return rows that end with changed grafted leaves, ascending, with the changed nodes above them.

    Args:
        rows: Chunks, nodes over chunks and grafted leaves, as far as they changed.
        size: Operations in the log.
        read: Returns the reader of unchanged entries, by row.
    """
    rows = list(rows)
    height = GRAFT_HEIGHT
    level = rows[-1]
    while level:
        below = read(len(rows) - 1)
        height += 1
        # Numbers ascend, so parents ascend, and only the last parent can be incomplete.
        parents = dict.fromkeys([index >> 1 for index in level])
        if next(reversed(parents)) >= size >> height:
            parents.popitem()
        level = hash_grafts(height, parents, level, below)
        if level:
            rows.append(level)
    return rows


def hash_grafts(height: int, parents: Collection[int], level: Mapping[int, bytes], read: Reader) -> dict[int, bytes]:
    """Return grafted nodes of a height above the grafting height, from their children, changed or older."""
    find = level.get
    step = 2 << height
    children = [find(child) or read(child) for parent in parents for child in (2 * parent, 2 * parent + 1)]
    assert None not in children, f"a grafted node of height {height - 1} is not stored"
    positions = [(parent + 1) * step - 2 - parent.bit_count() for parent in parents]
    child = iter(children)
    digests = [node.digest() for node in map(sha256, map(pack_node, positions, child, child))]
    return dict(zip(parents, digests, strict=True))


def grafted_peaks(tip: Tip, read: RowReader) -> tuple[list[bytes], int]:
    """Return the peaks of the grafted tree, and the number of inactive peaks among the oldest.

    Peaks below the grafting height are the tree's own. Inactive peaks must end on a chunk's boundary, which is certain
    only for peaks of the grafting height and above.
    """
    peaks: list[bytes] = []
    full = 0
    for height, peak in zip(peak_heights(tip.size), tip.peaks, strict=True):
        grafted: bytes | None = peak
        if height >= GRAFT_HEIGHT:
            grafted = read(height - GRAFT_HEIGHT + GRAFTS)((tip.size >> height) - 1)
            full += 1
        assert grafted is not None, f"the grafted peak of height {height} is missing"
        peaks.append(grafted)
    return peaks, min(count_inactive_peaks(tip.size, tip.floor), full)


def fold_canonical(tip: Tip, read: RowReader) -> tuple[bytes, bytes]:
    """Return the root of the grafted tree and the canonical root."""
    peaks, inactive = grafted_peaks(tip, read)
    grafted_root = fold_root(peaks, tip.size, inactive)
    partial = read(CHUNKS)(tip.size >> GRAFT_HEIGHT) if tip.size % CHUNK_BITS else None
    return grafted_root, hash_canonical(tip.root, grafted_root, tip.size % CHUNK_BITS, partial)


def hash_canonical(root: bytes, grafted_root: bytes, next_bit: int, partial: bytes | None) -> bytes:
    """Return the canonical root.

    Args:
        root: Root over the operations.
        grafted_root: Root of the grafted tree.
        next_bit: Bits used in the partial chunk, 0 without one.
        partial: The partial chunk.
    """
    preimage = root + grafted_root
    if next_bit:
        assert partial is not None, f"a partial chunk of {next_bit} bits is not stored"
        preimage += pack_position(next_bit) + sha256(partial).digest()
    return sha256(preimage).digest()
