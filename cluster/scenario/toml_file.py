"""Reads a TOML file from a stranger: in bounded time and memory, and nothing but plain data comes out."""

import tomllib
from pathlib import Path
from typing import Any, Final

from checker.record.plain_files import UnsuitableFileError, read_plain

BYTES_MAX: Final = 512 * 1024
"""No scenario is longer."""

DOTS_MAX: Final = 200
"""Dots in one line. What a dotted key costs grows with the square of its parts: 20,000 of them take a minute."""


class UnreadableError(Exception):
    """A file that is no TOML, or too much of it; the message says why."""


def read_toml(path: Path) -> dict[str, Any]:
    """Return what a TOML file holds; raises UnreadableError, or OSError where the file system refuses."""
    try:
        content = read_plain(path, BYTES_MAX)
    except UnsuitableFileError as error:
        raise UnreadableError(error.reason) from None
    try:
        return parse_toml(content.decode())
    except (ValueError, RecursionError) as error:
        raise UnreadableError(f"not a TOML file: {error}") from error


def parse_toml(text: str) -> dict[str, Any]:
    """Return what a text holds; raises ValueError (a number of too many digits among others) or RecursionError."""
    if any(line.count(".") > DOTS_MAX for line in text.splitlines()):
        raise ValueError(f"a line with more than {DOTS_MAX} dots")
    return tomllib.loads(text)
