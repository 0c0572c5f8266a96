"""Proofs about a log of operations, from its trees computed from scratch (docs/state.md, Proofs).

Size and location determine the number of digests, so each claim has one proof: a proof is valid if it is equal to the
proof made here.
"""

from collections.abc import Sequence

from checker.oracle.from_scratch import Trees, trees_of
from checker.oracle.records import be8


def prove_operation(operations: Sequence[bytes], floor: int, location: int) -> bytes:
    """Return the proof that the log has its operation at a location, against the root over the operations."""
    trees = trees_of(operations, floor)
    siblings, others = _around(trees, trees.plain, location)
    return be8(trees.size) + be8(len(trees.inactive)) + b"".join(siblings + others)


def prove_update(operations: Sequence[bytes], floor: int, location: int) -> bytes:
    """Return the proof that the update at a location is its key's latest, against the canonical root."""
    trees = trees_of(operations, floor)
    siblings, others = _around(trees, trees.grafted, location)
    chunk = location // 256
    # A partial chunk that holds the operation is in the proof itself.
    digest = trees.partial[8:] if chunk < trees.size // 256 else b""
    numbers = be8(location) + be8(trees.size) + be8(trees.aligned)
    return numbers + trees.operations_root + trees.chunk(chunk) + b"".join(siblings + others) + digest


def prove_root(operations: Sequence[bytes], floor: int) -> bytes:
    """Return the proof that the canonical root contains the root over the operations."""
    trees = trees_of(operations, floor)
    return trees.grafted_root + trees.partial


def _around(trees: Trees, rows: list[list[bytes]], location: int) -> tuple[list[bytes], list[bytes]]:
    """Return the siblings on the way from an operation to its peak, the lowest first, and the other peaks."""
    number = next(number for number, (_, end) in enumerate(trees.ends) if location < end)
    siblings = [rows[level][location >> level ^ 1] for level in range(trees.ends[number][0])]
    peaks = trees.peaks(rows)
    return siblings, peaks[:number] + peaks[number + 1 :]
