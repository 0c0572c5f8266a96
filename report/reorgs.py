"""The table of forks by depth and road: one line as each fork is done, and what differed at the end."""

import sys
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

SYMBOLS: Final = {"equal": "=", "differs": "DIFFERS", "inconclusive": "?"}
"""Cell by status."""

NOTHING: Final = "-"
"""Cell of a road that was not taken."""


class ReorgRow(NamedTuple):
    """One fork: its policy or application, its depth, the status of each road, and reasons for what is not equal."""

    subject: str
    depth: int
    statuses: Mapping[str, str]
    reasons: Sequence[str]


class ReorgTable:
    """Prints rows as they come, under one header.

    Args:
        roads: The columns.
        subjects: Every policy or application that will come, for the width of its column.
        subject: The head of that column.
        is_quiet: Whether nothing is printed.
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
        """Print what differed, and how many forks were equal on every road."""
        for reason in self._reasons:
            self._print(reason)
        self._print(f"{self._equal} of {self._forks} forks came to one state on all of {len(self._roads)} roads")

    def _print(self, *cells: str) -> None:
        if not self._is_quiet:
            sys.stdout.write("  ".join(cells).rstrip() + "\n")
            sys.stdout.flush()
