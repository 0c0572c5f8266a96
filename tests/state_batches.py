"""What the tests of the state database share: keys, strategies and one-line batches."""

from hashlib import sha256

from hypothesis import strategies as st

from validators.state import Batch, Database
from validators.state.mmr import append_leaves, count_inactive_peaks, fold_root, peak_heights, peak_positions

KEYS = [bytes([n]) * 32 for n in range(6)]
WRITES = st.dictionaries(st.sampled_from(KEYS), st.none() | st.sampled_from([b"", b"one", b"two" * 100]), max_size=5)


def commit(database: Database, writes: dict[bytes, bytes | None], metadata: bytes | None = None) -> Batch:
    batch = fork(database, None, writes, metadata)
    database.apply(batch)
    return batch


def fork(
    database: Database, parent: Batch | None, writes: dict[bytes, bytes | None], metadata: bytes | None = None
) -> Batch:
    batch = database.batch(parent)
    for key, value in writes.items():
        batch.write(key, value)
    batch.merkleize(metadata)
    return batch


def active_bits(operations: list[bytes]) -> list[int]:
    """1 for the latest update of each live key and for the latest commit, found by reading the log once."""
    bits: list[int] = []
    latest: dict[bytes, int] = {}
    for location, operation in enumerate(operations):
        key = b"" if operation[0] == 0xD3 else operation[1:33]
        if key in latest:
            bits[latest.pop(key)] = 0
        if operation[0] != 0xD1:
            latest[key] = location
        bits.append(int(operation[0] != 0xD1))
    return bits


def canonical_plainly(operations: list[bytes], floor: int) -> bytes:
    """The canonical root restated from the log alone: no index, no increment, every grafted node by recursion."""
    size = len(operations)
    peaks: list[bytes] = []
    nodes = append_leaves(peaks, 0, operations)
    bits = active_bits(operations)
    bits += [0] * (-size % 256)
    packed = [sum(bit << place for place, bit in enumerate(bits[at : at + 8])) for at in range(0, len(bits), 8)]
    chunks = [bytes(packed[at : at + 32]) for at in range(0, len(packed), 32)]

    def graft(height: int, index: int) -> bytes:
        last = ((index + 1) << height) - 1
        position = 2 * last - last.bit_count() + height
        if height == 8:
            return sha256(chunks[index] + nodes[position]).digest() if any(chunks[index]) else nodes[position]
        children = graft(height - 1, 2 * index) + graft(height - 1, 2 * index + 1)
        return sha256(position.to_bytes(8, "big") + children).digest()

    heights = peak_heights(size)
    grafted = [
        nodes[position] if height < 8 else graft(height, (size >> height) - 1)
        for height, position in zip(heights, peak_positions(size), strict=True)
    ]
    inactive = count_inactive_peaks(size, floor)
    aligned = min(inactive, len([height for height in heights if height >= 8]))
    root = fold_root(peaks, size, inactive) + fold_root(grafted, size, aligned)
    if size % 256:
        root += (size % 256).to_bytes(8, "big") + sha256(chunks[-1]).digest()
    return sha256(root).digest()
