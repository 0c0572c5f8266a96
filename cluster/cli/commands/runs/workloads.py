"""The command `workloads`: the kinds and keys that a scenario may use under `[workload.NAME]`."""

import argparse
from typing import Final

from cluster.cli.commands.runs.faults import lines_with_notes
from cluster.cli.listing import add_name, plugins_of, print_entries
from cluster.cli.options import Parser, describe_command
from cluster.workloads.registry import WORKLOADS
from faults.parameters import entry_of

SHARED: Final = ("enabled", "may_be_idle")
"""Keys that every kind has."""


def fill_parser(parser: Parser) -> None:
    """Say what the command takes."""
    describe_command(
        parser,
        describe_workloads,
        description="List every kind of workload that a scenario may have: what its clients do in one line, then its "
        "parameters with range, unit and default. Every kind also takes enabled, true by default, and may_be_idle, "
        "false by default. `run_cluster.py docs workloads` says more.",
        example="workloads storm",
    )
    add_name(parser, "kind of workload", "KIND")


def describe_workloads(options: argparse.Namespace) -> int:
    """Print the kinds, and return 0."""
    entries = [entry_of(kind, SHARED) for kind in WORKLOADS.kinds(plugins_of(options))]
    return print_entries(options, "workloads", {entry.kind: entry for entry in entries}, lines_with_notes)
