"""The command line: parse, carry out, and turn what went wrong into one line and an exit code.

Exit codes (docs/design.md): 0 passed; 1 safety; 2 usage or bad input; 3 inconclusive; 4 liveness;
5 the test bed itself was not deterministic; 6 environment; 130 interrupted.
"""

import argparse
import errno
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, NoReturn

from checker.explain.formatting import on_one_line
from checker.record.fingerprint import CodeChangedError, this_code
from checker.record.host import refusal_behind
from checker.record.locks import InUseError
from checker.record.places import clear_litter
from checker.record.plugins import PluginError
from checker.record.program import VERSION, program_name
from checker.record.run_directory import DamagedRecordError, RecordExistsError
from cluster.campaign.dask_workers import DaskError
from cluster.campaign.results_db import DamagedResultsError
from cluster.campaign.scan.points import MissingLibraryError, UnknownOperatorError
from cluster.campaign.scan.triage import TriageError
from cluster.cli.commands import (
    check,
    diff,
    explain,
    faults,
    mutants,
    prove,
    replay,
    run,
    scan,
    scenarios,
    shrink,
    sweep,
    verify,
)
from cluster.cli.options import (
    EXIT_ENVIRONMENT,
    EXIT_INCONCLUSIVE,
    EXIT_INTERRUPTED,
    EXIT_USAGE,
    Commands,
    Parser,
    command_line,
)
from cluster.inspect.proofs import ProofError
from cluster.runtime.data_directory import DataDirectoryError
from cluster.scenario.aliases import report_once
from cluster.scenario.messages import ScenarioError
from network.outcome import RunFailedError

COMMANDS: Final[tuple[Callable[[Commands], None], ...]] = (
    *(run.add_parser, replay.add_parser, sweep.add_parser, shrink.add_parser, explain.add_parser, diff.add_parser),
    *(mutants.add_parser, scan.add_parser, faults.add_parser, check.add_parser, scenarios.add_parser),
    *(prove.add_parser, verify.add_parser),
)
"""Every command, in the order of the help."""

FORMER_COMMANDS: Final = {"teeth": "mutants"}
"""Commands under the names that they had, for one release."""

MESSAGE_CHARACTERS_MAX: Final = 2_000
"""The longest error line: a file cannot make it longer."""

_BAD_PATHS: Final = (errno.ENAMETOOLONG, errno.ELOOP, errno.ENOTDIR, errno.EISDIR)
"""Errors of the file system for a path that cannot be meant, whatever the machine."""

_EPILOG: Final = """examples:
  run_cluster.py                                     run the default scenario, outage-storm
  run_cluster.py run lossy --seed 7                  run another one with another seed
  run_cluster.py run outage-storm --set faults.split.enabled=false
  run_cluster.py run calm --check-determinism        run it twice and compare event by event
  run_cluster.py replay runs/calm-0                  run a recorded run again
  run_cluster.py check certified-split               say in plain words what its faults do
  run_cluster.py faults clog                         what a kind of fault does, and its parameters
  run_cluster.py sweep lossy --seeds 0..99           run it for many seeds, and group what goes wrong
  run_cluster.py sweep --swarm --seeds 0..999        another mixture of faults and workloads for each seed
  run_cluster.py run broken-refund                   a run that fails on purpose: all run a known bug
  run_cluster.py shrink runs/broken-refund-0         the smallest scenario that goes wrong in the same way
  run_cluster.py explain runs/broken-refund-0        why it went wrong: place, sides, key, timer, write, cause
  run_cluster.py diff runs/calm-0 runs/calm-1        where two recorded runs part
  run_cluster.py mutants --only tip-burned           run a known bug, and see which check kills it
  run_cluster.py scan --sample 50                    change the code at random, and list what no check notices
  run_cluster.py scenarios                           list what can be run
  run_cluster.py prove runs/calm-0 12 burned --out burned.json
  run_cluster.py verify burned.json --run runs/calm-0

exit codes: 0 passed, or failed as expected; 1 safety, 2 bad input, 3 inconclusive, 4 liveness, 5 not deterministic,
6 environment, 130 interrupted"""


class _Version(argparse.Action):
    """Says which version and which code this is; reading all sources takes a moment, and only this asks for it."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        """Print one line and leave."""
        sys.stdout.write(f"stampede {VERSION}, {this_code()}\n")
        parser.exit()


def main(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code."""
    typed = current_names(arguments) or ["run", run.DEFAULT_SCENARIO]
    options = _parser().parse_args(typed)
    # A run that is asked to end leaves nothing half-written, from whichever process.
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        return int(options.command(options))
    except (
        ScenarioError,
        DamagedRecordError,
        DamagedResultsError,
        PluginError,
        RecordExistsError,
        ProofError,
        DataDirectoryError,
        InUseError,
        TriageError,
        UnknownOperatorError,
    ) as error:
        return _complain(str(error), EXIT_USAGE)
    except CodeChangedError as error:
        return _complain(str(error), EXIT_INCONCLUSIVE)
    except (DaskError, MissingLibraryError) as error:
        return _complain(str(error), EXIT_ENVIRONMENT)
    except KeyboardInterrupt as interrupt:
        _leave_nothing(options)
        return _complain(f"interrupted; {str(interrupt) or _describe_interrupt(options)}", EXIT_INTERRUPTED)
    # A plug-in may ask to leave, and exit code 0 would be a run that passed.
    except (Exception, SystemExit) as error:  # noqa: BLE001 - an unforeseen error is the test bed's fault: one line, and how to repeat it
        return _complain_of(error, typed)


def current_names(arguments: Sequence[str]) -> list[str]:
    """Return a command line with the command's current name, and say so where it was another one."""
    first, *others = arguments or [""]
    now = FORMER_COMMANDS.get(first)
    if now is None:
        return list(arguments)
    report_once(f"command {first} is now called {now}; the next release will not know the old name")
    return [now, *others]


def _leave_nothing(options: argparse.Namespace) -> None:
    """Clear what a process that was broken off had no time for."""
    runs = getattr(options, "runs", None)
    if runs is not None:
        with suppress(OSError):
            clear_litter(runs)


def _describe_interrupt(options: argparse.Namespace) -> str:
    if getattr(options, "data_dir", None) is not None:
        return f"the data in {options.data_dir} are whole, and the same command goes on with them"
    return str(options.when_interrupted)


def _interrupt(*_: object) -> None:
    """Let the signal to end be an interrupt, by the way that trio knows to guard against where one is taken."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        raise KeyboardInterrupt
    signal.raise_signal(signal.SIGINT)


def _complain_of(error: BaseException, typed: Sequence[str]) -> int:
    """Say that the file system refused something, or that the error is unforeseen."""
    refusal = error if isinstance(error, OSError) else refusal_behind(error)
    if refusal is not None:
        code = EXIT_USAGE if refusal.errno in _BAD_PATHS else EXIT_ENVIRONMENT
        return _complain(f"{refusal.filename or 'input/output'}: {refusal.strerror}", code)
    name = "" if isinstance(error, RunFailedError) else f"{type(error).__name__}: "
    return _complain(f"the test bed broke: {name}{error}; repeat with: {command_line(typed)}", EXIT_ENVIRONMENT)


def _complain(message: str, code: int) -> int:
    line = on_one_line(message)
    cut = f"{line[:MESSAGE_CHARACTERS_MAX]}..." if len(line) > MESSAGE_CHARACTERS_MAX else line
    sys.stderr.write(f"{program_name()}: {cut}\n")
    return code


def _parser() -> Parser:
    parser = Parser(
        prog=program_name(),
        description="Run validators under faults and prove that timers leave them with one state root.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="say which version and which code this is")
    parser.set_defaults(when_interrupted="nothing unfinished is left behind")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=Parser)
    for add in COMMANDS:
        add(commands)
    return parser
