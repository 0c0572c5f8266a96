"""A memo of one run: results of pure functions by their exact input bytes, handed to validators by their factories.

A result that one validator has computed is not computed again for a second validator. The result is the same, and each
is charged and counted as if it were alone. Values are immutable, so that no information passes between validators. The
number of entries and the bytes of their inputs are bounded, so that memory does not grow.
"""

from collections.abc import Hashable
from typing import Final, Generic, TypeVar

V = TypeVar("V")


class Memo(Generic[V]):
    """The latest results of one function; the oldest is dropped first.

    Args:
        entries_max: The most entries.
        bytes_max: The most bytes of the inputs that are bytes; a longer input is not kept.
    """

    __slots__ = ("_bytes", "_bytes_max", "_entries_max", "_results", "find")

    def __init__(self, entries_max: int, bytes_max: int = 64 * 1024 * 1024) -> None:
        self._entries_max: Final = entries_max
        self._bytes_max: Final = bytes_max
        self._bytes = 0
        self._results: Final[dict[Hashable, V]] = {}
        self.find: Final = self._results.get
        """Returns the result for these bytes; None if it is not here."""

    def keep(self, given: Hashable, result: V) -> None:
        """Keep the result for these bytes."""
        size = _size_of(given)
        if size > self._bytes_max:
            return
        if given not in self._results:
            self._bytes += size
        self._results[given] = result
        while len(self._results) > self._entries_max or self._bytes > self._bytes_max:
            oldest = next(iter(self._results))
            del self._results[oldest]
            self._bytes -= _size_of(oldest)


def _size_of(given: Hashable) -> int:
    parts = given if isinstance(given, tuple) else (given,)
    return sum(len(part) for part in parts if isinstance(part, bytes))
