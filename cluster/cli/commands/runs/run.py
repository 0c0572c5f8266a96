"""The command `run`: a scenario or a drawn one, once, judged and recorded."""

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path

from checker.checks.reports import describe_evidence
from checker.families import by_family, without_answer
from checker.record.fingerprint import this_code
from checker.record.manifest import REPORT
from checker.record.program import program_name
from checker.results import CheckResult
from cluster.authoring.fault_levels import with_faults
from cluster.cli.options import (
    EXIT_USAGE,
    PARTS,
    RUNS,
    Parser,
    add_application,
    add_checks,
    add_faults,
    add_quiet,
    add_settings,
    command_line,
    describe_command,
    parse_runs,
    parse_seed,
    print_json,
    print_lines,
    print_notes,
    run_command,
)
from cluster.live.progress import LiveProgress
from cluster.runtime.data_directory import DataDirectory, open_data_directory
from cluster.scenario.cost import cost_warnings, estimate_cost
from cluster.scenario.load import load_scenario, refuse_application_of_swarm, refuse_unnamed_application
from cluster.scenario.model import Scenario
from cluster.verdict.pipeline import run_pipeline
from cluster.verdict.result import PipelineResult
from network.draw import SWARM
from report.verdict_rows import CheckRow


def fill_parser(parser: Parser) -> None:
    """Say what the command takes."""
    describe_command(parser, run, example="run lossy --seed 7")
    parser.add_argument(
        "scenario",
        metavar="SCENARIO",
        help="a scenario's name, a .toml file, or swarm: one drawn from the seed",
    )
    parser.add_argument("--seed", type=parse_seed, default=0, help="which run of the scenario (default 0)")
    add_settings(parser)
    add_application(parser)
    add_faults(parser)
    add_quiet(parser)
    add_checks(parser)
    parser.add_argument("--check-determinism", action="store_true", help="run twice, in two processes, and compare")
    parser.add_argument("--runs", type=parse_runs, default=RUNS, help="where run directories go (default runs)")
    parser.add_argument("--data-dir", type=Path, metavar="DIR", help="real disks in DIR, new or to go on with")


def run(options: argparse.Namespace) -> int:
    """Run, print the verdict, and return its exit code."""
    if options.scenario == SWARM:
        from cluster.swarm.generator import banner, draw_scenario  # noqa: PLC0415 - no other scenario needs it

        refuse_application_of_swarm(options.application)
        scenario = with_faults(draw_scenario(options.seed, options.settings), options.faults, options.seed)
        if not (options.json or options.quiet):
            print_lines([str(this_code()), *banner(scenario)])
    else:
        scenario = load_scenario(options.scenario, options.settings, options.application)
        refuse_unnamed_application(scenario)
        scenario = with_faults(scenario, options.faults, options.seed)
    for warning in () if options.json else cost_warnings(scenario, estimate_cost(scenario)):
        print_notes([f"{scenario.name}: {warning}"])
    if options.data_dir is None:
        return _run_on(None, scenario, options)
    if options.check_determinism:
        reason = "--check-determinism and --data-dir exclude each other: real disks outlive a run"
        print_notes([f"{program_name()}: {reason}"])
        return EXIT_USAGE
    data = open_data_directory(options.data_dir, scenario, options.seed)
    try:
        return _run_on(data, scenario, options)
    finally:
        data.close()


def _run_on(data: DataDirectory | None, scenario: Scenario, options: argparse.Namespace) -> int:
    with LiveProgress(title=f"{scenario.name} seed {options.seed}", is_quiet=options.json or options.quiet) as progress:
        result = run_pipeline(
            scenario,
            options.seed,
            runs=options.runs,
            progress=progress,
            extra=_repeating() if options.check_determinism else None,
            command=_repeat_command(options),
            data=data,
        )
    print_result(result, _repeat_command(options), progress, options)
    from cluster.page.index import write_index  # noqa: PLC0415 - the run need not wait for it

    write_index(options.runs)
    return result.exit_code


def _repeating() -> Callable[[PipelineResult], CheckResult]:
    from cluster.verdict.determinism import compare_with_repeat  # noqa: PLC0415 - few runs are repeated

    return compare_with_repeat


def _repeat_command(options: argparse.Namespace) -> str:
    return run_command(
        options.scenario,
        options.seed,
        settings=options.settings,
        application=options.application,
        faults=options.faults,
        runs=options.runs,
        data_dir=options.data_dir,
        is_repeated=options.check_determinism,
    )


def _rows_of(result: PipelineResult, shown: str) -> tuple[list[CheckRow], Mapping[str, str]]:
    """Return the rows of the families, or of all their parts, and why others have none."""
    if shown == PARTS:
        return [CheckRow(check.name, check.status, check.summary) for check in result.checks], result.not_asked
    families = by_family(result.checks)
    rows = [CheckRow(family.name, family.status, family.summary) for family in families]
    return rows, without_answer(result.not_asked, families)


def print_result(result: PipelineResult, command: str, progress: LiveProgress, options: argparse.Namespace) -> None:
    """Print a verdict with everything that it rests on; where it is quiet, its sentence and what repeats it."""
    if options.json:
        print_json(result.as_json(command))
        return
    lines = [f"{result.verdict}: {result.headline}"]
    if not options.quiet:
        # `--json`, `--quiet` and the library draw nothing, and loading rich takes as long as a short run.
        from report.console import check_table, print_tables, validator_table  # noqa: PLC0415
        from report.layout import output_console  # noqa: PLC0415

        validators = validator_table(result.validators, output_console().width)
        print_tables([validators, check_table(*_rows_of(result, options.checks))])
        lines = [*describe_evidence(result.evidence), *lines]
        lines += [f"application {result.application}"] if result.application else []
        lines += [f"digest {result.digest.hex()}", *result.made_by, progress.times]
        if result.directory:
            page = result.directory / REPORT
            lines += [*[f"page {page}"] * page.exists(), f"run directory {result.directory}"]
    lines += [f"repeat with: {command}"] if result.exit_code else []
    if result.decisive is not None and result.directory:
        lines.append(f"explain with: {command_line(['explain', str(result.directory)])}")
    print_lines(lines)
