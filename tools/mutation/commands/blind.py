"""The command `blind`: the bugs that were written blind, one at a time, under runs and under tests."""

import argparse
from typing import Final

import msgspec
from rich.table import Table

from checker.record.places import write_whole
from cluster.cli.options import Parser, add_jobs, describe_command, print_json, print_lines
from faults.nearest import did_you_mean
from report.campaign import CampaignProgress
from report.console import print_tables
from tools.mutation.blind.catalogue import BUGS
from tools.mutation.blind.copies import commit_measured
from tools.mutation.blind.measure import PARTS, RUNS, measure
from tools.mutation.blind.rows import ROWS_FILE, SEEDS, Row, encode_rows, read_rows

PAGE_COMMAND: Final = "python -m tools.mutation.blind.page > docs/mutants.md"


def fill_parser(parser: Parser) -> None:
    """Say what the command takes."""
    describe_command(
        parser,
        run_blind,
        example="blind --only calendar-promotes-next-epoch --parts tests",
        description=f"Put one bug at a time into a copy of the tree: seeds {SEEDS} until a run fails, then tests.",
        notes=f"{PAGE_COMMAND} makes the page.",
    )
    parser.add_argument(
        "--only", nargs="+", type=_bug, default=[], metavar="NAME", help="bugs (default: those not measured yet)"
    )
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS), help="runs, tests (default: both)")
    add_jobs(parser)
    parser.set_defaults(when_interrupted=f"measured bugs are kept in {ROWS_FILE.name}, and the same command goes on")


def _bug(name: str) -> str:
    if name not in BUGS:
        raise argparse.ArgumentTypeError(f"{name!r}{did_you_mean(name, BUGS)} is none of {', '.join(BUGS)}")
    return name


def run_blind(options: argparse.Namespace) -> int:
    """Measure, keep each row at once, and print what saw each bug."""
    open_names = [row.name for row in read_rows().values() if _is_open(row, options.parts)]
    bugs = [BUGS[name] for name in dict.fromkeys(options.only or open_names)]
    with CampaignProgress(header=f"{'real s':>8}  bug", is_quiet=options.json) as progress:
        for name, fields in measure(bugs, options.parts, options.jobs, commit_measured()):
            # Read again each time: another process may measure another part.
            rows = read_rows()
            rows[name] = msgspec.structs.replace(rows[name], **fields)
            write_whole(ROWS_FILE, encode_rows(rows.values()))
            progress.say(f"{progress.seconds:8.1f}  {name}: {'; '.join(_told(rows[name]))}")
    measured = [row for name, row in read_rows().items() if BUGS[name] in bugs]
    if options.json:
        print_json(measured)
    else:
        print_tables([_table(measured)])
        print_lines([f"rows {ROWS_FILE}"])
    return 0


def _is_open(row: Row, parts: list[str]) -> bool:
    return any(not (row.runs_at if part == RUNS else row.tests_at) for part in parts)


def _told(row: Row) -> list[str]:
    """Return what saw a bug, in words."""
    runs = f"seed {row.seed}, {row.check}" if row.check else f"no run of {SEEDS}"
    if row.inconclusive is not None and not row.check:
        runs += f" (seed {row.inconclusive} is inconclusive)"
    return [runs if row.runs_at else "runs not made", (row.test or "no test") if row.tests_at else "tests not run"]


def _table(rows: list[Row]) -> Table:
    table = Table(title="blind bugs", title_justify="left")
    for header in ("bug", "runs", "tests"):
        table.add_column(header, overflow="fold")
    for row in rows:
        table.add_row(row.name, *_told(row))
    return table
