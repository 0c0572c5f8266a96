"""The commands behind ``run_cluster.py``: parse, do, print, exit.

Exit codes (docs/design.md): 0 passed; 1 safety; 2 usage or bad input; 3 inconclusive; 4 liveness;
5 the test bed itself was not deterministic; 6 environment; 130 interrupted.
"""

import argparse
import errno
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from string import hexdigits
from typing import Final, NoReturn

import msgspec

from checker.checks.reports import describe_evidence
from checker.explain.formatting import on_one_line
from checker.record.fingerprint import CodeChangedError, this_code
from checker.record.host import refusal_behind
from checker.record.locks import InUseError
from checker.record.places import clear_litter
from checker.record.program import SCRIPT, VERSION, program_name
from checker.record.run_directory import DamagedRecordError, RecordExistsError, RecordReader
from cluster.campaign.dask_workers import DaskError
from cluster.campaign.results_db import DamagedResultsError
from cluster.cli.command_lines import RUNS, command_line, parse_runs, run_command
from cluster.cli.explain_command import add_explain_parsers
from cluster.cli.faults_command import add_faults_parser
from cluster.cli.mutants_command import add_mutants_parser
from cluster.cli.plan import explain_plan
from cluster.cli.proof_commands import run_prove, run_verify
from cluster.cli.shrink_command import add_shrink_parser
from cluster.cli.sweep_command import add_sweep_parser
from cluster.inspect.proofs import ProofError
from cluster.inspect.state_keys import KEY_FORMS
from cluster.runtime.data_directory import DataDirectory, DataDirectoryError, open_data_directory
from cluster.scenario.aliases import report_once
from cluster.scenario.cost import cost_warnings, estimate_cost, refuse_impossible
from cluster.scenario.load import load_scenario, scenario_paths
from cluster.scenario.messages import ScenarioError
from cluster.scenario.model import Scenario
from cluster.swarm.generator import banner, draw_scenario
from cluster.verdict.determinism import compare_with_repeat
from cluster.verdict.pipeline import Judged, judge
from cluster.verdict.replay import replay_record
from network.draw import SWARM
from network.kernel import RunFailedError
from report.console import LiveProgress, check_table, print_tables, validator_table
from report.layout import output_console

DEFAULT_SCENARIO: Final = "outage-storm"
EXIT_USAGE: Final = 2
EXIT_INCONCLUSIVE: Final = 3
EXIT_DETERMINISM: Final = 5
EXIT_ENVIRONMENT: Final = 6
EXIT_INTERRUPTED: Final = 130

MESSAGE_CHARACTERS_MAX: Final = 2_000
"""What is wrong is said in one line, and a file cannot make it longer."""

_BAD_PATHS: Final = (errno.ENAMETOOLONG, errno.ELOOP, errno.ENOTDIR, errno.EISDIR)
"""What the file system says to a path that can be none of ours, whatever the machine."""

_ROOT_DIGITS: Final = 64

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
  run_cluster.py scenarios                           list what can be run
  run_cluster.py prove runs/calm-0 12 burned --out burned.json
  run_cluster.py verify burned.json --run runs/calm-0

exit codes: 0 passed, or failed as expected; 1 safety, 2 bad input, 3 inconclusive, 4 liveness, 5 not deterministic,
6 environment, 130 interrupted"""


class _Parser(argparse.ArgumentParser):
    """An argument parser that says what is wrong in one line, and gives its examples for the command that was used."""

    def format_help(self) -> str:
        """Return the help with its examples."""
        return super().format_help().replace(SCRIPT, program_name())

    def error(self, message: str) -> NoReturn:
        """Print one line and leave with the exit code for bad input."""
        self.exit(EXIT_USAGE, f"{self.prog}: {message} (try --help)\n")


FORMER_COMMANDS: Final = {"teeth": "mutants"}
"""Commands under the names that they had, for one release."""


class _Version(argparse.Action):
    """Says which version and which code this is; reading all sources takes a moment, and only this asks for it."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        """Print one line and leave."""
        sys.stdout.write(f"stampede {VERSION}, {this_code()}\n")
        parser.exit()


def main(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code."""
    typed = current_names(arguments) or ["run", DEFAULT_SCENARIO]
    options = _parser().parse_args(typed)
    # A run that is told to end leaves nothing half-written, whoever tells it.
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        return int(options.command(options))
    except (
        ScenarioError,
        DamagedRecordError,
        DamagedResultsError,
        RecordExistsError,
        ProofError,
        DataDirectoryError,
        InUseError,
    ) as error:
        return _complain(str(error), EXIT_USAGE)
    except CodeChangedError as error:
        return _complain(str(error), EXIT_INCONCLUSIVE)
    except DaskError as error:
        return _complain(str(error), EXIT_ENVIRONMENT)
    except KeyboardInterrupt as interrupt:
        _leave_nothing(options)
        return _complain(f"interrupted; {str(interrupt) or _describe_interrupt(options)}", EXIT_INTERRUPTED)
    except Exception as error:  # noqa: BLE001 - what nobody foresaw is the test bed's fault: one line, and how to repeat it
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


def _complain_of(error: Exception, typed: Sequence[str]) -> int:
    """Say that the file system refused something, or that nobody foresaw this."""
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


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog=program_name(),
        description="Run validators under faults and prove that timers leave them with one state root.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="say which version and which code this is")
    parser.set_defaults(when_interrupted="nothing unfinished is left behind")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=_Parser)
    run = commands.add_parser("run", help="run a scenario", epilog="example: run_cluster.py run lossy --seed 7")
    run.add_argument(
        "scenario",
        metavar="SCENARIO",
        help="a scenario's name, a .toml file, or swarm: one drawn from the seed",
    )
    run.add_argument("--seed", type=_seed, default=0, help="which run of the scenario (default 0)")
    run.add_argument("--set", dest="settings", action="append", default=[], metavar="KEY=VALUE", help="change one key")
    run.add_argument("--check-determinism", action="store_true", help="run twice, in two processes, and compare")
    run.add_argument("--runs", type=parse_runs, default=RUNS, help="where run directories go (default runs)")
    run.add_argument("--data-dir", type=Path, metavar="DIR", help="real disks in DIR, new or to go on with")
    run.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    run.set_defaults(command=_run)
    replay = commands.add_parser(
        "replay", help="run a recorded run again", epilog="example: run_cluster.py replay runs/calm-0"
    )
    replay.add_argument("directory", type=Path, metavar="RUN_DIRECTORY", help="a directory that run wrote")
    replay.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    replay.set_defaults(command=_replay)
    add_sweep_parser(commands)
    add_shrink_parser(commands)
    add_explain_parsers(commands)
    add_mutants_parser(commands)
    add_faults_parser(commands)
    check = commands.add_parser(
        "check",
        help="say in plain words what a scenario's faults do and what it costs; refuse an invalid plan",
        epilog="example: run_cluster.py check lossy --set faults.weather.loss_ppm=100_000",
    )
    check.add_argument("scenario", metavar="SCENARIO", help="a scenario's name, or a path to a .toml file")
    check.add_argument(
        "--set", dest="settings", action="append", default=[], metavar="KEY=VALUE", help="change one key"
    )
    check.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    check.set_defaults(command=_check)
    listing = commands.add_parser("scenarios", help="list the scenarios", epilog="example: run_cluster.py scenarios")
    listing.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    listing.set_defaults(command=_scenarios)
    _add_proof_commands(commands)
    return parser


def _add_proof_commands(commands: "argparse._SubParsersAction[_Parser]") -> None:
    prove = commands.add_parser(
        "prove",
        help="write a proof file for a key of a recorded run's state",
        description="Replay a recorded run to a height and prove what a key of the state is there.",
        epilog=f"KEY is {KEY_FORMS}. ADDRESS has 40 hexadecimal digits, TIMER_ID 64. "
        "example: run_cluster.py prove runs/calm-0 12 burned --out burned.json",
    )
    prove.add_argument("directory", type=Path, metavar="RUN_DIRECTORY", help="a directory that run wrote")
    prove.add_argument("height", type=_height, metavar="HEIGHT", help="a finalized height of the run, 0 for genesis")
    prove.add_argument("key", metavar="KEY", help="which entry of the state, see below")
    prove.add_argument("--out", type=Path, metavar="FILE", help="where the proof goes (default proof-HEIGHT-KEY.json)")
    prove.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    prove.set_defaults(command=run_prove)
    verify = commands.add_parser(
        "verify",
        help="check a proof file",
        description="Check a proof file: exit code 0 valid, 1 invalid, 2 bad input.",
        epilog="Without --root and --run nothing says that the file's header is of a chain that you know. "
        "example: run_cluster.py verify burned.json --run runs/calm-0",
    )
    verify.add_argument("file", type=Path, metavar="PROOF_FILE", help="a file that prove wrote")
    verify.add_argument("--run", type=Path, metavar="RUN_DIRECTORY", help="a recorded run that must have the header")
    verify.add_argument("--root", type=_root, metavar="HEX", help="the state root that the header must have")
    verify.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    verify.set_defaults(command=run_verify)


def _height(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > len(str(1 << 63)):
        raise argparse.ArgumentTypeError(f"{text!r} is not a height: a whole number from 0 on")
    return int(text)


def _root(text: str) -> bytes:
    if len(text) != _ROOT_DIGITS or not set(text) <= set(hexdigits):
        raise argparse.ArgumentTypeError(f"{text!r} is not a root: {_ROOT_DIGITS} hexadecimal digits")
    return bytes.fromhex(text)


def _seed(text: str) -> int:
    try:
        seed = int(text)
    except ValueError:
        seed = -1
    if not 0 <= seed < 1 << 64:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 to 2^64 - 1")
    return seed


def _run(options: argparse.Namespace) -> int:
    if options.scenario == SWARM:
        scenario = draw_scenario(options.seed, options.settings)
        if not options.json:
            sys.stdout.write("".join(f"{line}\n" for line in [str(this_code()), *banner(scenario)]))
    else:
        scenario = load_scenario(options.scenario, options.settings)
    for warning in () if options.json else cost_warnings(scenario, estimate_cost(scenario)):
        sys.stderr.write(f"{scenario.name}: {warning}\n")
    if options.data_dir is None:
        return _run_on(None, scenario, options)
    if options.check_determinism:
        return _complain("--check-determinism and --data-dir exclude each other: real disks outlive a run", EXIT_USAGE)
    data = open_data_directory(options.data_dir, scenario, options.seed)
    try:
        return _run_on(data, scenario, options)
    finally:
        data.close()


def _run_on(data: DataDirectory | None, scenario: Scenario, options: argparse.Namespace) -> int:
    with LiveProgress(title=f"{scenario.name} seed {options.seed}", is_quiet=options.json) as progress:
        extra = compare_with_repeat if options.check_determinism else None
        judged = judge(
            scenario,
            options.seed,
            runs=options.runs,
            progress=progress,
            extra=extra,
            command=_repeat_command(options),
            data=data,
        )
    _print_judged(judged, _repeat_command(options), progress, as_json=options.json)
    return judged.exit_code


def _repeat_command(options: argparse.Namespace) -> str:
    return run_command(
        options.scenario,
        options.seed,
        settings=options.settings,
        runs=options.runs,
        data_dir=options.data_dir,
        is_repeated=options.check_determinism,
    )


def _replay(options: argparse.Namespace) -> int:
    reader = RecordReader(options.directory)
    with LiveProgress(title=f"replay of {options.directory}", is_quiet=options.json) as progress:
        judged = replay_record(reader, progress=progress)
    _print_judged(judged, command_line(["replay", str(options.directory)]), progress, as_json=options.json)
    return judged.exit_code


def _print_judged(judged: Judged, command: str, progress: LiveProgress, *, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(msgspec.json.encode(judged.as_json(command)).decode() + "\n")
        return
    print_tables([validator_table(judged.validators, output_console().width), check_table(judged.checks)])
    lines = list(describe_evidence(judged.evidence))
    lines += [f"{judged.verdict}: {judged.headline}", f"digest {judged.digest.hex()}", str(this_code()), progress.times]
    lines += [f"run directory {judged.directory}"] if judged.directory else []
    lines += [f"repeat with: {command}"] if judged.exit_code else []
    if judged.decisive is not None and judged.directory:
        lines.append(f"explain with: {command_line(['explain', str(judged.directory)])}")
    sys.stdout.write("\n".join(lines) + "\n")


def _check(options: argparse.Namespace) -> int:
    scenario = load_scenario(options.scenario, options.settings)
    explained, cost = explain_plan(scenario), estimate_cost(scenario)
    refuse_impossible(scenario, cost)
    warnings = list(cost_warnings(scenario, cost))
    if options.json:
        answer = {
            "scenario": scenario.name,
            "title": scenario.title,
            "faults": [msgspec.to_builtins(each) for each in explained],
            "cost": cost._asdict(),
            "warnings": warnings,
        }
        sys.stdout.write(msgspec.json.encode(answer).decode() + "\n")
        return 0
    lines = [f"{scenario.name}: {scenario.title}"]
    for each in explained:
        notes = ["required"] * each.is_required + ["switched off"] * (not each.is_enabled)
        lines.append(f"  {each.name} ({', '.join([each.kind, *notes])}): {each.sentence}")
    lines += [f"  needs the workload {name} to take effect" for name in scenario.requires if name in scenario.workload]
    lines += [f"estimate: {cost.describe()}", *(f"warning: {warning}" for warning in warnings)]
    lines.append(f"plan ok: {len(explained)} faults, {len(scenario.workload)} workloads")
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


def _scenarios(options: argparse.Namespace) -> int:
    found: list[Scenario] = [load_scenario(str(path)) for path in scenario_paths()]
    if options.json:
        plain = [
            {"name": each.name, "title": each.title, "faults": list(each.faults), "requires": list(each.requires)}
            for each in found
        ]
        sys.stdout.write(msgspec.json.encode({"scenarios": plain}).decode() + "\n")
        return 0
    width = max(len(each.name) for each in found)
    for each in found:
        default = " (default)" if each.name == DEFAULT_SCENARIO else ""
        sys.stdout.write(f"{each.name:{width}} {each.title}{default}\n")
    return 0
