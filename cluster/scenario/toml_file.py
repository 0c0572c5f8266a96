"""Reads an untrusted TOML file in bounded time and memory; the result is plain data only."""

import tomllib
from pathlib import Path
from typing import Any, Final

from checker.record.plain_files import UnsuitableFileError, read_plain

BYTES_MAX: Final = 512 * 1024
"""The longest scenario file."""

DOTS_MAX: Final = 200
"""Dots in one line. The cost of a dotted key grows with the square of its parts: 20,000 parts take a minute."""


class UnreadableError(Exception):
    """A file that is no TOML, or too long; the message gives the reason."""


def read_toml(path: Path) -> dict[str, Any]:
    """Return the content of a TOML file; raises UnreadableError, or OSError where the file system refuses."""
    try:
        content = read_plain(path, BYTES_MAX)
    except UnsuitableFileError as error:
        raise UnreadableError(error.reason) from None
    try:
        return parse_toml(content.decode())
    except (ValueError, RecursionError) as error:
        raise UnreadableError(f"not a TOML file: {error}") from error


def parse_toml(text: str) -> dict[str, Any]:
    """Return the content of a text; raises ValueError (also for a number with too many digits) or RecursionError."""
    if any(line.count(".") > DOTS_MAX for line in text.splitlines()):
        raise ValueError(f"a line with more than {DOTS_MAX} dots")
    return tomllib.loads(text)
