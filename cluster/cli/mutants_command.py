"""The command ``teeth``: the standard campaign against each planted variant, and the matrix of what was caught."""

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from checker.mutants import CATALOGUE
from checker.record.fingerprint import this_code
from checker.record.host import naming
from cluster.campaign.mutant_explanations import EXPLAINED, explain_task
from cluster.campaign.mutants import (
    CAUGHT_PERCENT_MIN,
    Campaign,
    Hunt,
    campaign_settings,
    caught_percent,
    caught_tasks,
    shrink_task,
    size_of,
)
from cluster.campaign.results_db import SeedResult
from cluster.campaign.sweep import Task, Workers
from cluster.cli.command_lines import RUNS, parse_runs
from cluster.cli.sweep_command import parse_jobs, parse_seeds
from cluster.scenario.load import load_scenario
from faults.nearest import did_you_mean
from report.console import print_tables
from report.layout import output_console
from report.mutants import TeethProgress, TeethRow, teeth_page, teeth_table, teeth_totals

_Parser = TypeVar("_Parser", bound=argparse.ArgumentParser)

DEFAULT_SEEDS: Final = range(50)


def add_teeth_parser(commands: "argparse._SubParsersAction[_Parser]") -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "teeth",
        help="plant known bugs one by one and say which check catches each, after how many seeds",
        epilog="example: run_cluster.py teeth --only tip-burned order-of-a-set --seeds 0..9",
    )
    parser.add_argument(
        "--only", nargs="+", type=_variant, default=list(CATALOGUE), metavar="NAME", help="variants (default: all)"
    )
    parser.add_argument("--seeds", type=parse_seeds, default=DEFAULT_SEEDS, metavar="A..B", help="both ends included")
    parser.add_argument(
        "--jobs",
        type=parse_jobs,
        default=os.cpu_count() or 1,
        metavar="N",
        help="worker processes (default: one a core)",
    )
    parser.add_argument("--shrink", action="store_true", help="make each scenario that caught a variant smaller")
    parser.add_argument(
        "--explain", action="store_true", help="explain what caught each variant and hold that against the catalogue"
    )
    parser.add_argument("--runs", type=parse_runs, default=RUNS, help="where results go (default runs)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the matrix as a page, such as docs/teeth.md")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    kept = "what was judged is kept under --runs, and the same command goes on with the others"
    parser.set_defaults(command=run_teeth, when_interrupted=kept)


def _variant(name: str) -> str:
    if name not in CATALOGUE:
        raise argparse.ArgumentTypeError(f"{name!r}{did_you_mean(name, CATALOGUE)} is none of {', '.join(CATALOGUE)}")
    return name


def run_teeth(options: argparse.Namespace) -> int:
    """Hunt, print the matrix, and return 0 if enough of the catalogue was caught, else 1."""
    fingerprint = this_code().fingerprint
    directory = options.runs / f"teeth-{fingerprint[:6]}"
    variants = [CATALOGUE[name] for name in dict.fromkeys(options.only)]
    with (
        Campaign(variants, options.seeds, directory, fingerprint) as campaign,
        Workers(options.jobs) as workers,
        TeethProgress(options.only, is_quiet=options.json) as progress,
    ):
        told: dict[str, None] = {}
        for hunt in campaign.hunts.values():
            _tell_finished(hunt, len(options.seeds), progress, told)
        for hunt, result in campaign.run(workers):
            progress.show(_line(hunt, result))
            _tell_finished(hunt, len(options.seeds), progress, told)
        caught = caught_tasks(campaign.hunts.values(), directory)
        if options.shrink:
            _shrink(caught, options.jobs, progress)
        if options.explain:
            _explain(caught, options.jobs, progress)
    rows = [_row(hunt) for hunt in campaign.hunts.values()]
    if options.out:
        with naming(options.out):
            before = options.out.read_text(encoding="utf-8") if options.out.exists() else ""
            options.out.write_text(teeth_page(rows, len(options.seeds), before), encoding="utf-8")
    if options.json:
        sys.stdout.write(msgspec.json.encode(_as_json(campaign.hunts, directory)).decode() + "\n")
    else:
        print_tables([teeth_table(rows, output_console().width)])
        sys.stdout.write(
            "".join(f"{line}\n" for line in [*teeth_totals(rows), str(this_code()), f"results {directory}"])
        )
    return int(caught_percent(campaign.hunts) < CAUGHT_PERCENT_MIN)


def _shrink(caught: Sequence[tuple[Task, Hunt]], jobs: int, progress: TeethProgress) -> None:
    """Make what caught each variant smaller; a scenario file that is there already is not made again."""
    hunts = {task.scenario: hunt for task, hunt in caught}
    with Workers(jobs, shrink_task) as workers:
        for task, result in workers.judge(task for task, _ in caught if not Path(task.runs).exists()):
            hunt = hunts[task.scenario]
            progress.say(hunt.mutant.name, len(hunt.tried), result.headline)
    for task, hunt in caught:
        if Path(task.runs).exists():
            hunt.size = size_of(load_scenario(task.runs))


def _explain(caught: Sequence[tuple[Task, Hunt]], jobs: int, progress: TeethProgress) -> None:
    """Explain the run that caught each variant that changes the state."""
    hunts = {task.scenario: hunt for task, hunt in caught if hunt.mutant.cause is not None}
    with Workers(jobs, explain_task) as workers:
        for task, result in workers.judge(task for task, _ in caught if task.scenario in hunts):
            hunt = hunts[task.scenario]
            hunt.explained = "" if result.verdict == EXPLAINED else result.headline
            progress.say(hunt.mutant.name, len(hunt.tried), hunt.explained or "explained")


def _tell_finished(hunt: Hunt, seeds: int, progress: TeethProgress, told: dict[str, None]) -> None:
    """Say once what came of a variant: that it was caught, or that no seed is left."""
    name = hunt.mutant.name
    if name not in told and (hunt.caught is not None or len(hunt.results) == seeds):
        told[name] = None
        found = f"caught by {hunt.check}" if hunt.caught is not None else f"at large; {hunt.check or 'nothing failed'}"
        progress.say(name, len(hunt.tried), found)


def _line(hunt: Hunt, result: SeedResult) -> str:
    failed = result.failed or result.verdict
    return f"{hunt.mutant.name}: seed {result.seed}: {'caught' if result is hunt.caught else 'at large'}: {failed}"


def _row(hunt: Hunt) -> TeethRow:
    mutant, caught = hunt.mutant, hunt.caught
    return TeethRow(
        name=mutant.name,
        what=mutant.description,
        area=mutant.area,
        cause=mutant.cause or "",
        held_by="all" if mutant.on_all else "one",
        is_caught=caught is not None,
        check=hunt.check,
        seeds=len(hunt.tried),
        seconds=hunt.seconds,
        size=hunt.size,
        is_small=hunt.is_small,
        explained=hunt.explained,
    )


def _as_json(hunts: Mapping[str, Hunt], directory: Path) -> dict[str, object]:
    variants = [
        {
            **_row(hunt)._asdict(),
            "size": None if hunt.size is None else hunt.size._asdict(),
            "seed": None if hunt.caught is None else hunt.caught.seed,
            "headline": "" if hunt.caught is None else hunt.caught.headline,
            "settings": [] if hunt.caught is None else campaign_settings(hunt.mutant, hunt.caught.seed),
        }
        for hunt in hunts.values()
    ]
    return {
        "code": this_code()._asdict(),
        "caught_percent": caught_percent(hunts),
        "variants": variants,
        "results": str(directory),
    }
