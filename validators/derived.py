"""Derived state: what a validator keeps in memory although something else says it, as plain data for the checks.

Each part that keeps such state has a method `derived`, which returns what it keeps, the same rebuilt from its source,
and its sizes beside their bounds. It changes nothing and is never called by a validator itself. What is rebuilt and
bounded here grows or goes stale otherwise without anybody's notice: a wrong entry costs time or room, and no vote.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

Plain: TypeAlias = int | str | bytes | None
"""A value that can be compared and shown."""


class DerivedSize(NamedTuple):
    """The number of entries that is found and the greatest that it may be, with the formula for that."""

    what: str
    found: int
    bound: int
    formula: str


class Derived(NamedTuple):
    """One part's derived state.

    Attributes:
        part: The part's name.
        kept: By the name of an entry, its value in memory.
        rebuilt: The same from the source; an entry that should not be there is absent.
        sizes: Sizes with their bounds.
        is_of_disk: Whether the source is the disk, which a fault of the disk may have changed.
    """

    part: str
    kept: Mapping[str, Plain] = {}
    rebuilt: Mapping[str, Plain] = {}
    sizes: Sequence[DerivedSize] = ()
    is_of_disk: bool = False
