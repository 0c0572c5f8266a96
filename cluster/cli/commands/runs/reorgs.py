"""The command `reorgs`: forks of every depth without a network, whose state must be equal along every road."""

import argparse
from collections.abc import Iterable, Sequence
from itertools import permutations
from pathlib import Path
from typing import Final

import msgspec

from checker.record.cold_replay import ColdReplayWorker
from checker.results import EXIT_CODES
from cluster.cli.options import Parser, add_settings, describe_command, parse_seed, print_json, print_lines
from cluster.outside.frames import FRAMINGS
from cluster.outside.process import launch_of
from cluster.reorgs import ROADS, DepthResult, measure_depths, plan_reorgs
from cluster.reorgs.application import plan_application_reorgs
from cluster.reorgs.application_roads import APPLICATION_ROADS, lacking, measure_application
from cluster.reorgs.roads import ReplayProcess
from cluster.reorgs.table import ARROW
from cluster.scenario.messages import ScenarioError
from report.reorgs import ReorgRow, ReorgTable
from scheduler import POLICIES, Refusal

SCENARIO: Final = "mixed-clients"
DEPTHS: Final = "1,2,3,8,33"
DEPTH_MAX: Final = 512
PIVOT: Final = 10
PIVOT_MAX: Final = 100_000

ALL: Final = "all"
PAIRS: Final = "pairs"

HASH_SEED: Final = 20_011
"""PYTHONHASHSEED of the process that replays; it differs from every process of a run."""


def fill_parser(parser: Parser) -> None:
    """Say what the command takes."""
    describe_command(
        parser,
        run_reorgs,
        description="Build a fork of a scenario's chain for each depth and policy, lead it along every road (dropped, "
        "rewound, written and executed again, from a snapshot, from genesis in another process, by the oracle), and "
        "compare roots, values, heights and indexes with a replica that never saw the fork. An outside application has "
        "roads of its own, and its roots are compared.",
        example="reorgs --depths 1..64 --policy all",
    )
    parser.add_argument("scenario", nargs="?", help=f"its chain and clients (default {SCENARIO})")
    parser.add_argument(
        "--application",
        metavar="COMMAND",
        help="an outside application in the place of a scenario; split like a shell's",
    )
    parser.add_argument("--framing", choices=tuple(FRAMINGS), help="the form of its frames (default json)")
    parser.add_argument(
        "--depths", type=parse_depths, default=parse_depths(DEPTHS), metavar="A..B,C", help=f"default {DEPTHS}"
    )
    parser.add_argument(
        "--policy",
        type=parse_policies,
        metavar="A,B>C",
        help=f"policies; B{ARROW}C activates C within the fork; {ALL!r} (default); {PAIRS!r} for all that may follow",
    )
    parser.add_argument(
        "--pivot", type=_pivot, default=PIVOT, help=f"height of the last common block (default {PIVOT})"
    )
    parser.add_argument(
        "--seed", type=parse_seed, default=0, help="of what the abandoned branch leaves out (default 0)"
    )
    add_settings(parser)


def run_reorgs(options: argparse.Namespace) -> int:
    """Build every fork, print the table; return 0 if all states are equal, 1 if any differs, 3 if any shows nothing."""
    _refuse_together(options)
    return _lead_scenario(options) if options.application is None else _lead_application(options)


def _lead_scenario(options: argparse.Namespace) -> int:
    scenario = options.scenario or SCENARIO
    plan = plan_reorgs(
        *(scenario, options.policy or parse_policies(ALL), options.depths),
        pivot=options.pivot,
        seed=options.seed,
        settings=options.settings,
    )
    table = ReorgTable(tuple(ROADS), list(plan.scenarios), is_quiet=options.json)
    with ColdReplayWorker(HASH_SEED) as worker:
        results = _show(measure_depths(plan, ReplayProcess(worker.run, HASH_SEED)), table)
    if options.json:
        print_json({"scenario": scenario, "forks": [msgspec.to_builtins(result) for result in results]})
    return _exit_code(results)


def _lead_application(options: argparse.Namespace) -> int:
    launch = launch_of(options.application, Path.cwd(), FRAMINGS[options.framing or "json"])
    plan = plan_application_reorgs(launch, options.depths, pivot=options.pivot, seed=options.seed)
    name, features = plan.greeting.name, plan.greeting.features
    not_asked = {road: feature for road in APPLICATION_ROADS if (feature := lacking(plan, road))}
    if not options.json:
        empty = [] if "transactions" in features else ["all blocks are empty: the application lacks transactions"]
        print_lines([*(f"{road} is not asked: the application lacks {it}" for road, it in not_asked.items()), *empty])
    roads = [road for road in APPLICATION_ROADS if road not in not_asked]
    table = ReorgTable(roads, [name], subject="application", is_quiet=options.json)
    results = _show(measure_application(plan), table, name)
    if options.json:
        forks = [msgspec.to_builtins(result) for result in results]
        for fork in forks:
            # No policy of ours holds in an application.
            del fork["policy"]
        print_json({"application": options.application, "name": name, "features": features, "forks": forks})
    return _exit_code(results)


def _refuse_together(options: argparse.Namespace) -> None:
    if options.application is None:
        if options.framing is not None:
            raise ScenarioError("--framing", "has no meaning without --application")
        return
    for given, name in ((options.scenario, "SCENARIO"), (options.policy, "--policy"), (options.settings, "--set")):
        if given:
            raise ScenarioError(name, "speaks of this project's own chain, and does not go with --application")


def _show(results: Iterable[DepthResult], table: ReorgTable, subject: str = "") -> list[DepthResult]:
    """Print a row as each fork is done, and the rest at the end; return all results."""
    done: list[DepthResult] = []
    for result in results:
        done.append(result)
        table.add(_row(result, subject or result.policy))
    table.close()
    return done


def _exit_code(results: Sequence[DepthResult]) -> int:
    found = {result.status for result in results}
    return EXIT_CODES["safety" if "differs" in found else "inconclusive" if "inconclusive" in found else "passed"]


def parse_depths(text: str) -> tuple[int, ...]:
    """Return the depths that `A..B` or `A`, separated by commas, name, ascending and each once."""
    depths: dict[int, None] = {}
    for part in text.split(","):
        first, separator, last = part.partition("..")
        ends = (first, last if separator else first)
        if not all(end.isascii() and end.isdigit() and len(end) <= len(str(DEPTH_MAX)) for end in ends):
            raise argparse.ArgumentTypeError(_refusal(text))
        low, high = map(int, ends)
        if not 1 <= low <= high <= DEPTH_MAX:
            raise argparse.ArgumentTypeError(_refusal(text))
        depths |= dict.fromkeys(range(low, high + 1))
    return tuple(sorted(depths))


def parse_policies(text: str) -> tuple[str, ...]:
    """Return the policies, and pairs of them, that a list separated by commas names."""
    named: list[str] = []
    for part in text.split(","):
        named += POLICIES if part == ALL else _pairs() if part == PAIRS else [part]
    return tuple(dict.fromkeys(named))


def _pairs() -> Sequence[str]:
    """Return every pair of policies whose second policy may follow the first."""
    pairs = permutations(POLICIES, 2)
    return [
        f"{first}{ARROW}{second}"
        for first, second in pairs
        if not isinstance(POLICIES[second]().carry(POLICIES[first]()), Refusal)
    ]


def _refusal(text: str) -> str:
    return f"{text!r} is not A..B or A, separated by commas, with whole numbers from 1 to {DEPTH_MAX}"


def _pivot(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10 and 1 <= int(text) <= PIVOT_MAX):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to {PIVOT_MAX:,}")
    return int(text)


def _row(result: DepthResult, subject: str) -> ReorgRow:
    asked = [finding for finding in result.findings if finding.status != "not asked"]
    cells = {finding.road: finding.status for finding in asked}
    reasons = [f"{finding.road}: {finding.reason}" for finding in asked if finding.reason]
    return ReorgRow(subject, result.depth, cells, [*([result.reason] if result.reason else []), *reasons])
