"""The command `differential`: execution and oracle on drawn chains and states, seed by seed, or on a file's case."""

import argparse
from pathlib import Path
from typing import Final

from checker.oracle.policies import POLICY_ORACLES
from checker.record.fingerprint import this_code
from checker.results import EXIT_CODES
from cluster.campaign.results_db import ResultsFile, SeedResult
from cluster.campaign.sweep import SweepTally, sweep
from cluster.campaign.tasks import Task, signature_of
from cluster.campaign.workers import Workers
from cluster.cli.options import (
    RUNS,
    Parser,
    add_jobs,
    add_quiet,
    command_line,
    describe_command,
    parse_runs,
    parse_seeds,
    print_json,
    print_lines,
    print_notes,
)
from cluster.cli.sweep_result import verdict_line
from cluster.differential.case_files import read_case
from cluster.differential.tasks import SHRINK, judge_case, run_differential
from cluster.page.campaign import sweep_rows
from cluster.page.index import write_campaign
from network.words import counted
from report.campaign import SweepProgress, group_table, seeds_per_hour
from report.console import print_tables
from report.page.campaign_rows import CampaignRows

SUBJECT: Final = "differential 1"
"""Begins the subject of a results file; another number says that seeds have other draws."""


def fill_parser(parser: Parser) -> None:
    """Say what the command takes."""
    describe_command(
        parser,
        run_command,
        example="differential --seeds 0..199 --policy aptos",
        notes="A seed that fails leaves a case file in RUNS, which --case repeats.",
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--seeds", type=parse_seeds, default=range(20), metavar="A..B", help="both ends included")
    what.add_argument("--case", type=Path, metavar="FILE", help="judge the case of a file that this command wrote")
    parser.add_argument(
        "--policy",
        choices=tuple(POLICY_ORACLES),
        metavar="POLICY",
        help=f"of all seeds (default: each draws its own): {', '.join(POLICY_ORACLES)}",
    )
    add_jobs(parser)
    add_quiet(parser)
    parser.add_argument("--runs", type=parse_runs, default=RUNS, help="where cases and results go (default runs)")
    parser.add_argument(
        "--results", type=Path, metavar="FILE", help="the results file (default RUNS/differential-POLICY.sqlite)"
    )
    parser.add_argument("--fresh", action="store_true", help="judge seeds again that were there")


def run_command(options: argparse.Namespace) -> int:
    """Judge a case or seeds, print the result, and return the exit code."""
    return _run_case(options) if options.case is not None else _run_seeds(options)


def _run_case(options: argparse.Namespace) -> int:
    file = read_case(options.case)
    result = judge_case(file.case)
    verdict = "safety" if result.status == "failed" else "passed"
    if options.json:
        print_json(
            {
                "case": str(options.case),
                "verdict": verdict,
                "exit_code": EXIT_CODES[verdict],
                "signature": signature_of([result]),
                "headline": result.summary,
                "shows": file.shows,
            }
        )
    else:
        print_lines([f"{verdict}: {result.summary}", *([f"the file shows {file.shows}"] if file.shows else [])])
    return EXIT_CODES[verdict]


def _run_seeds(options: argparse.Namespace) -> int:
    policy = options.policy or ""
    path = options.results or options.runs / f"differential-{policy or 'all'}.sqlite"
    workers = Workers(options.jobs, run_differential)
    is_quiet = options.json or options.quiet
    with ResultsFile(path, f"{SUBJECT} {policy or 'all'}") as results:
        try:
            with SweepProgress(title="differential", is_quiet=is_quiet) as progress:
                tally = sweep(
                    lambda _seed: policy.encode(),
                    options.seeds,
                    results=results,
                    runs=options.runs,
                    jobs=options.jobs,
                    on_outdated=lambda tally: _say_outdated(tally, path),
                    on_result=lambda tally, result: progress.show(tally.counts, tally.quickest, result.verdict),
                    workers=workers,
                    is_fresh=options.fresh,
                )
            _shrink(tally, options, policy)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(_interrupt_line(results, options)) from None
        _print(tally, options, path, progress.seconds)
        judged = [result for result in results.results() if result.seed in options.seeds]
        page = _write_page(tally, options, path, judged)
        print_lines([] if is_quiet else page)
    return tally.exit_code


def _say_outdated(tally: SweepTally, path: Path) -> None:
    print_notes([f"{path}: judged by other code, and judged again: {counted(sum(tally.outdated.values()), 'seeds')}"])


def _shrink(tally: SweepTally, options: argparse.Namespace, policy: str) -> None:
    """Make the case of each signature's first seed smaller; a case that is small already stays."""
    firsts = [min(group, key=lambda result: result.seed) for group in tally.groups.values()]
    tasks = [Task(policy.encode(), first.seed, str(options.runs), label=SHRINK) for first in firsts if first.directory]
    if tasks:
        print_notes([] if options.json or options.quiet else [f"shrinking {counted(len(tasks), 'cases')}"])
        with Workers(options.jobs, run_differential) as workers:
            broken = [result.headline for _, result in workers.results(tasks) if result.exit_code]
        print_notes(broken)


def _interrupt_line(results: ResultsFile, options: argparse.Namespace) -> str:
    fingerprint = this_code().fingerprint
    kept = sum(each.seed in options.seeds and each.fingerprint == fingerprint for each in results.results())
    again = "the same command without --fresh" if options.fresh else "the same command"
    return f"{kept:,} of {len(options.seeds):,} seeds are in {results.path}; {again} goes on with the others"


def _commands_of(options: argparse.Namespace, result: SeedResult) -> list[str]:
    """Return the commands that repeat a seed's case, and the seed."""
    chosen = ["--policy", options.policy] if options.policy else []
    seed = command_line(["differential", "--seeds", str(result.seed), "--fresh", *chosen])
    return [*([command_line(["differential", "--case", result.directory])] if result.directory else []), seed]


def _print(tally: SweepTally, options: argparse.Namespace, path: Path, seconds: float) -> None:
    examples = {signature: min(group, key=lambda each: each.seed) for signature, group in tally.groups.items()}
    if options.json:
        print_json(_as_json(tally, options, path, seconds))
        return
    print_tables([group_table(tally.quickest)] if tally.quickest and not options.quiet else [])
    lines = [verdict_line(tally)]
    if not options.quiet:
        fresh = tally.done - tally.resumed
        figures = ", ".join(f"{count:,} {name}" for name, count in sorted(tally.figures.items()))
        lines.append(f"compared with the oracle: {figures}")
        lines.append(
            f"{counted(fresh, 'seeds')} in {seconds:.1f} s, {seeds_per_hour(fresh, seconds):,} seeds/h; "
            f"{tally.resumed:,} were there"
        )
        lines += [str(this_code()), f"results {path}"]
    lines += [f"repeat seed {each.seed}: {_commands_of(options, each)[0]}" for each in examples.values()]
    print_lines(lines)


def _as_json(tally: SweepTally, options: argparse.Namespace, path: Path, seconds: float) -> dict[str, object]:
    return {
        "policy": options.policy,
        "verdict": tally.verdict,
        "exit_code": tally.exit_code,
        "seeds": tally.done,
        "resumed": tally.resumed,
        "verdicts": tally.verdicts,
        "compared": dict(sorted(tally.figures.items())),
        "seeds_per_hour": seeds_per_hour(tally.done - tally.resumed, seconds),
        "groups": {
            signature: [{"seed": each.seed, "headline": each.headline, "case": each.directory} for each in group]
            for signature, group in tally.groups.items()
        },
        "code": this_code()._asdict(),
        "results": str(path),
    }


def _write_page(tally: SweepTally, options: argparse.Namespace, path: Path, results: list[SeedResult]) -> list[str]:
    def rows() -> CampaignRows:
        return sweep_rows(
            tally,
            results,
            title=f"differential campaign{f' of {options.policy}' if options.policy else ''}",
            runs=options.runs,
            facts=(("made by", str(this_code())), ("results", str(path))),
            commands_of=lambda result: _commands_of(options, result),
        )

    return write_campaign(options.runs, path.stem, rows)
