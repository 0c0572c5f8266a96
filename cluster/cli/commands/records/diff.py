"""The command `diff`: where two recorded runs differ."""

import argparse
from collections.abc import Iterator
from pathlib import Path

import msgspec

from checker.record.errors import on_one_line
from checker.record.fingerprint import CodeChangedError
from checker.record.run_directory import RecordReader
from checker.results import CheckResult, verdict_of
from cluster.cli.commands.records.explain import INDENT, repeat
from cluster.cli.options import Parser, describe_command, print_json, print_lines
from cluster.inspect.diff import Diff, compare_records
from cluster.page.compare import page_of_two
from cluster.page.write import write_page
from cluster.scenario.messages import ScenarioError
from cluster.verdict.replay import CHECK


def fill_parser(parser: Parser) -> None:
    """Say what the command takes."""
    describe_command(
        parser,
        run_diff,
        description="Repeat two recorded runs, and compare them: events, blocks and roots by height, values, figures.",
        notes="exit code 0 the same run, 1 they differ, 2 damaged, 3 the same and not verified because the code "
        "changed since, 5 one of them is not repeated by the code that made it.",
        example="diff runs/calm-0 runs/calm-1",
    )
    parser.add_argument("first", type=Path, metavar="RUN_A", help="a directory that run wrote")
    parser.add_argument("second", type=Path, metavar="RUN_B", help="another one")
    parser.add_argument("--no-verify", action="store_true", help="believe both as recorded, and run nothing")


def run_diff(options: argparse.Namespace) -> int:
    """Compare two run directories; 0 the same run, 1 not, 3 or 5 where one of them is not repeated."""
    readers = RecordReader(options.first), RecordReader(options.second)
    doubts = {} if options.no_verify else _verify(readers, is_quiet=options.json)
    found = compare_records(*readers)
    page = list(_write_page(readers, found))
    if options.json:
        answer = {"is_verified": not options.no_verify and not doubts, "doubts": doubts, **msgspec.to_builtins(found)}
        print_json(answer)
    else:
        lines = ["as recorded, not verified"] * options.no_verify
        lines += [
            f"{name} is as recorded, not verified: {on_one_line(doubt.summary)}" for name, doubt in doubts.items()
        ]
        print_lines([*lines, *_lines_of_diff(found, options), *page])
    difference = CheckResult("diff", "passed" if found.is_same else "failed", "safety", "", (), 1)
    return verdict_of([difference, *doubts.values()]).exit_code


def _write_page(readers: tuple[RecordReader, RecordReader], found: Diff) -> Iterator[str]:
    """Write the page of two runs that differ beside the first, and yield a line about it."""
    first, second = (reader.path.resolve() for reader in readers)
    if found.is_same:
        return
    try:
        content = page_of_two(*readers, found)
    except ScenarioError as error:
        # What other code wrote can be compared byte by byte, and drawn only if it is understood.
        yield f"no page: {on_one_line(str(error))}"
        return
    yield write_page(first.with_name(f"diff-{first.name}-{second.name}.html"), content)


def _verify(readers: tuple[RecordReader, RecordReader], *, is_quiet: bool) -> dict[str, CheckResult]:
    """Repeat both runs, and return by name why a record is not its run's; raises DamagedRecordError."""
    names = {"A": readers[0], "B": readers[1]}
    if readers[0].manifest == readers[1].manifest:
        del names["B"]
    replays = {name: _verified(reader, is_quiet=is_quiet) for name, reader in names.items()}
    return {name: replay for name, replay in replays.items() if replay.status != "passed"}


def _verified(reader: RecordReader, *, is_quiet: bool) -> CheckResult:
    try:
        return repeat(reader, is_quiet=is_quiet).checks[-1]
    except CodeChangedError as error:
        return CheckResult(CHECK, "failed", "inconclusive", str(error))


def _lines_of_diff(found: Diff, options: argparse.Namespace) -> Iterator[str]:
    if found.is_same:
        yield f"the same run: digest {found.digests[0]}"
        return
    yield f"A is {options.first}, digest {found.digests[0]}"
    yield f"B is {options.second}, digest {found.digests[1]}"
    for name, pair in found.settings.items():
        yield f"{name}: A {pair[0]}, B {pair[1]}"
    if found.event is not None:
        yield f"first event that differs: {found.event.index}"
        yield f"{INDENT}A {found.event.first}"
        yield f"{INDENT}B {found.event.second}"
    else:
        yield "all events are the same"
    if found.height is not None:
        yield f"first height that differs: {found.height}"
        yield from (f"{INDENT}{name}: A {pair[0]}, B {pair[1]}" for name, pair in found.block.items())
        yield f"{INDENT}values that differ there: {found.keys_differing:,}"
    else:
        yield "all blocks and roots are the same"
    for key in found.keys:
        yield f"{2 * INDENT}{key.name}: A {key.first}, B {key.second}"
    if found.keys_differing > len(found.keys):
        yield f"{2 * INDENT}... {found.keys_differing - len(found.keys):,} more"
    yield from (f"{note}" for note in found.notes)
    if found.figures:
        yield "figures that differ:"
        yield from (f"{INDENT}{name}: A {pair[0]}, B {pair[1]}" for name, pair in found.figures.items())
