"""The command line: parse, carry out, and turn what went wrong into one line and an exit code.

Exit codes (docs/invariants.md): 0 passed; 1 safety; 2 usage or bad input; 3 inconclusive; 4 liveness;
5 the test bed itself was not deterministic; 6 environment; 130 interrupted.
"""

import argparse
import errno
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Final, NoReturn

from checker.record.errors import ReportedError
from checker.record.host import refusal_behind
from checker.record.program import COMMAND, IS_INSTALLED, MUTATION_TOOL, VERSION, program_name
from cluster.cli.options import (
    DEFAULT_SCENARIO,
    EXIT_ENVIRONMENT,
    EXIT_INTERRUPTED,
    EXIT_USAGE,
    Parser,
    command_line,
    is_utf8,
    print_notes,
)
from network.interrupts import came_of_interrupt
from network.outcome import RunFailedError
from network.plugin_errors import describe_error
from report.visible import visible

_RUNS: Final = "cluster.cli.commands.runs"
_CAMPAIGNS: Final = "cluster.cli.commands.campaigns"
_RECORDS: Final = "cluster.cli.commands.records"

COMMANDS: Final = {
    "run": (_RUNS, "run a scenario"),
    "sweep": (_CAMPAIGNS, "run a scenario for many seeds; a killed sweep goes on where it stopped"),
    "explain": (_RECORDS, "say why a run failed: height, replicas, key, timer, cause"),
    "shrink": (_CAMPAIGNS, "find a smaller scenario that fails in the same way"),
    "curve": (_CAMPAIGNS, "say from which turn on a failed run could no longer be saved"),
    "replay": (_RECORDS, "run a recorded run again, event for event"),
    "show": (_RECORDS, "show a block of a run: transactions, timers, charges, events"),
    "scenarios": (_RUNS, "list the scenarios, or show one with every default"),
    "new": (_RUNS, "write a commented scenario file to begin with"),
    "check": (_RUNS, "say what the faults of a scenario do, and what it costs"),
    "application": (_RUNS, "check your own state machine call by call, or write a first one"),
    "fixtures": (_RUNS, "run the published cases of the rules against your own code"),
    "diff": (_RECORDS, "say where two runs differ first"),
    "differential": (_CAMPAIGNS, "compare validators' code with a second implementation"),
    "study": (_CAMPAIGNS, "answer a question about a chain's parameters, with intervals"),
    "incident": (_CAMPAIGNS, "run an outage of a real chain, without and with its fault"),
    "incidents": (_CAMPAIGNS, "list the outages of real chains by the shape of their fault"),
    "reorgs": (_RUNS, "abandon branches of many depths, and compare the states"),
    "faults": (_RUNS, "list the kinds of faults, or the parameters of one"),
    "workloads": (_RUNS, "list the kinds of workloads, or the parameters of one"),
    "checks": (_RUNS, "list the checks, or what one demands of a run"),
    "export": (_RECORDS, "write a run for Perfetto, ShiViz or notebooks"),
    "serve": (_RECORDS, "show the pages of runs in a browser, on this machine only"),
    "prove": (_RECORDS, "write a proof file for a key of a run's state"),
    "verify": (_RECORDS, "check a proof file"),
    "docs": (_RUNS, "list the pages of the documents, or print one"),
    "completion": (_RUNS, "print a script for the shell's completion"),
}
"""Every command with the package of its module, which has its name, and its line in the help, in the help's order.

A module is imported when its command is typed: all of them with what they need take three quarters of a second.
"""

MOVED_COMMANDS: Final = {"mutants": "mutants", "teeth": "mutants", "scan": "scan"}
"""Commands that moved to the mutation tool, with their names there; for a release the command line reports the move."""

MESSAGE_CHARACTERS_MAX: Final = 2_000
"""The longest error line: a file cannot make it longer."""

_BAD_PATHS: Final = (errno.ENAMETOOLONG, errno.ELOOP, errno.ENOTDIR, errno.EISDIR)
"""Errors of the file system for a path that cannot be meant, whatever the machine."""

_EPILOG: Final = """examples:
  {program}                                run the default scenario
  {program} run lossy --seed 7             run another scenario and seed
  {program} sweep --swarm --seeds 0..99    a drawn scenario for each seed
  {program} run broken-refund              a run that fails: a known bug
  {program} explain runs/broken-refund-0   why it failed
  {program} show runs/broken-refund-0 3    what its block 3 did
  {program} shrink runs/broken-refund-0    a smaller plan that fails alike
  {program} new my-outage                  a scenario of your own
  {program} COMMAND --help                 the options of a command

exit codes: 0 passed, or failed as expected; 1 failed: safety; 2 bad input;
3 inconclusive; 4 failed: liveness; 5 failed: determinism; 6 environment;
130 interrupted"""


class _Version(argparse.Action):
    """Says which version and which code this is; reading all sources takes a moment, and only this asks for it."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        """Print one line and leave."""
        from checker.record.fingerprint import this_code  # noqa: PLC0415 - nothing else here needs it

        sys.stdout.write(f"stampede {VERSION}, {this_code()}\n")
        parser.exit()


def main(arguments: Sequence[str]) -> int:
    """Run a command line and return its exit code."""
    typed = list(arguments) or ["run", DEFAULT_SCENARIO]
    if refusal := _find_foreign(typed) or _find_moved(typed):
        return _complain(refusal, EXIT_USAGE)
    try:
        options = _parser(typed).parse_args(typed)
    except ReportedError as error:
        return _complain(str(error), error.exit_code)
    # Options look at paths, and a refusal of the file system would end Python with 1, which means safety.
    except Exception as error:  # noqa: BLE001 - as below
        return _complain_of(error, typed)
    try:
        return int(options.command(options))
    except ReportedError as error:
        return _complain(str(error), error.exit_code)
    # A plug-in may ask to leave, and exit code 0 would be a run that passed.
    except (Exception, SystemExit, KeyboardInterrupt) as error:  # noqa: BLE001 - an unforeseen error is the test bed's fault: one line, and how to repeat it
        return _answer_interrupt(error, options) if came_of_interrupt(error) else _complain_of(error, typed)


def add_commands(commands: Mapping[str, tuple[str, str]]) -> None:
    """Add the commands of a tool to this process, each with the package of its module and its summary."""
    COMMANDS.update(commands)


def load_command(typed: Sequence[str]) -> ModuleType | None:
    """Import the command of a command line and return its module; None where it has none, as with `--help`."""
    name = _name_of(typed)
    return import_module(f"{COMMANDS[name][0]}.{name}") if name in COMMANDS else None


def _name_of(typed: Sequence[str]) -> str:
    return next((word for word in typed if not word.startswith("-")), "" if typed else "run")


def _find_moved(typed: Sequence[str]) -> str:
    """Return the sentence that says where a command went; nothing for any other command."""
    name = _name_of(typed)
    if name in COMMANDS or name not in MOVED_COMMANDS:
        return ""
    if IS_INSTALLED:
        run = f"{COMMAND} run SCENARIO --set mutants.NAME=[0,1,2,3]"
        return f"{name} is a tool of the repository now, and no part of this package; {run} runs a known bug"
    return f"{name} is a tool now: {MUTATION_TOOL} {MOVED_COMMANDS[name]}"


def _answer_interrupt(error: BaseException, options: argparse.Namespace) -> int:
    """Say what an interrupt left; the command may have said it itself."""
    _leave_nothing(options)
    said = str(error) if isinstance(error, KeyboardInterrupt) else ""
    return _complain(f"interrupted; {_describe_interrupt(said, options)}", EXIT_INTERRUPTED)


def _leave_nothing(options: argparse.Namespace) -> None:
    """Clear what a process that was broken off had no time for."""
    runs = getattr(options, "runs", None)
    if runs is not None:
        from checker.record.places import clear_litter  # noqa: PLC0415 - only an interrupt needs it

        with suppress(OSError):
            clear_litter(runs)


def _describe_interrupt(said: str, options: argparse.Namespace) -> str:
    if getattr(options, "data_dir", None) is not None:
        kept = f"the data in {options.data_dir} are whole, and the same command goes on with them"
        return f"{said}; {kept}" if said else kept
    return said or str(options.when_interrupted)


def _find_foreign(typed: Sequence[str]) -> str:
    """Return the sentence that refuses the first text that no record can hold; nothing where there is none."""
    named = [("TMPDIR", os.environ.get("TMPDIR", "")), ("the interpreter", sys.executable)]
    with suppress(FileNotFoundError):
        named.append(("the current folder", str(Path.cwd())))
    named += [("argument", word) for word in typed]
    foreign = next((f"{name} {text!r}" for name, text in named if not is_utf8(text)), "")
    return f"{foreign} is no UTF-8, as what is recorded and printed has to be" if foreign else ""


def _complain_of(error: BaseException, typed: Sequence[str]) -> int:
    """Say that a plug-in raised the error, that the file system refused something, or that it is unforeseen."""
    refusal = refusal_behind(error)
    if refusal is None and (said := describe_error(error)):
        return _complain(f"{said}; repeat with: {command_line(typed)}", EXIT_USAGE)
    refusal = error if isinstance(error, OSError) else refusal
    if refusal is not None:
        code = EXIT_USAGE if refusal.errno in _BAD_PATHS else EXIT_ENVIRONMENT
        return _complain(f"{refusal.filename or 'input/output'}: {refusal.strerror}", code)
    name = "" if isinstance(error, RunFailedError) else f"{type(error).__name__}: "
    return _complain(f"the test bed broke: {name}{error}; repeat with: {command_line(typed)}", EXIT_ENVIRONMENT)


def _complain(message: str, code: int) -> int:
    line = visible(" ".join(message.split()))
    cut = f"{line[:MESSAGE_CHARACTERS_MAX]}..." if len(line) > MESSAGE_CHARACTERS_MAX else line
    print_notes([f"{program_name()}: {cut}"])
    return code


def _parser(typed: Sequence[str]) -> Parser:
    """Return the parser of this command line; of every command but its own it only has the name."""
    used = load_command(typed)
    parser = Parser(
        prog=program_name(),
        description="Run validators under faults, and check that all of them keep one state.",
        epilog=_EPILOG.format(program=program_name()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="say which version and which code this is")
    parser.set_defaults(when_interrupted="nothing unfinished is left behind")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND", parser_class=Parser)
    for name, (_, summary) in COMMANDS.items():
        parser_of_command = commands.add_parser(name, help=summary)
        if used is not None and name == _name_of(typed):
            used.fill_parser(parser_of_command)
    return parser
