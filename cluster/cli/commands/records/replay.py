"""The command `replay`: a recorded run once more, held against its record."""

import argparse
from pathlib import Path

from checker.record.run_directory import RecordReader
from cluster.cli.commands.runs.run import print_result
from cluster.cli.options import Parser, add_checks, add_quiet, command_line, describe_command
from cluster.live.progress import LiveProgress
from cluster.verdict.replay import replay_record


def fill_parser(parser: Parser) -> None:
    """Say what the command takes."""
    describe_command(parser, replay, example="replay runs/calm-0")
    parser.add_argument("directory", type=Path, metavar="RUN_DIRECTORY", help="a directory that run wrote")
    add_quiet(parser)
    add_checks(parser)


def replay(options: argparse.Namespace) -> int:
    """Replay, print the verdict, and return its exit code."""
    reader = RecordReader(options.directory)
    with LiveProgress(title=f"replay of {options.directory}", is_quiet=options.json or options.quiet) as progress:
        result = replay_record(reader, progress=progress)
    print_result(result, command_line(["replay", str(options.directory)]), progress, options)
    return result.exit_code
