r"""Text for a person: every unprintable character appears as its code, for example `\x1b`.

A record, a results file or a title may hold terminal commands, overrides of the reading direction, characters without
width, or line ends. `VisibleStream` shows their codes on standard output and standard error for every writer.
`VisibleConsole` (report/layout.py) writes terminal commands for its colours, so it bypasses the stream and replaces
unprintable characters of the text itself. This module does not import rich: the import would take half of a help's
time.
"""

import io
import sys
from typing import Any


def visible(text: str) -> str:
    """Return a text on one line, with the code of every unprintable character."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


def visible_lines(text: str) -> str:
    """Return a text with its line ends, and with the code of every other unprintable character."""
    return "\n".join(map(visible, text.split("\n")))


class VisibleStream(io.TextIOWrapper):
    """A standard stream that shows unprintable characters by their codes."""

    def write(self, text: str, /) -> int:
        """Write a text and return the length of the given text."""
        super().write(visible_lines(text))
        return len(text)

    @property
    def rich_proxied_file(self) -> "_Commands":
        """The stream for rich, which replaces unprintable characters itself."""
        return _Commands(self)


def guard_standard_error() -> None:
    """Make the standard error of a child process show unprintable characters by their codes."""
    if sys.stderr is not None:
        stream = sys.stderr
        sys.stderr = VisibleStream(stream.buffer, stream.encoding, "backslashreplace", line_buffering=True)


class _Commands:
    """The same stream, which also accepts terminal commands."""

    def __init__(self, stream: VisibleStream) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write a text unchanged."""
        return io.TextIOWrapper.write(self._stream, text)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever a stream has
        return getattr(self._stream, name)
