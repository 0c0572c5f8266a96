"""Tables that stay readable in the width there is: columns go, in a stated order, before any header is cut.

A terminal has its own width, or the one that COLUMNS says; where output is piped and COLUMNS says nothing, tables are
`PIPED_WIDTH` wide.
"""

import os
from collections.abc import Mapping, Sequence
from typing import Final

from rich.console import Console

PIPED_WIDTH: Final = 160
"""Columns of a table that goes into a file or a pipe."""

_FRAME: Final = 1
"""Columns of a table's left edge; each column of cells then adds its own right edge and a space on both sides."""

_PER_COLUMN: Final = 3


def output_console() -> Console:
    """Return the console for standard output, as wide as what is printed may be."""
    console = Console(highlight=False)
    if console.is_terminal or "COLUMNS" in os.environ:
        return console
    return Console(highlight=False, width=PIPED_WIDTH)


def fitting_columns(columns: Mapping[str, Sequence[str]], width: int, drop: Sequence[str]) -> list[str]:
    """Return the headers of the columns to show, so that no cell is cut.

    Args:
        columns: The cells of each column by its header, in the order of the table.
        width: Columns of the terminal.
        drop: The headers that may go, the first one first. What does not fit without all of them is folded.
    """
    shown = list(columns)
    for header in drop:
        if natural_width({name: columns[name] for name in shown}) <= width:
            break
        if header in shown:
            shown.remove(header)
    return shown


def natural_width(columns: Mapping[str, Sequence[str]]) -> int:
    """Return how wide a framed table is in which every cell stands on one line."""
    return _FRAME + sum(_PER_COLUMN + max(map(len, (header, *cells))) for header, cells in columns.items())
