"""Figures for the table at the head of docs/performance.md: a benchmark prints each as a line, the page collects them.

They go by what is printed, because a page may have sections of several days, and the head has to say what they say.
"""

import re
from typing import Final

DETAIL: Final = "\t"
"""The end of a printed line that the page leaves out: of several sizes the page has the greatest."""

_LINE: Final = re.compile(r"^head table, ([a-z]+): (.*)$", re.MULTILINE)


def head_line(row: str, figure: str, *, is_missed: bool = False) -> str:
    """Return the line that a benchmark prints for a row of the head table."""
    return f"head table, {row}: {figure}{', MISSED' if is_missed else ''}"


def head_figures(page: str) -> dict[str, str]:
    """Return the figures of a page by row; those of several benchmarks for one row stand beside each other."""
    found: dict[str, list[str]] = {}
    for row, figure in _LINE.findall(page):
        found.setdefault(row, []).append(figure)
    return {row: "; ".join(figures) for row, figures in found.items()}
