r"""Text on its way to a person: every character that is not printable is shown as its code, such as `\x1b`.

A record, a results file or a title can hold anything: commands to the terminal, overrides of the direction of reading,
characters without a width, ends of lines. Standard output and standard error show them by their codes whoever writes
there (`VisibleStream`). `VisibleConsole` (report/layout.py) alone writes past that, because its colours and
its picture are such commands too: it shows the codes in the text before it adds them. Nothing here imports rich, which
would take half the time of every help.
"""

import io
import sys
from typing import Any


def visible(text: str) -> str:
    """Return a text on one line, with the code of every character that is not printable."""
    if text.isprintable():
        return text
    return "".join(it if it.isprintable() else it.encode("unicode_escape").decode() for it in text)


def visible_lines(text: str) -> str:
    """Return a text with its ends of lines, and with the code of every other character that is not printable."""
    return "\n".join(map(visible, text.split("\n")))


class VisibleStream(io.TextIOWrapper):
    """A standard stream that shows what is not printable by its code."""

    def write(self, text: str, /) -> int:
        """Write a text, and return its own length."""
        super().write(visible_lines(text))
        return len(text)

    @property
    def rich_proxied_file(self) -> "_Commands":
        """The stream that rich writes to instead of this one: it has shown the codes itself."""
        return _Commands(self)


def guard_standard_error() -> None:
    """Let the standard error of a process that another one started show codes as well."""
    if sys.stderr is not None:
        stream = sys.stderr
        sys.stderr = VisibleStream(stream.buffer, stream.encoding, "backslashreplace", line_buffering=True)


class _Commands:
    """The same stream, which takes commands to the terminal too."""

    def __init__(self, stream: VisibleStream) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write a text as it is."""
        return io.TextIOWrapper.write(self._stream, text)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever a stream has
        return getattr(self._stream, name)
