"""The command ``faults``: what a scenario may say under ``[faults.NAME]``."""

import argparse
import sys

from checker.record.program import program_name
from cluster.cli.options import EXIT_USAGE, Parser, describe_command, print_json, print_lines
from cluster.scenario.plugins import PluginError, load_plugins
from faults import FAULTS
from faults.catalogue import catalogue
from faults.nearest import did_you_mean
from faults.parameters import lines_of


def fill_parser(parser: Parser) -> None:
    """Say what the command takes."""
    describe_command(
        parser,
        describe_faults,
        description="List every kind of fault that a scenario may have: what it does in one line, then its parameters "
        "with range, unit and default. Every kind also takes enabled, true by default, and may_be_idle, false by "
        "default. docs/faults-at-work.md says more.",
        example="faults clog",
    )
    parser.add_argument("kind", nargs="?", metavar="KIND", help="one kind only (default: all)")
    parser.add_argument(
        "--plugin",
        action="append",
        default=[],
        metavar="NAME",
        help="list the kinds of this plug-in too; may be given again",
    )


def describe_faults(options: argparse.Namespace) -> int:
    """Print the kinds, and return 0; an unknown kind or plug-in is bad input."""
    try:
        plugins = load_plugins(options.plugin)
    except PluginError as error:
        sys.stderr.write(f"{program_name()}: --plugin: {error}\n")
        return EXIT_USAGE
    entries = catalogue(FAULTS.kinds(plugins))
    if options.kind is not None:
        known = [entry.kind for entry in entries]
        if options.kind not in known:
            named = f"{options.kind[:40]!r}{did_you_mean(options.kind[:40], known)}"
            reason = f"no kind of fault is called {named}; there are {', '.join(known)}"
            sys.stderr.write(f"{program_name()}: {reason}\n")
            return EXIT_USAGE
        entries = tuple(entry for entry in entries if entry.kind == options.kind)
    if options.json:
        print_json({"faults": entries})
        return 0
    notes = [entries[0].notes] if options.kind is not None and entries[0].notes else []
    print_lines([*lines_of(entries), *notes])
    return 0
