"""The command `run`: a named or drawn scenario, run once, judged and recorded."""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

from checker.checks.expected_reports import describe_evidence
from checker.explain.differences import group_digits
from checker.families import FAMILY_OF, FamilyResult, by_family, without_answer
from checker.record.final_blocks import FinalBlock
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
    parse_reseed,
    parse_runs,
    parse_seed,
    print_json,
    print_lines,
    print_notes,
    run_command,
)
from cluster.inspect.witness import ExecutionWitness
from cluster.live.progress import LiveProgress
from cluster.runtime.data_directory import DataDirectory, open_data_directory
from cluster.scenario.cost import cost_warnings, estimate_cost
from cluster.scenario.load import load_scenario, with_reseeds
from cluster.scenario.model import Scenario
from cluster.scenario.sections.commands import refuse_application_of_swarm, refuse_unnamed_application
from cluster.verdict.pipeline import run_pipeline
from cluster.verdict.result import PipelineResult
from cluster.verdict.story import story_of
from network.draw import SWARM
from report.verdict_rows import CheckRow
from report.words import sentence_of


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
    parser.add_argument(
        "--reseed",
        dest="reseeds",
        type=parse_reseed,
        action="append",
        default=[],
        metavar="TURN:SEED",
        help="from this turn of the kernel on all chance has this seed: another continuation of the same run",
    )
    parser.add_argument("--data-dir", type=Path, metavar="DIR", help="real disks in DIR, new or to go on with")


def run(options: argparse.Namespace) -> int:
    """Run, print the verdict, and return its exit code."""
    if options.scenario == SWARM:
        from cluster.swarm.generator import banner, draw_scenario  # noqa: PLC0415 - no other scenario needs it

        refuse_application_of_swarm(options.application, options.builds)
        scenario = with_faults(draw_scenario(options.seed, options.settings), options.faults, options.seed)
        if not (options.json or options.quiet):
            print_lines([str(this_code()), *banner(scenario)])
    else:
        scenario = load_scenario(options.scenario, options.settings, options.application, options.builds)
        refuse_unnamed_application(scenario)
        scenario = with_faults(scenario, options.faults, options.seed)
    scenario = with_reseeds(scenario, options.reseeds)
    for warning in () if options.json else cost_warnings(scenario, estimate_cost(scenario)):
        print_notes([f"{scenario.name}: {warning}"])
    if options.data_dir is None:
        return _run_on(None, scenario, options)
    if options.check_determinism or scenario.run.reseed:
        option = "--check-determinism" if options.check_determinism else "--reseed"
        reason = f"{option} and --data-dir exclude each other: real disks outlive a run"
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
            explains=ExecutionWitness(),
        )
    print_result(result, _repeat_command(options), progress, options)
    turns = int(result.figures["turns"])
    for turn, seed in scenario.run.reseed:
        if turn > turns:
            print_notes([f"{scenario.name}: no draw has seed {seed}: turn {turn:,} is after the last, {turns:,}"])
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
        builds=options.builds,
        faults=options.faults,
        reseeds=options.reseeds,
        runs=options.runs,
        data_dir=options.data_dir,
        is_repeated=options.check_determinism,
    )


def print_result(result: PipelineResult, command: str, progress: LiveProgress, options: argparse.Namespace) -> None:
    """Print a verdict with everything that it rests on; where it is quiet, its sentence and what repeats it."""
    if options.json:
        print_json(result.as_json(command))
        return
    if options.quiet:
        print_lines([sentence_of(result.verdict, result.headline), *_follow_up(result, command)])
        return
    # `--json`, `--quiet` and the library draw nothing, and loading rich takes as long as a short run.
    from report.layout import output_console  # noqa: PLC0415

    width = output_console().width
    if options.checks == PARTS:
        _print_parts(result, progress, width)
    print_lines(result_lines(result, command, width, progress.seconds))


def result_lines(result: PipelineResult, command: str, width: int, seconds: float) -> list[str]:
    """Return the result of a run that took so many real seconds, for a console of this width."""
    from report.ending import Ending, ending_lines  # noqa: PLC0415 - as above

    families = by_family(result.checks)
    ending = Ending(
        title=f"{result.scenario.name} seed {result.seed}",
        story=story_of(result, seconds),
        families=[_family_row(family) for family in families],
        not_asked=_not_asked(result, families),
        sentence=group_digits(sentence_of(result.verdict, result.headline)),
        places=_places(result),
    )
    return [*ending_lines(ending, width), *_follow_up(result, command), *_next(result)]


def _family_row(family: FamilyResult) -> CheckRow:
    """Return the row of a family, named after the part that decides it."""
    part = family.title.removeprefix(f"{family.name}/")
    return CheckRow(family.title, family.status, group_digits(family.summary.removeprefix(f"{part}: ")))


def _not_asked(result: PipelineResult, families: Sequence[FamilyResult]) -> dict[str, str]:
    """Return the families without a result and the reasons, except families not judged because of a failure."""
    unjudged = [FAMILY_OF.get(check, check) for check in result.not_judged]
    found = without_answer(result.not_asked, families)
    return {name: reason for name, reason in found.items() if name not in unjudged}


def _print_parts(result: PipelineResult, progress: LiveProgress, width: int) -> None:
    """Print all validators and all parts of the families, and what else the record has."""
    from report.console import check_table, print_tables, validator_table  # noqa: PLC0415 - as above

    rows = [CheckRow(check.name, check.status, check.summary) for check in result.checks]
    print_tables([validator_table(result.validators, width), check_table(rows, result.not_asked)])
    application = [f"application {result.application}"] * bool(result.application)
    print_lines([*describe_evidence(result.evidence), *application, *result.made_by, progress.times])


def _places(result: PipelineResult) -> list[tuple[str, str]]:
    """Return the digest, and where page and record are."""
    places = [("digest", result.digest.hex())]
    if result.directory:
        page = result.directory / REPORT
        places += [*[("page", str(page))] * page.exists(), ("record", str(result.directory))]
    return places


def _follow_up(result: PipelineResult, command: str) -> list[str]:
    """Return the commands that repeat and explain a run that went wrong."""
    lines = [f"repeat with: {command}"] * bool(result.exit_code)
    if result.decisive is not None and result.directory:
        lines.append(f"explain with: {command_line(['explain', str(result.directory)])}")
    return lines


def _next(result: PipelineResult) -> list[str]:
    """Return the command that shows the block that the most timers left, of a run that passed."""
    if result.decisive is not None or not result.directory or not result.chain or result.application:
        return []
    height = max(result.chain, key=_timers_of).height
    return [f"look into a block with: {command_line(['show', str(result.directory), str(height)])}"]


def _timers_of(block: FinalBlock) -> int:
    return block.summary.fired + block.summary.expired + block.summary.insolvent
