"""The command `sweep`: many seeds, a results file, failures by signature, coverage of the faults."""

import argparse
import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from checker.record.errors import on_one_line
from checker.record.fingerprint import show_fingerprint, this_code
from checker.record.places import refuse_other_file
from checker.record.plugins import code_with
from cluster.campaign.corpus.folder import Corpus, failed_plan
from cluster.campaign.corpus.rounds import CorpusPlans, is_varied
from cluster.campaign.coverage import (
    NO_PROMISES,
    Place,
    Promises,
    promise_of,
    rules_promised_by,
)
from cluster.campaign.dask_workers import DaskWorkers
from cluster.campaign.results_db import ResultsFile, SeedResult
from cluster.campaign.sweep import SweepTally, sweep
from cluster.campaign.workers import Workers
from cluster.ci.failing_plans import FOLDER, FailingPlan, plan_as_json, run_plans
from cluster.ci.reports import JUNIT, annotation_of, write_junit
from cluster.cli.options import (
    RUNS,
    Parser,
    add_application,
    add_faults,
    add_jobs,
    add_quiet,
    add_settings,
    command_line,
    describe_command,
    parse_address,
    parse_folder,
    parse_result_file,
    parse_runs,
    parse_seeds,
    print_json,
    print_lines,
    print_notes,
    read_shrunk_plan,
    run_command,
)
from cluster.cli.sweep_result import sweep_as_json, sweep_ending, verdict_line
from cluster.cli.sweep_subject import drawn_by, scenario_of, subject_of
from cluster.page.campaign import sweep_rows
from cluster.page.index import write_campaign
from cluster.swarm.engines.simplex import DRAWN_SIMPLEX
from cluster.swarm.generator import drawn_kinds
from faults import kind_of
from network.draw import SWARM
from network.words import counted
from report.campaign import SweepProgress
from report.ending import ending_lines
from report.layout import output_console
from report.page.campaign_rows import CampaignRows

CORPUS: Final = RUNS / "corpus"
"""The corpus of `--corpus` without a folder."""

COVERAGE_SEEDS: Final = 1_000
"""The number of seeds from which a sweep of the swarm has to reach every promised coverage point of faults."""

RULES_SEEDS: Final = 2_000
"""The number of seeds from which a sweep of the swarm has to reach every promised coverage point of rules."""


def fill_parser(parser: Parser) -> None:
    """Say what the command takes."""
    describe_command(
        parser,
        run_sweep,
        example="sweep lossy --seeds 0..999 --jobs 4",
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("scenario", metavar="SCENARIO", nargs="?", help="a scenario's name, or a path to a .toml file")
    what.add_argument("--swarm", action="store_true", help="draw a different scenario from each seed")
    parser.add_argument("--seeds", type=parse_seeds, default=range(20), metavar="A..B", help="both ends included")
    parser.add_argument(
        "--corpus",
        type=parse_runs,
        nargs="?",
        const=CORPUS,
        metavar="DIR",
        help="with --swarm: vary plans that reached something unseen in every other seed, and keep more of them in DIR "
        f"(default {CORPUS})",
    )
    add_jobs(parser)
    parser.add_argument(
        "--dask",
        type=parse_address,
        metavar="ADDRESS",
        help="judge on the workers of the Dask cluster whose scheduler is at ADDRESS",
    )
    add_settings(parser)
    add_application(parser)
    add_faults(parser)
    add_quiet(parser)
    _add_tools(parser)
    parser.add_argument("--runs", type=parse_runs, default=RUNS, help="where runs that do not pass go (default runs)")
    parser.add_argument(
        "--results", type=Path, metavar="FILE", help="the results file (default RUNS/sweep-SCENARIO-ID.sqlite)"
    )
    parser.add_argument(
        "--require-coverage",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="inconclusive unless the faults reach every promised phase and role, and the runs every promised "
        "coverage point of the rules "
        f"(default: for --swarm without --set, from {COVERAGE_SEEDS:,} and {RULES_SEEDS:,} seeds on)",
    )
    parser.add_argument(
        "--fresh",
        action="store_true",
        help="judge seeds again that were there (those that other code judged always are)",
    )


def _add_tools(parser: Parser) -> None:
    """Add the options for reports to other tools."""
    parser.add_argument(
        "--junit", type=parse_result_file, metavar="FILE", help="also write a JUnit file, a test case a seed"
    )
    parser.add_argument("--annotate", action="store_true", help="also print what failed as annotations for GitHub")
    parser.add_argument(
        "--failing",
        type=parse_folder,
        default=FOLDER,
        metavar="DIR",
        help=f"first run the plans in DIR, which failed once (default {FOLDER}, if it is there)",
    )


def run_sweep(options: argparse.Namespace) -> int:
    """Sweep, print what came of it, and return the exit code of the worst seed."""
    if options.junit is not None:
        refuse_other_file(options.junit, JUNIT)
    name, identity, encoded_of, plugins = subject_of(options)
    promised = _promises(options)
    again = _run_failing_plans(options)
    path = options.results or options.runs / f"sweep-{name}-{hashlib.sha256(identity.encode()).hexdigest()[:6]}.sqlite"
    workers = DaskWorkers(options.dask) if options.dask else Workers(options.jobs)
    with ResultsFile(path, identity) as results:
        try:
            with (
                _corpus(options) as plans,
                SweepProgress(title=f"sweep {name}", is_quiet=options.json or options.quiet) as progress,
            ):
                tally = sweep(
                    encoded_of if plans is None else plans.scenario_of,
                    options.seeds,
                    results=results,
                    runs=options.runs,
                    jobs=options.jobs,
                    on_outdated=lambda tally: _say_outdated(tally, path),
                    on_result=lambda tally, result: progress.show(tally.counts, tally.quickest, result.verdict),
                    promised=promised,
                    workers=workers,
                    is_fresh=options.fresh,
                    plugins=plugins,
                    corpus=plans,
                )
        except KeyboardInterrupt:
            print_notes([under_way_line(task.seed, options) for task in workers.under_way])
            raise KeyboardInterrupt(_describe_interrupt(results, options, plugins)) from None
        _print_result(tally, options, (name, path, progress.seconds), again)
        _write_files(tally, options, (name, path), results)
    return next((plan.result.exit_code for plan in again if plan.result.exit_code), tally.exit_code)


def _print_result(
    tally: SweepTally, options: argparse.Namespace, place: tuple[str, Path, float], again: Sequence[FailingPlan]
) -> None:
    """Print the verdict of a sweep of this name, results file and length in seconds, with what it rests on."""
    name, path, seconds = place
    if options.annotate:
        lines = [annotation_of(name, each, repeat_of(options, each)) for each in _examples(tally)]
        (print_notes if options.json else print_lines)(lines)
    if options.json:
        print_json(
            sweep_as_json(tally, name, path, seconds) | {"failing_plans": [plan_as_json(plan) for plan in again]}
        )
    elif options.quiet:
        print_lines([verdict_line(tally), *_repeat_lines(tally, options)])
    else:
        _print(tally, options, place)


def _write_files(tally: SweepTally, options: argparse.Namespace, place: tuple[str, Path], results: ResultsFile) -> None:
    """Write the page and the JUnit file of a sweep whose verdict is printed."""
    name, _ = place

    def judged() -> list[SeedResult]:
        return [result for result in results.results() if result.seed in options.seeds]

    page = _write_page(options, tally, judged, place)
    print_lines([] if options.json or options.quiet else page)
    if options.junit is not None:
        write_junit(options.junit, name, judged(), lambda result: repeat_of(options, result))


def _run_failing_plans(options: argparse.Namespace) -> list[FailingPlan]:
    """Run the plans that failed once before anything else, and say at once which of them fail again."""
    found = []
    for plan in run_plans(options.failing, runs=options.runs, jobs=options.jobs):
        found.append(plan)
        said = f"fails again: {plan.result.headline}" if plan.result.exit_code else "passes"
        # Also a quiet sweep says why its exit code is not that of its seeds.
        is_silent = options.json or (options.quiet and not plan.result.exit_code)
        print_notes([] if is_silent else [f"{plan.path} seed {plan.result.seed}: {said}"])
    return sorted(found)


def _write_page(
    options: argparse.Namespace, tally: SweepTally, results: Callable[[], list[SeedResult]], place: tuple[str, Path]
) -> list[str]:
    """Write the page of a sweep into the folder of runs, and return the line that says where."""
    name, path = place

    def commands_of(result: SeedResult) -> list[str]:
        return [repeat_of(options, result), *_commands_over(result)]

    def rows() -> CampaignRows:
        return sweep_rows(
            tally,
            sorted(results(), key=lambda each: each.seed),
            title=f"sweep of {name}",
            runs=options.runs,
            facts=(("made by", str(this_code())), ("results", str(path))),
            commands_of=commands_of,
            plan_of=lambda result: read_shrunk_plan(result.directory, options.runs),
        )

    return write_campaign(options.runs, path.stem, rows)


@contextmanager
def _corpus(options: argparse.Namespace) -> Iterator[CorpusPlans | None]:
    """Open the corpus, if any."""
    if options.corpus is None:
        yield None
        return
    with Corpus(options.corpus) as corpus:
        yield CorpusPlans(corpus, drawn_by(options), options.settings)


def _say_outdated(tally: SweepTally, path: Path) -> None:
    """Say before the first run why it takes as long as a new sweep; standard output is the verdict's."""
    count = sum(tally.outdated.values())
    codes = " and ".join(map(show_fingerprint, tally.outdated))
    print_notes([f"{path}: judged by {codes}, and judged again: {counted(count, 'seeds')}"])


def _describe_interrupt(results: ResultsFile, options: argparse.Namespace, plugins: tuple[str, ...]) -> str:
    """Say what an interrupted sweep has kept, and how to go on."""
    fingerprint = code_with(plugins).fingerprint
    kept = sum(each.seed in options.seeds and each.fingerprint == fingerprint for each in results.results())
    again = "the same command without --fresh" if options.fresh else "the same command"
    return f"{kept:,} of {len(options.seeds):,} seeds are in {results.path}; {again} goes on with the others"


def under_way_line(seed: int, options: argparse.Namespace) -> str:
    """Say how to run a seed that an interrupt has broken off: a run of its own can be interrupted and looked at."""
    if options.corpus is not None and is_varied(seed):
        return f"seed {seed} was under way: a varied plan, which only the sweep makes"
    return f"seed {seed} was under way; run it with: {command_of(options, seed)}"


def _promises(options: argparse.Namespace) -> Promises:
    """Return the coverage points that the sweep has to reach, by its options or the number of its seeds."""
    if options.require_coverage is None:
        is_whole = options.swarm and not options.settings and options.faults is None
        seeds = len(options.seeds) if is_whole else 0
        asks_faults, asks_rules = seeds >= COVERAGE_SEEDS, seeds >= RULES_SEEDS
    else:
        asks_faults = asks_rules = options.require_coverage
    if not asks_faults:
        return NO_PROMISES
    subject = SWARM if options.swarm else scenario_of(options).name
    return Promises(_promise_of_faults(options), rules_promised_by(subject) if asks_rules else ())


def _promise_of_faults(options: argparse.Namespace) -> tuple[Place, ...]:
    """Return the coverage points that the sweep promises for its kinds of faults."""
    if options.swarm:
        return promise_of(drawn_kinds(), DRAWN_SIMPLEX.name)
    scenario = scenario_of(options)
    kinds = [kind_of(fault) for fault in scenario.faults.values() if fault.enabled]
    return promise_of(kinds, scenario.consensus.engine)


def _print(tally: SweepTally, options: argparse.Namespace, place: tuple[str, Path, float]) -> None:
    name, path, seconds = place
    ending = sweep_ending(tally, name, seconds, [("made by", str(this_code())), ("results", str(path))])
    print_lines([*ending_lines(ending, output_console().width), *_repeat_lines(tally, options)])


def _repeat_lines(tally: SweepTally, options: argparse.Namespace) -> list[str]:
    lines = []
    for result in _examples(tally):
        lines.append(f"seed {result.seed}: {on_one_line(result.headline)}")
        lines.append(f"repeat seed {result.seed}: {repeat_of(options, result)}")
        lines += [f"go on with: {command}" for command in _commands_over(result)]
    return lines


def _commands_over(result: SeedResult) -> list[str]:
    return [command_line([name, result.directory]) for name in ("explain", "shrink") if result.directory]


def _examples(tally: SweepTally) -> list[SeedResult]:
    """Return the quickest seed of each signature."""
    return [min(group, key=lambda result: (result.milliseconds, result.seed)) for group in tally.groups.values()]


def repeat_of(options: argparse.Namespace, result: SeedResult) -> str:
    """Return the command that repeats a judged seed of the sweep."""
    return command_of(options, result.seed, is_repeated="determinism" in result.failed.split())


def command_of(options: argparse.Namespace, seed: int, *, is_repeated: bool = False) -> str:
    """Return the command that runs a seed of the sweep."""
    is_varied_plan = options.corpus is not None and is_varied(seed)
    subject = SWARM if options.swarm else options.scenario
    return run_command(
        str(failed_plan(options.corpus, seed)) if is_varied_plan else subject,
        seed,
        # A plan that was varied has them already.
        settings=() if is_varied_plan else options.settings,
        application=options.application,
        builds=options.builds,
        faults=None if is_varied_plan else options.faults,
        runs=options.runs,
        is_repeated=is_repeated,
    )
