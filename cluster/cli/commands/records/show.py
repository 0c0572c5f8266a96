"""The command `show`: one block of a recorded run as a person reads it."""

import argparse
from pathlib import Path
from string import hexdigits

import msgspec

from checker.record.run_directory import RecordReader
from cluster.cli.options import Parser, describe_command, print_json, print_lines
from cluster.inspect.height.report import show_height
from cluster.inspect.told_events import told_events_of
from report.block import height_lines


def fill_parser(parser: Parser) -> None:
    """Say what the command takes."""
    describe_command(
        parser,
        run_show,
        description="Show a block of a recorded run: header, transactions with status and refusal, timers that fired, "
        "left and wait, with charges, and the events in order. The recorded blocks are executed again for it.",
        notes="Where a height has several blocks, all are listed and the final one is shown. exit code 0 shown, 2 no "
        "such run, height, replica or block, 3 the code changed since and executes the block otherwise.",
        example="show runs/calm-0 12 --replica 2",
    )
    parser.add_argument("directory", type=Path, metavar="RUN_DIRECTORY", help="a directory that run wrote")
    parser.add_argument("height", type=_height, metavar="HEIGHT", help="a height of the run, 1 for its first block")
    parser.add_argument(
        "--replica",
        type=_replica,
        metavar="N",
        help="what this replica executed there, by its own code, with the receipts that differ",
    )
    parser.add_argument("--block", type=_prefix, metavar="PREFIX", help="the block whose digest begins with this")
    parser.add_argument("--all", action="store_true", help="show lists whole")


def _height(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(1 << 63)) and int(text)):
        raise argparse.ArgumentTypeError(f"{text!r} is not a height: a whole number from 1 on")
    return int(text)


def _replica(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(1 << 63))):
        raise argparse.ArgumentTypeError(f"{text!r} is not a replica: a whole number from 0 on")
    return int(text)


def _prefix(text: str) -> str:
    if not text or len(text) > 64 or not set(text) <= set(hexdigits):
        raise argparse.ArgumentTypeError(f"{text!r} is not the beginning of a digest: 1 to 64 hexadecimal digits")
    return text.lower()


def run_show(options: argparse.Namespace) -> int:
    """Show a height of a run directory, and return 0."""
    reader = RecordReader(options.directory)
    told = told_events_of(reader)
    report = show_height(reader, options.height, replica=options.replica, prefix=options.block or "", told=told)
    if options.json:
        print_json(msgspec.to_builtins(report))
    else:
        print_lines(list(height_lines(report, shows_all=options.all)))
    return 0
