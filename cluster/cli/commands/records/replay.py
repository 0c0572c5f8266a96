"""The command `replay`: a recorded run once more, held against its record."""

import argparse
from pathlib import Path

from checker.record.program import program_name
from checker.record.run_directory import RecordReader
from checker.results import EXIT_CODES
from cluster.cli.commands.runs.run import print_result
from cluster.cli.options import (
    EXIT_USAGE,
    Parser,
    add_checks,
    add_quiet,
    command_line,
    describe_command,
    print_json,
    print_lines,
    print_notes,
)
from cluster.live.progress import LiveProgress
from cluster.verdict.replay import recorded_calls, recorded_scenario, replay_record
from network.words import counted


def fill_parser(parser: Parser) -> None:
    """Say what the command takes."""
    describe_command(parser, replay, example="replay runs/calm-0")
    parser.add_argument("directory", type=Path, metavar="RUN_DIRECTORY", help="a directory that run wrote")
    parser.add_argument(
        "--live", action="store_true", help="put all requests of the run to its application again, and compare answers"
    )
    add_quiet(parser)
    add_checks(parser)


def replay(options: argparse.Namespace) -> int:
    """Replay, print the verdict, and return its exit code."""
    reader = RecordReader(options.directory)
    if options.live:
        return _ask_live(reader, is_json=options.json)
    with LiveProgress(title=f"replay of {options.directory}", is_quiet=options.json or options.quiet) as progress:
        result = replay_record(reader, progress=progress)
    print_result(result, command_line(["replay", str(options.directory)]), progress, options)
    return result.exit_code


def _ask_live(reader: RecordReader, *, is_json: bool) -> int:
    """Ask the application of a record once more; return 0, or the exit code of safety where an answer differs."""
    from cluster.outside.hosting.live import ask_live  # noqa: PLC0415 - few records have an application

    scenario, calls = recorded_scenario(reader), recorded_calls(reader)
    if scenario.application is None or calls is None:
        print_notes([f"{program_name()}: {reader.path}: --live: the run has no application that could be asked"])
        return EXIT_USAGE
    found = ask_live(scenario.application, calls)
    if is_json:
        differing = {str(node): each._asdict() for node, each in found.differing.items()}
        print_json({"requests": found.requests, "differing": differing})
    else:
        lines = [f"validator {node}: {each.sentence}" for node, each in found.differing.items()]
        said = f"{counted(found.requests, 'requests')} had the same answers from fresh processes"
        print_lines(lines or [f"passed: {said}"])
    return EXIT_CODES["safety" if found.differing else "passed"]
