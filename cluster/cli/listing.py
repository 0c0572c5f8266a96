"""The commands that list what a scenario may name: all entries, or one of them with all there is to say."""

import argparse
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeVar

from checker.record.errors import ReportedError
from checker.record.program import program_name
from cluster.cli.options import Parser, print_json, print_lines
from cluster.scenario.plugins import PluginError, load_plugins
from faults.nearest import did_you_mean
from report.visible import visible

_Entry = TypeVar("_Entry")

NAME_CHARACTERS_MAX: Final = 40
"""Characters of a mistyped name that its refusal repeats."""


WIDTH: Final = 80
"""Columns of a list of names and sentences."""

_FOLD_INDENT: Final = 4
"""Columns by which the rest of a folded line is indented."""

_INDENT: Final = 24
"""Columns before the sentences; a longer name has a line of its own."""


class UnknownNameError(ReportedError):
    """A name that is not in the list."""


def add_name(parser: Parser, what: str, metavar: str) -> None:
    """Add the entry to show, and the plug-ins whose entries are listed too."""
    parser.add_argument("name", nargs="?", metavar=metavar, help=f"one {what} only (default: all)")
    parser.add_argument(
        "--plugin",
        action="append",
        default=[],
        metavar="NAME",
        help=f"list every {what} of this plug-in too; may be given again",
    )


def plugins_of(options: argparse.Namespace) -> tuple[str, ...]:
    """Load the plug-ins of a command line and return their names; raises UnknownNameError."""
    try:
        return load_plugins(options.plugin)
    except PluginError as error:
        raise UnknownNameError(f"--plugin: {error}") from None


def print_entries(
    options: argparse.Namespace,
    key: str,
    known: Mapping[str, _Entry],
    lines_of: Callable[[Sequence[_Entry]], Iterable[str]],
) -> int:
    """Print all entries or the named entry, as lines or as JSON under a key, and return 0.

    Raises:
        UnknownNameError: No entry has this name.
    """
    shown = [*known.values()] if options.name is None else [named(options.name, known, key)]
    if options.json:
        print_json({key: shown})
    else:
        print_lines([*folded(lines_of(shown))])
    return 0


def folded(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines that are no wider than standard output; the rest of a line is indented below it."""
    from report.layout import output_console  # noqa: PLC0415 - `--json` draws nothing

    width = output_console().width
    for line in map(visible, lines):
        indent = " " * (len(line) - len(line.lstrip()) + _FOLD_INDENT)
        yield from textwrap.wrap(line, width, subsequent_indent=indent, break_on_hyphens=False) or [""]


def named(name: str, known: Mapping[str, _Entry], command: str) -> _Entry:
    """Return the entry of a name; raises UnknownNameError with the nearest name and the command that lists all."""
    if name not in known:
        short = name[:NAME_CHARACTERS_MAX]
        listed = f"`{program_name()} {command}` lists all"
        raise UnknownNameError(f"{command}: there is no {short!r}{did_you_mean(short, known)}; {listed}")
    return known[name]


def name_lines(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield names with a sentence beside each, folded at the width of a small terminal."""
    for name, sentence in rows:
        lines = textwrap.wrap(sentence, WIDTH - _INDENT, break_long_words=False, break_on_hyphens=False) or [""]
        first = f"{name:{_INDENT}}{lines[0]}".rstrip()
        yield from (first,) if len(name) < _INDENT else (name, f"{'':{_INDENT}}{lines[0]}")
        yield from (f"{'':{_INDENT}}{line}" for line in lines[1:])
