"""The command ``faults``: the kinds and keys that a scenario may use under ``[faults.NAME]``."""

import argparse
from collections.abc import Iterator, Sequence

from cluster.cli.listing import add_name, plugins_of, print_entries
from cluster.cli.options import Parser, describe_command
from faults import FAULTS
from faults.catalogue import catalogue
from faults.parameters import KindEntry, lines_of


def fill_parser(parser: Parser) -> None:
    """Say what the command takes."""
    describe_command(
        parser,
        describe_faults,
        description="List every kind of fault that a scenario may have: what it does in one line, then its parameters "
        "with range, unit and default. Every kind also takes enabled, true by default, and may_be_idle, false by "
        "default. `run_cluster.py docs faults-at-work` says more.",
        example="faults clog",
    )
    add_name(parser, "kind of fault", "KIND")


def describe_faults(options: argparse.Namespace) -> int:
    """Print the kinds, and return 0."""
    entries = catalogue(FAULTS.kinds(plugins_of(options)))
    return print_entries(options, "faults", {entry.kind: entry for entry in entries}, lines_with_notes)


def lines_with_notes(entries: Sequence[KindEntry]) -> Iterator[str]:
    """Yield the lines of kinds; for a single kind also its notes."""
    yield from lines_of(entries)
    yield from (entry.notes for entry in entries if entry.notes and len(entries) == 1)
