"""The base of errors that a command reports: one line that says where and what, and the exit code for it.

It imports nothing, so that the command line can name it without the rooms that raise it.
"""

from typing import ClassVar


class ReportedError(Exception):
    """An error whose message says all; the exit code is that of bad input unless a class has another."""

    exit_code: ClassVar[int] = 2


def on_one_line(text: str) -> str:
    """Return a text that came from a file as one line without controls."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
