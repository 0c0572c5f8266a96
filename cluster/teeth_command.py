"""The command ``teeth``: the standard campaign against each planted variant, and the matrix of what was caught."""

import argparse
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from checker.planted import CATALOGUE
from cluster.results import SeedResult
from cluster.scenario import load_scenario
from cluster.shrink_command import write_scenario_file
from cluster.sweep import Workers
from cluster.sweep_command import parse_jobs, parse_seeds
from cluster.teeth import (
    CAUGHT_PERCENT_MIN,
    Campaign,
    Hunt,
    campaign_settings,
    caught_percent,
    code_identity,
    shrink_hunt,
    size_of,
)
from report.console import print_tables
from report.teeth import TeethProgress, TeethRow, teeth_page, teeth_table, teeth_totals

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
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="where results go (default runs)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the matrix as a page, such as docs/teeth.md")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    parser.set_defaults(command=run_teeth)


def _variant(name: str) -> str:
    if name not in CATALOGUE:
        raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(CATALOGUE)}")
    return name


def run_teeth(options: argparse.Namespace) -> int:
    """Hunt, print the matrix, and return 0 if enough of the catalogue was caught, else 1."""
    identity = code_identity()
    directory = options.runs / f"teeth-{identity[:6]}"
    variants = [CATALOGUE[name] for name in dict.fromkeys(options.only)]
    with (
        Campaign(variants, options.seeds, directory, identity) as campaign,
        Workers(options.jobs) as workers,
        TeethProgress(is_quiet=options.json) as progress,
    ):
        campaign.run(workers, lambda hunt, result: progress.show(_line(hunt, result)))
        if options.shrink:
            for hunt in campaign.hunts.values():
                _shrink(hunt, workers, options.jobs, directory, progress)
    rows = [_row(hunt) for hunt in campaign.hunts.values()]
    if options.out:
        options.out.write_text(teeth_page(rows, len(options.seeds)), encoding="utf-8")
    if options.json:
        sys.stdout.write(msgspec.json.encode(_as_json(campaign.hunts, directory)).decode() + "\n")
    else:
        print_tables([teeth_table(rows)])
        sys.stdout.write("".join(f"{line}\n" for line in [*teeth_totals(rows), f"results {directory}"]))
    return int(caught_percent(campaign.hunts) < CAUGHT_PERCENT_MIN)


def _shrink(hunt: Hunt, workers: Workers, jobs: int, directory: Path, progress: TeethProgress) -> None:
    """Make what caught a variant smaller; a scenario file that is there already is not made again."""
    caught = hunt.caught
    if caught is None:
        return
    path = directory / f"{hunt.variant.name}.toml"
    if not path.exists():
        shrunk = shrink_hunt(hunt, workers, jobs)
        write_scenario_file(path, shrunk.scenario, caught.seed, caught.signature, shrunk.runs)
        progress.show(f"{hunt.variant.name}: shrunk in {shrunk.runs} runs to {path}")
    hunt.size = size_of(load_scenario(str(path)))


def _line(hunt: Hunt, result: SeedResult) -> str:
    failed = result.failed or result.verdict
    return f"{hunt.variant.name}: seed {result.seed}: {'caught' if result is hunt.caught else 'at large'}: {failed}"


def _row(hunt: Hunt) -> TeethRow:
    variant, caught = hunt.variant, hunt.caught
    return TeethRow(
        name=variant.name,
        what=variant.what,
        area=variant.area,
        cause=variant.cause or "",
        held_by="all" if variant.on_all else "one",
        is_caught=caught is not None,
        check=hunt.check,
        seeds=len(hunt.tried),
        seconds=hunt.seconds,
        size=hunt.size,
        is_small=hunt.is_small,
    )


def _as_json(hunts: Mapping[str, Hunt], directory: Path) -> dict[str, object]:
    variants = [
        {
            **_row(hunt)._asdict(),
            "size": None if hunt.size is None else hunt.size._asdict(),
            "seed": None if hunt.caught is None else hunt.caught.seed,
            "headline": "" if hunt.caught is None else hunt.caught.headline,
            "settings": [] if hunt.caught is None else campaign_settings(hunt.variant, hunt.caught.seed),
        }
        for hunt in hunts.values()
    ]
    return {"caught_percent": caught_percent(hunts), "variants": variants, "results": str(directory)}
