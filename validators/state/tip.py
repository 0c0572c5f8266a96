"""The tip: the values that describe the database after a batch."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Tip:
    """The database after a batch; compared by identity, so that an equal-looking sibling is a different tip.

    Attributes:
        size: Operations in the log.
        floor: Location below which no operation is active.
        active: Live keys.
        root: Root over the operations, 32 bytes.
        peaks: Peaks of the tree, tallest first.
    """

    size: int
    floor: int
    active: int
    root: bytes
    peaks: tuple[bytes, ...]
