"""The command ``faults``: what a scenario may say under ``[faults.NAME]``."""

import argparse
import sys
from typing import Final, TypeVar

import msgspec

from checker.record.program import program_name
from cluster.scenario.plugins import PluginError, load_plugins
from faults import fault_kinds
from faults.catalogue import catalogue, lines_of
from faults.nearest import did_you_mean

_EXIT_USAGE: Final = 2

_Parser = TypeVar("_Parser", bound=argparse.ArgumentParser)


def add_faults_parser(commands: "argparse._SubParsersAction[_Parser]") -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "faults",
        help="list the kinds of faults with their parameters",
        description="List every kind of fault that a scenario may have: what it does in one line, then its parameters "
        "with range, unit and default. Every kind also takes enabled, true by default, and may_be_idle, false by "
        "default. docs/scenarios.md says more.",
        epilog="example: run_cluster.py faults clog",
    )
    parser.add_argument("kind", nargs="?", metavar="KIND", help="one kind only (default: all)")
    parser.add_argument(
        "--plugin",
        action="append",
        default=[],
        metavar="NAME",
        help="list the kinds of this plug-in too; may be given again",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    parser.set_defaults(command=_run_faults)


def _run_faults(options: argparse.Namespace) -> int:
    try:
        load_plugins(tuple(sorted(options.plugin)))
    except PluginError as error:
        sys.stderr.write(f"{program_name()}: --plugin: {error}\n")
        return _EXIT_USAGE
    entries = catalogue(fault_kinds(options.plugin))
    if options.kind is not None:
        known = [entry.kind for entry in entries]
        if options.kind not in known:
            named = f"{options.kind[:40]!r}{did_you_mean(options.kind[:40], known)}"
            reason = f"no kind of fault is called {named}; there are {', '.join(known)}"
            sys.stderr.write(f"{program_name()}: {reason}\n")
            return _EXIT_USAGE
        entries = tuple(entry for entry in entries if entry.kind == options.kind)
    if options.json:
        sys.stdout.write(msgspec.json.encode({"faults": entries}).decode() + "\n")
        return 0
    sys.stdout.write("".join(f"{line}\n" for line in lines_of(entries)))
    if options.kind is not None and entries[0].notes:
        sys.stdout.write(f"{entries[0].notes}\n")
    return 0
