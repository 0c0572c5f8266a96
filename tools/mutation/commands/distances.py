"""The command `distances`: from the moment at which a mutant's failure is decided to the moment it is noticed."""

import argparse
import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, zip_longest
from pathlib import Path
from typing import Final

import msgspec
from rich.table import Table

from checker.families import FAMILY_OF
from checker.record.places import scratch_directory, write_whole
from checker.record.plugins import code_with
from checker.record.root import PROJECT_ROOT
from cluster.campaign.tasks import Task, TaskRunner
from cluster.campaign.workers import Workers
from cluster.cli.options import RUNS, Parser, add_jobs, describe_command, parse_runs, print_json, print_lines
from report.campaign import CampaignProgress
from report.console import print_tables
from tools.mutation import PLUGIN
from tools.mutation.catalogue import CATALOGUE
from tools.mutation.commands.mutants import parse_mutant
from tools.mutation.distances.measure import distance_task, measure_task, row_of
from tools.mutation.distances.rows import ROWS_FILE, Row, encode_rows, read_rows

PAGE_COMMAND: Final = "python -m tools.mutation.distances.page > docs/mutant-distances.md"

FROZEN_FILE: Final = PROJECT_ROOT / "tests" / "frozen" / "digests.json"
"""The check and the seed that kill each mutant."""


def fill_parser(parser: Parser) -> None:
    """Say what the command takes."""
    describe_command(
        parser,
        run_distances,
        example="distances --only tip-burned --check",
        description="Find by continuations when the failure of each mutant is decided, and how long before the run "
        "notices it.",
        notes=f"Rows go to {ROWS_FILE.relative_to(PROJECT_ROOT)}; {PAGE_COMMAND} makes the page.",
    )
    parser.add_argument(
        "--only",
        nargs="+",
        type=parse_mutant,
        default=[],
        metavar="NAME",
        help="mutants (default: those without a row)",
    )
    parser.add_argument(
        "--check", action="store_true", help="measure again and compare with the rows, in place of writing them"
    )
    add_jobs(parser)
    parser.add_argument("--runs", type=parse_runs, default=RUNS, help="where continuations are kept (default runs)")
    kept = "finished continuations are kept under --runs, and the same command goes on"
    parser.set_defaults(when_interrupted=kept)


def run_distances(options: argparse.Namespace) -> int:
    """Measure, keep each row at once, and print it; with `--check` return 1 if a row is another row now."""
    kills: dict[str, tuple[str, int]] = {
        name: (check, seed)
        for name in CATALOGUE
        for check, seed in [json.loads(FROZEN_FILE.read_text(encoding="utf-8"))[f"mutant-{name}"]]
    }
    before = read_rows()
    names = list(dict.fromkeys(options.only)) or [
        name for name in _by_turns(kills) if name not in before or before[name].seed != kills[name][1]
    ]
    with (
        Workers(options.jobs, measure_task) as workers,
        CampaignProgress(header=f"{'real s':>8}  mutant", is_quiet=options.json) as progress,
    ):
        if options.check:
            with scratch_directory("distances") as scratch:
                found = dict(_measured(workers, _tasks(names, kills, scratch), progress))
        else:
            directory = options.runs / f"distances-{code_with([PLUGIN]).fingerprint[:6]}"
            found = {}
            for name, row in _measured(workers, _tasks(names, kills, directory), progress):
                found[name] = row
                # Read again each time: another process may measure other mutants.
                write_whole(ROWS_FILE, encode_rows((read_rows() | {name: row}).values()))
    rows = [found[name] for name in names if name in found]
    differing = [name for name in names if found.get(name) != before.get(name)]
    if options.json:
        print_json(rows)
    else:
        print_tables([_table(rows)])
        if options.check:
            print_lines([f"{name}: expected {before.get(name)}, found {found.get(name)}" for name in differing])
        print_lines([f"rows {ROWS_FILE}"])
    return int(len(rows) < len(names) or (options.check and bool(differing)))


def _by_turns(kills: Mapping[str, tuple[str, int]]) -> Iterator[str]:
    """Yield all mutants, one of each family in turn: a campaign that is cut short has some of each."""
    by_family: dict[str, list[str]] = {}
    for name, (check, _) in kills.items():
        by_family.setdefault(FAMILY_OF.get(check, check), []).append(name)
    return (name for name in chain.from_iterable(zip_longest(*by_family.values())) if name is not None)


def _tasks(names: Iterable[str], kills: Mapping[str, tuple[str, int]], directory: Path) -> Iterator[Task]:
    return (distance_task(CATALOGUE[name], kills[name][1], directory) for name in names)


def _measured(workers: TaskRunner, tasks: Iterator[Task], progress: CampaignProgress) -> Iterator[tuple[str, Row]]:
    """Yield the row of each mutant; a mutant whose measurement broke is told and has none."""
    for task, result in workers.results(tasks):
        try:
            row = row_of(result)
        except msgspec.MsgspecError:
            progress.say(f"{progress.seconds:8.1f}  {task.label}: not measured: {result.headline}")
            continue
        progress.say(f"{progress.seconds:8.1f}  {row.name}: {'; '.join(filter(None, cells_of(row)[1:]))}")
        yield row.name, row


def cells_of(row: Row) -> tuple[str, ...]:
    """Return a row in words: the mutant, the check, the moments of the decision, of the height and of the end."""
    if row.unmeasured:
        return (row.name, f"not measured: {row.unmeasured}", "", "", "")
    decided = "unavoidable" if row.is_unavoidable else f"decided at {_seconds(row.baked_us)}"
    shown = "no height" if row.shown_us is None else f"height executed at {_seconds(row.shown_us)}"
    end = "stopped" if row.is_stopped else "at its end"
    return (row.name, row.check, decided, shown, f"{end} at {_seconds(row.end_us)}")


def _seconds(at_us: int) -> str:
    return f"{at_us / 1_000_000:,.3f} s"


def _table(rows: list[Row]) -> Table:
    table = Table(title="distances", title_justify="left")
    for header in ("mutant", "noticed by", "decided", "shown", "ended"):
        table.add_column(header, overflow="fold")
    for row in rows:
        table.add_row(*cells_of(row))
    return table
