"""The command `fixtures`: run the published cases against an implementation, or make a case of a block."""

import argparse
import re
import shlex
from pathlib import Path
from typing import Final

from checker.record.places import OwnFile, write_own
from cluster.cli.listing import folded
from cluster.cli.options import Parser, command_line, describe_command, parse_runs, print_json, print_lines
from cluster.fixtures.cases import LEVELS, FixtureError, write_case
from cluster.fixtures.export import export_case
from cluster.fixtures.results import (
    FixturesProgress,
    all_lines,
    counts_line,
    exit_code_of,
    plain_results,
    table_lines,
    write_junit,
)
from cluster.fixtures.run import FIXTURES, CaseOutcome, run_cases, select_cases
from cluster.outside.frames import FRAMINGS
from cluster.outside.process import launch_of, launch_words
from network.words import counted

SUITE: Final = "stampede fixtures"
CASES: Final = Path("cases")
CASE_FILE: Final = OwnFile(b'{\n "expected": {', "case of fixtures")

_HEIGHT: Final = re.compile(r"[0-9]{1,18}", re.ASCII)


def fill_parser(parser: Parser) -> None:
    """Say what the command takes."""
    describe_command(
        parser,
        run_fixtures,
        example="fixtures run --level scheduler --policy fifo -- node scheduler.mjs",
        description="Run the published cases of the rules against your own implementation, a process that answers "
        "requests on its standard streams, or make a case of a block of a recorded run. `docs fixtures` says more.",
        notes="`fixtures export RUN HEIGHT` makes a case; RUN may also be the file of a differential case.",
    )
    parser.add_argument("what", choices=("run", "export"), help="ask the cases, or make a case")
    parser.add_argument(
        "words",
        nargs="+",
        metavar="COMMAND|RUN",
        help="of `run` the program and its arguments, behind -- or in quotes; of `export` a run directory and a height",
    )
    parser.add_argument(
        "--level", action="append", default=[], choices=LEVELS, help="the cases of one level; may be given again"
    )
    parser.add_argument(
        "--policy", action="append", default=[], metavar="POLICY", help="the cases of one policy; may be given again"
    )
    parser.add_argument(
        "--case", action="append", default=[], metavar="NAME", help="the cases with this name; may be given again"
    )
    parser.add_argument(
        "--fixtures", type=Path, default=FIXTURES, metavar="DIR", help="the cases (default: as shipped)"
    )
    parser.add_argument("--framing", choices=tuple(FRAMINGS), default="json", help="the form of frames (default json)")
    parser.add_argument("--junit", type=Path, metavar="FILE", help="write a JUnit file too")
    parser.add_argument(
        "--out", type=parse_runs, default=CASES, metavar="DIR", help=f"the folder for `export` (default {CASES})"
    )


def run_fixtures(options: argparse.Namespace) -> int:
    """Ask the cases or make a case; return the exit code."""
    return _run(options) if options.what == "run" else _export(options)


def _export(options: argparse.Namespace) -> int:
    """Write the case of a block to the place in a folder from which `run` takes it; return 0."""
    if len(options.words) != 2 or not _HEIGHT.fullmatch(options.words[1]):
        said = command_line(["fixtures", "export", *options.words])
        raise FixtureError(f"`{said}` has no run and height: `fixtures export RUN HEIGHT` is expected")
    case = export_case(Path(options.words[0]), int(options.words[1]))
    path = options.out / case.path
    write_own(path, write_case(case), CASE_FILE)
    run = command_line(["fixtures", "run", "--fixtures", str(options.out), "--", "COMMAND"])
    if options.json:
        print_json({"case": str(path), "sentence": case.sentence, "rules": case.rules, "run": run})
    else:
        print_lines([f"written to {path}: {case.sentence}", f"run it: {run}"])
    return 0


def _run(options: argparse.Namespace) -> int:
    """Ask the cases; return 0, 1 if an answer differed or the process was lost, 3 if a case was not answered."""
    # A single text is split like a shell's, as `application check` does it: argparse takes every `--` out of the words.
    folder, framing = Path.cwd(), FRAMINGS[options.framing]
    is_quoted = len(options.words) == 1
    launch = launch_of(options.words[0], folder, framing) if is_quoted else launch_words(options.words, folder, framing)
    cases = select_cases(options.fixtures, levels=options.level, policies=options.policy, names=options.case)
    outcomes: list[CaseOutcome] = []
    with FixturesProgress(len(cases), is_quiet=options.json) as progress:
        for outcome in run_cases(launch, cases):
            outcomes.append(outcome)
            progress.show(outcomes)
    if options.junit is not None:
        write_junit(options.junit, SUITE, outcomes)
    if options.json:
        print_json({"command": shlex.join(options.words), **plain_results(outcomes)})
    else:
        # Not before the end: the picture of the progress would stand among the lines.
        ending = f"{counted(len(outcomes), 'cases')}: {counts_line(outcomes)}"
        print_lines([*folded(all_lines(outcomes)), *table_lines(outcomes), ending])
    return exit_code_of(outcomes)
