"""Tables that fit the width of the output: columns are dropped in a given order before a header is cut.

The width is that of the terminal or of the variable COLUMNS. Piped output without COLUMNS is `PIPED_WIDTH` wide.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from report.visible import visible_lines

PIPED_WIDTH: Final = 160
"""Columns of a table in a file or a pipe."""

_FRAME: Final = 1
"""Columns of a table's left edge; each column of text adds its own right edge and a space on both sides."""

_PER_COLUMN: Final = 3


class VisibleConsole(Console):
    """A console of rich without automatic styles, markup and links; it shows unprintable characters by their codes."""

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401 - as rich takes them
        super().__init__(highlight=False, markup=False, emoji=False, **settings)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yield the pieces of a picture; rich's commands pass, other unprintable characters appear as codes."""
        for piece in super().render(renderable, options):
            yield piece if piece.control else piece._replace(text=visible_lines(piece.text))


def output_console() -> Console:
    """Return the console for standard output in the width of the output."""
    console = VisibleConsole()
    if console.is_terminal or "COLUMNS" in os.environ:
        return console
    return VisibleConsole(width=PIPED_WIDTH)


def fitting_columns(columns: Mapping[str, Sequence[str]], width: int, drop: Sequence[str]) -> list[str]:
    """Return the headers of the columns to show, so that no text is cut.

    Args:
        columns: The texts of each column by its header, in the order of the table.
        width: Columns of the terminal.
        drop: The headers to drop, the first header first. A table that is still too wide wraps its texts.
    """
    shown = list(columns)
    for header in drop:
        if natural_width({name: columns[name] for name in shown}) <= width:
            break
        if header in shown:
            shown.remove(header)
    return shown


def natural_width(columns: Mapping[str, Sequence[str]]) -> int:
    """Return the width of a framed table without wrapped texts."""
    return _FRAME + sum(_PER_COLUMN + max(map(len, (header, *cells))) for header, cells in columns.items())
