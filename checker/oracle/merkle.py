"""Merkle mountain ranges over SHA-256, by appending leaves in order."""

import hashlib
from collections.abc import Iterable
from copy import copy
from typing import Final

from checker.oracle.records import be8, sha256

CHUNK_LEAVES: Final = 256
"""Operations that share a chunk of the activity bitmap."""


class Mountains:
    """The peaks of a range, tallest first, each with the number of leaves below it; and the root of each chunk."""

    def __init__(self) -> None:
        self.peaks: list[tuple[int, bytes]] = []
        self.chunks: list[bytes] = []
        self.leaves = 0
        # Nodes are numbered in post-order, so the next node's position is the number of nodes.
        self._nodes = 0

    def fork(self) -> "Mountains":
        """Return an independent copy of the range."""
        other = copy(self)
        other.peaks, other.chunks = list(self.peaks), list(self.chunks)
        return other

    def append(self, element: bytes) -> None:
        """Add a leaf; while the last two peaks have the same size they are merged."""
        peaks, nodes = self.peaks, self._nodes
        # Hashed in place: two function calls for each node would take a third of the time of a long log.
        leaves, digest = 1, hashlib.sha256(nodes.to_bytes(8, "big") + element).digest()
        nodes += 1
        while peaks and peaks[-1][0] == leaves:
            digest = hashlib.sha256(nodes.to_bytes(8, "big") + peaks.pop()[1] + digest).digest()
            nodes += 1
            leaves *= 2
            if leaves == CHUNK_LEAVES:
                self.chunks.append(digest)
        peaks.append((leaves, digest))
        self.leaves += 1
        self._nodes = nodes


def list_root(items: Iterable[bytes]) -> bytes:
    """Return the root of a list: the peaks folded from the first to the last."""
    mountains = Mountains()
    for item in items:
        mountains.append(item)
    return sha256(be8(mountains.leaves) + _fold_forward([digest for _, digest in mountains.peaks]))


def log_root(mountains: Mountains, floor: int) -> bytes:
    """Return the root of an operation log: peaks below the floor folded together, then all from the last back."""
    inactive, end = 0, 0
    for leaves, _ in mountains.peaks:
        end += leaves
        if end > floor:
            break
        inactive += 1
    return fold_mountains(mountains.leaves, [digest for _, digest in mountains.peaks], inactive)


def fold_mountains(leaves: int, peaks: list[bytes], inactive: int) -> bytes:
    """Return the root of a range whose first `inactive` peaks lie below the floor."""
    folded = [_fold_forward(peaks[:inactive])] if inactive else []
    return sha256(be8(leaves) + (be8(inactive) if inactive else b"") + _fold_backward(folded + peaks[inactive:]))


def _fold_forward(digests: list[bytes]) -> bytes:
    """Fold from the first to the last; no digests fold to no bytes."""
    accumulated = digests[0] if digests else b""
    for digest in digests[1:]:
        accumulated = sha256(accumulated + digest)
    return accumulated


def _fold_backward(digests: list[bytes]) -> bytes:
    """Fold from the last to the first."""
    accumulated = digests[-1]
    for digest in reversed(digests[:-1]):
        accumulated = sha256(digest + accumulated)
    return accumulated
