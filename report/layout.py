"""Tables that stay readable in the width there is: columns go, in a stated order, before any header is cut.

A terminal has its own width, or the one that COLUMNS says; where output is piped and COLUMNS says nothing, tables are
`PIPED_WIDTH` wide.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from report.visible import visible_lines

PIPED_WIDTH: Final = 160
"""Columns of a table that goes into a file or a pipe."""

_FRAME: Final = 1
"""Columns of a table's left edge; each column of cells then adds its own right edge and a space on both sides."""

_PER_COLUMN: Final = 3


class VisibleConsole(Console):
    """A console of rich that styles, marks up and links nothing of its own accord, and shows codes in every text."""

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401 - as rich takes them
        super().__init__(highlight=False, markup=False, emoji=False, **settings)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yield the pieces of a picture; what is no command of rich itself is shown by its code."""
        for piece in super().render(renderable, options):
            yield piece if piece.control else piece._replace(text=visible_lines(piece.text))


def output_console() -> Console:
    """Return the console for standard output, as wide as what is printed may be."""
    console = VisibleConsole()
    if console.is_terminal or "COLUMNS" in os.environ:
        return console
    return VisibleConsole(width=PIPED_WIDTH)


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
