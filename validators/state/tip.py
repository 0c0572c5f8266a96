"""The tip: the values that stand for the database after one batch."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Tip:
    """The database after one batch; compared by identity, so that an equal-looking sibling is another tip.

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
