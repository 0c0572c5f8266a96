"""The record of an applied batch that is kept so that the batch can be taken back."""

from dataclasses import dataclass

from validators.state.tip import Tip


@dataclass(frozen=True, slots=True)
class Undo:
    """The data needed to take back one applied batch.

    Attributes:
        tip: The database before the batch.
        displaced: Keys that the batch changed, deleted or moved, whose locations before are the first of `superseded`.
        superseded: Locations that were active before the batch and not after it, the commit's last.
        created: Keys that the database had not.
        inactive: Flags from the floor before the batch on that it cleared by raising the floor.
        rewritten: The other locations whose flags it cleared, ascending.
    """

    tip: Tip
    displaced: list[bytes]
    superseded: list[int]
    created: list[bytes]
    inactive: bytes
    rewritten: list[int]
