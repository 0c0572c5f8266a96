"""Merkle mountain range with the roots of generation 3 (docs/state.md).

Nodes are numbered in post-order: leaf i stands at 2i - popcount(i), and n leaves take 2n - popcount(n) positions. So an
append only ever adds nodes at the end, and a shorter range is a prefix of a longer range. Every hash covers the node's
own position; the root covers the number of leaves.

The functions take the peaks (tallest first) and the number of leaves and keep nothing. A speculative batch needs only
these two values of its parent, at most 64 digests, whatever the size of the range below.
"""

from collections.abc import Sequence
from hashlib import sha256

POSITION_BYTES = 8
"""Positions and counts are hashed as big-endian integers of this many bytes."""


def peak_heights(leaf_count: int) -> list[int]:
    """Return the heights of the peaks, tallest first; a peak of height h stands over 2**h leaves."""
    return [height for height in range(leaf_count.bit_length() - 1, -1, -1) if leaf_count >> height & 1]


def count_inactive_peaks(leaf_count: int, floor: int) -> int:
    """Return the number of leading peaks that stand entirely over leaves below `floor`."""
    covered = 0
    inactive = 0
    for height in peak_heights(leaf_count):
        covered += 1 << height
        if covered > floor:
            break
        inactive += 1
    return inactive


def fold_root(peaks: Sequence[bytes], leaf_count: int, inactive_peaks: int = 0) -> bytes:
    """Return the root over the peaks of a range, folded backward as QMDB does.

    Args:
        peaks: Peaks of the range, tallest first.
        leaf_count: Leaves of the range.
        inactive_peaks: Number of the oldest peaks that are folded forward into a single digest first.

    Returns:
        The root, 32 bytes. Without peaks it covers the count alone.
    """
    preimage = leaf_count.to_bytes(POSITION_BYTES, "big")
    if not peaks:
        return sha256(preimage).digest()
    if inactive_peaks:
        preimage += inactive_peaks.to_bytes(POSITION_BYTES, "big")
    rest = peaks if inactive_peaks < 2 else (fold_forward(peaks[:inactive_peaks]), *peaks[inactive_peaks:])
    digest = rest[-1]
    for peak in reversed(rest[:-1]):
        digest = sha256(peak + digest).digest()
    return sha256(preimage + digest).digest()


def fold_forward(peaks: Sequence[bytes]) -> bytes:
    """Fold one peak or more into one digest, from the oldest to the newest."""
    digest = peaks[0]
    for peak in peaks[1:]:
        digest = sha256(digest + peak).digest()
    return digest
