"""The record of an applied batch with which the batch can be undone."""

from dataclasses import dataclass

from validators.state.tip import Tip


@dataclass(frozen=True, slots=True)
class Undo:
    """The data needed to undo an applied batch.

    Attributes:
        tip: The database before the batch.
        displaced: Keys that the batch changed, deleted or moved; their old locations are the first of `superseded`.
        superseded: Locations that the batch made inactive, the commit's last.
        created: Keys that the database did not have.
        inactive: Flags from the old floor on that the batch cleared by raising the floor.
        rewritten: The other locations whose flags it cleared, ascending.
    """

    tip: Tip
    displaced: list[bytes]
    superseded: list[int]
    created: list[bytes]
    inactive: bytes
    rewritten: list[int]
