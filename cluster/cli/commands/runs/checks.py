"""The command `checks`: the checks of a run, which `[expect]` may name under `fails`."""

import argparse
from collections.abc import Iterable, Iterator

import msgspec

from checker.checks import BESIDE_A_RUN
from checker.checks.check import Check
from checker.results import ExitClass
from cluster.cli.listing import add_name, plugins_of, print_entries
from cluster.cli.options import Parser, describe_command
from cluster.scenario.plugins import checks_with


class CheckEntry(msgspec.Struct, frozen=True):
    """A check: its name, its demand, the class of its failure, its engines (none: every engine), and notes."""

    name: str
    sentence: str
    exit_class: ExitClass
    engines: tuple[str, ...] = ()
    notes: str = ""


def fill_parser(parser: Parser) -> None:
    """Say what the command takes."""
    describe_command(
        parser,
        describe_checks,
        description="List every check of a run: what it demands in one line, and behind its name the class of its "
        "failure and the engine that it is about. A check of class inconclusive never fails. `run_cluster.py docs "
        "invariants` says more.",
        example="checks agreement",
    )
    add_name(parser, "check", "CHECK")


def describe_checks(options: argparse.Namespace) -> int:
    """Print the checks, and return 0."""
    entries = [*map(_entry_of, checks_with(plugins_of(options)))]
    entries += [CheckEntry(name, sentence, exit_class) for name, (exit_class, sentence) in BESIDE_A_RUN.items()]
    return print_entries(options, "checks", {entry.name: entry for entry in entries}, _lines_of)


def _entry_of(check: type[Check]) -> CheckEntry:
    sentence, _, notes = " ".join((check.__doc__ or "").split()).partition(". ")
    return CheckEntry(check.name, f"{sentence.rstrip('.')}.", check.exit_class, tuple(check.engines), notes)


def _lines_of(entries: Iterable[CheckEntry]) -> Iterator[str]:
    shown = [*entries]
    for entry in shown:
        about = ", ".join((entry.exit_class, *entry.engines))
        yield f"{entry.name} ({about}): {entry.sentence}"
    yield from (entry.notes for entry in shown if entry.notes and len(shown) == 1)
