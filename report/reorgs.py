"""The table of forks by depth and road: a line for each finished fork, and the differences at the end."""

import sys
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

SYMBOLS: Final = {"equal": "=", "differs": "DIFFERS", "inconclusive": "?"}
"""Table symbol by status."""

NOTHING: Final = "-"
"""Table symbol of a road that was not taken."""


class ReorgRow(NamedTuple):
    """A fork: its policy or application, its depth, the status of each road, and the reason for each difference."""

    subject: str
    depth: int
    statuses: Mapping[str, str]
    reasons: Sequence[str]


class ReorgTable:
    """Prints each row as it arrives, under a single header.

    Args:
        roads: The headers of the roads' columns.
        subjects: Every policy or application; the longest name sets the width of the first column.
        subject: The header of the first column.
        is_quiet: Whether to print nothing.
    """

    def __init__(
        self, roads: Sequence[str], subjects: Sequence[str], *, subject: str = "policy", is_quiet: bool
    ) -> None:
        self._roads = roads
        self._is_quiet = is_quiet
        self._width = max(len(subject), *map(len, subjects))
        self._reasons: list[str] = []
        self._forks = 0
        self._equal = 0
        self._print(subject.ljust(self._width), "depth", *roads)

    def add(self, row: ReorgRow) -> None:
        """Print a row."""
        symbols = [SYMBOLS.get(row.statuses.get(road, ""), NOTHING) for road in self._roads]
        cells = [symbol.center(len(road)) for symbol, road in zip(symbols, self._roads, strict=True)]
        self._print(row.subject.ljust(self._width), str(row.depth).rjust(len("depth")), *cells)
        self._forks += 1
        self._equal += not row.reasons
        self._reasons += [f"{row.subject}, depth {row.depth}, {reason}" for reason in row.reasons]

    def close(self) -> None:
        """Print the differences, and the number of forks that were equal on every road."""
        for reason in self._reasons:
            self._print(reason)
        self._print(f"{self._equal} of {self._forks} forks came to one state on all of {len(self._roads)} roads")

    def _print(self, *cells: str) -> None:
        if not self._is_quiet:
            sys.stdout.write("  ".join(cells).rstrip() + "\n")
            sys.stdout.flush()
