"""A memo of one run: results of pure functions by their exact input bytes, handed to validators by their factories.

A result that one validator has computed is not computed again for a second validator. The result is the same, and each
is charged and counted as if it were alone. Values are immutable and the number of entries is bounded. So no information
passes between validators, and memory does not grow.
"""

from collections.abc import Hashable
from typing import Final, Generic, TypeVar

V = TypeVar("V")


class Memo(Generic[V]):
    """The latest results of one function; the oldest is dropped first."""

    __slots__ = ("_entries_max", "_results", "find")

    def __init__(self, entries_max: int) -> None:
        self._entries_max: Final = entries_max
        self._results: Final[dict[Hashable, V]] = {}
        self.find: Final = self._results.get
        """Returns the result for these bytes; None if it is not here."""

    def keep(self, given: Hashable, result: V) -> None:
        """Keep the result for these bytes."""
        self._results[given] = result
        if len(self._results) > self._entries_max:
            del self._results[next(iter(self._results))]
