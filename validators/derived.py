"""Derived state: data that a validator keeps in memory although it follows from another source, for the checks.

Each part that keeps derived state has a method `derived`. It returns the kept data, the same data rebuilt from its
source, and sizes with their bounds. It changes nothing, and a validator never calls it. Without these checks derived
state could grow or go stale unnoticed: a wrong entry costs time or room, but no vote.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

Plain: TypeAlias = int | str | bytes | None
"""A value that can be compared and shown."""


class DerivedSize(NamedTuple):
    """The number of entries found and the greatest number allowed, with the formula for it."""

    what: str
    found: int
    bound: int
    formula: str


class Derived(NamedTuple):
    """One part's derived state.

    Attributes:
        part: The part's name.
        kept: The values in memory, by the entry's name.
        rebuilt: The same values from the source; an entry that should not exist is absent.
        sizes: Sizes with their bounds.
        is_of_disk: Whether the source is the disk, which a disk fault may have changed.
    """

    part: str
    kept: Mapping[str, Plain] = {}
    rebuilt: Mapping[str, Plain] = {}
    sizes: Sequence[DerivedSize] = ()
    is_of_disk: bool = False
