"""Parts that commands share: the options that several have, exit codes, and command lines to paste into a shell."""

import argparse
import json
import os
import re
import shlex
import sys
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NoReturn

import msgspec

from checker.record.plain_files import UnsuitableFileError, is_lost, read_plain
from checker.record.program import CHILD_FLAGS, MUTATION_TOOL, PACKAGE, SCRIPT, is_mutation_tool, program_name
from cluster.scenario.toml_file import BYTES_MAX
from report.visible import visible

EXIT_USAGE: Final = 2
EXIT_INCONCLUSIVE: Final = 3
EXIT_ENVIRONMENT: Final = 6
EXIT_INTERRUPTED: Final = 130

DEFAULT_SCENARIO: Final = "outage-storm"
"""Runs where no command is typed."""

LEVELS: Final = ("none", "light", "heavy", "swarm")
"""Levels of `--faults` (cluster/authoring/fault_levels.py): no fault, one, up to four, or as the swarm draws them."""

RUNS: Final = Path("runs")
"""Where run directories go if nothing else is said."""

SEEDS_MAX: Final = 10_000_000
"""A longer range is a mistake."""

SEED_LIMIT: Final = 1 << 63
"""Seeds of a sweep stay below this: SQLite's integers are signed."""


class Parser(argparse.ArgumentParser):
    """An argument parser that says what is wrong in one line, and gives its examples for the command that was used."""

    def format_help(self) -> str:
        """Return the help with its examples."""
        return super().format_help().replace(SCRIPT, program_name())

    def _options(self) -> list[str]:
        """Return the options of this parser and of its commands, because the outer parser refuses their options."""
        commands = [
            each for action in self._actions if isinstance(action.choices, dict) for each in action.choices.values()
        ]
        return [option for parser in (self, *commands) for option in parser._option_string_actions]  # noqa: SLF001

    def error(self, message: str) -> NoReturn:
        """Print one line and leave with the exit code for bad input."""
        self.exit(EXIT_USAGE, f"{self.prog}: {_with_nearest(message, self._options())} (try --help)\n")


def _with_nearest(message: str, options: Collection[str]) -> str:
    """Return a message of argparse with the nearest valid choice or option."""
    # Imported only after a typing error: it loads all faults and the validators, 0.4 s of every help.
    from faults.nearest import did_you_mean  # noqa: PLC0415

    def choice(found: re.Match[str]) -> str:
        known = re.split(r",\s*", found[3].replace("'", ""))
        return f"{found[1]}{did_you_mean(found[2], known)} (choose from {found[3]})"

    def option(found: re.Match[str]) -> str:
        return f"{found[0]}{did_you_mean(found[1], options)}"

    message = re.sub(r"(invalid choice: '([^']*)') \(choose from (.*)\)$", choice, message)
    return re.sub(r"^unrecognized arguments: (--[^\s=]+)\S*", option, message)


def describe_command(
    parser: Parser,
    run: Callable[[argparse.Namespace], int],
    *,
    example: str,
    description: str | None = None,
    notes: str = "",
) -> None:
    """Give a command its help and the option `--json` that every command has.

    Args:
        parser: The command's own parser.
        run: Carries it out and returns the exit code.
        example: Its arguments in an example.
        description: The beginning of its help.
        notes: The part of its help before the example.
    """
    parser.description = description
    parser.epilog = f"{notes} example: {SCRIPT} {example}".strip()
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    parser.set_defaults(command=run)


def add_faults(parser: Parser) -> None:
    """Add `--faults`, which replaces the faults of a scenario."""
    parser.add_argument(
        "--faults",
        choices=LEVELS,
        metavar="LEVEL",
        help=f"instead of the scenario's own faults those of a level, drawn from the seed: {', '.join(LEVELS)}",
    )


def add_quiet(parser: Parser) -> None:
    """Add `--quiet`."""
    parser.add_argument(
        "--quiet", action="store_true", help="show no progress, and of the result the verdict and what repeats it"
    )


PARTS: Final = "all"
"""The value of `--checks` that shows the parts of every family."""


def add_checks(parser: Parser) -> None:
    """Add `--checks`, which says how much of a result is shown; it judges no more and no less."""
    parser.add_argument(
        "--checks",
        choices=("families", PARTS),
        default="families",
        help="show the twelve families of checks (default), or all parts of each",
    )


def add_settings(parser: Parser) -> None:
    """Add `--set`, which changes keys of a scenario."""
    parser.add_argument(
        "--set", dest="settings", action="append", default=[], metavar="KEY=VALUE", help="change one key"
    )


def add_application(parser: Parser) -> None:
    """Add `--application`, which names the state machine of a scenario's replicas."""
    parser.add_argument(
        "--application",
        metavar="COMMAND",
        help="run this program with its arguments as every replica's state machine; it starts in the current folder",
    )
    parser.add_argument(
        "--build",
        dest="builds",
        action="append",
        default=[],
        metavar="NAME=COMMAND",
        help="another build of the application, which the scenario or a drawn upgrade names",
    )


def add_jobs(parser: Parser) -> None:
    """Add `--jobs`, the number of worker processes."""
    parser.add_argument(
        "--jobs",
        type=parse_jobs,
        default=os.cpu_count() or 1,
        metavar="N",
        help="worker processes (default: one a core)",
    )


def print_json(answer: object) -> None:
    """Print the JSON object of a command."""
    print_encoded_json(msgspec.json.encode(answer) + b"\n")


def print_encoded_json(encoded: bytes) -> None:
    """Print JSON in ASCII without controls, which the stream would show by codes that JSON lacks."""
    sys.stdout.write(re.sub(r"[^\n -~]", lambda found: json.dumps(found[0])[1:-1], encoded.decode()))


def print_lines(lines: Sequence[str]) -> None:
    """Print lines; a line break within a line is shown by its code."""
    sys.stdout.write("".join(f"{visible(line)}\n" for line in lines))


def print_notes(lines: Sequence[str]) -> None:
    """Print lines that are no result, on standard error."""
    sys.stderr.write("".join(f"{visible(line)}\n" for line in lines))


def parse_runs(text: str) -> Path:
    """Return the directory for run directories; raises ArgumentTypeError if the path cannot be a directory."""
    path = Path(text)
    for each in (path, *path.parents):
        if each.exists() and not each.is_dir():
            below = "" if each is path else f"lies below {str(each)!r}, which "
            raise argparse.ArgumentTypeError(f"{text!r} {below}is no directory")
    if is_lost(path):
        raise argparse.ArgumentTypeError(f"{text!r} is a link that leads to no directory")
    if not is_utf8(os.path.realpath(path)):
        raise argparse.ArgumentTypeError(f"{text!r} leads to a folder whose name is no UTF-8")
    return path


def is_utf8(text: str) -> bool:
    """Return whether a record or a JSON object can hold a text: a name of a file need not be UTF-8."""
    return text.isascii() or text.encode(errors="replace").decode() == text


def parse_folder(text: str) -> Path:
    """Return an existing directory, because plans in a mistyped directory would be ignored silently."""
    path = parse_runs(text)
    if not path.exists():
        raise argparse.ArgumentTypeError(f"{text!r} is no directory")
    return path


def parse_result_file(text: str) -> Path:
    """Return the path of a file written at the end; an impossible path is refused before hours of runs."""
    path = Path(text)
    if path.is_dir() or not next(parent for parent in path.absolute().parents if parent.exists()).is_dir():
        raise argparse.ArgumentTypeError(f"{text!r}: no file can be written there")
    return path


def parse_address(text: str) -> str:
    """Return an address of a scheduler, which nothing is asked yet."""
    if not text.strip() or not text.isprintable():
        raise argparse.ArgumentTypeError(f"{text!r} is no address such as tcp://10.0.0.1:8786")
    return text


def parse_seed(text: str) -> int:
    """Return a seed."""
    try:
        seed = int(text)
    except ValueError:
        seed = -1
    if not 0 <= seed < 1 << 64:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 to 2^64 - 1")
    return seed


def parse_reseed(text: str) -> tuple[int, int]:
    """Return the turn and the seed that `TURN:SEED` names."""
    turn, separator, seed = text.partition(":")
    if not (separator and turn.isascii() and turn.isdigit() and int(turn[:19]) >= 1 and len(turn) < 19):
        raise argparse.ArgumentTypeError(f"{text!r} is not TURN:SEED, with a turn from 1 on")
    return int(turn), parse_seed(seed)


def parse_seeds(text: str) -> range:
    """Return the seeds that `A..B` or `A` names, both ends included."""
    first, separator, last = text.partition("..")
    try:
        seeds = range(int(first), int(last if separator else first) + 1)
    except ValueError:
        seeds = range(0)
    if not seeds or seeds[0] < 0 or seeds[-1] >= SEED_LIMIT or len(seeds) > SEEDS_MAX:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not A..B with whole numbers, 0 <= A <= B < 2^63 and at most {SEEDS_MAX:,} seeds"
        )
    return seeds


def parse_jobs(text: str) -> int:
    """Return a number of worker processes."""
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= 1_024):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to 1,024")
    return int(text)


def command_line(arguments: Sequence[str]) -> str:
    """Return what to paste into a shell to give these arguments to this program."""
    if is_mutation_tool():
        return shlex.join([sys.executable, *MUTATION_TOOL.split()[1:], *arguments])
    script = Path(sys.argv[0] or SCRIPT)
    if script.parent.name == PACKAGE:
        return shlex.join([sys.executable, *CHILD_FLAGS, "-m", PACKAGE, *arguments])
    return shlex.join([sys.executable, str(script if script.exists() else SCRIPT), *arguments])


def run_command(
    subject: str,
    seed: int,
    *,
    settings: Sequence[str] = (),
    application: str | None = None,
    builds: Sequence[str] = (),
    faults: str | None = None,
    reseeds: Sequence[tuple[int, int]] = (),
    runs: Path = RUNS,
    data_dir: Path | None = None,
    is_repeated: bool = False,
) -> str:
    """Return the command that runs a scenario once more.

    Args:
        subject: The scenario's name or file, or `swarm`.
        seed: The seed.
        settings: The changes by `--set`.
        application: The command line of `--application`, if any.
        builds: Those of `--build`.
        faults: The level of `--faults`, if any.
        reseeds: Those of `--reseed`.
        runs: The directory for its run directory.
        data_dir: The directory with real disks, if any.
        is_repeated: Whether the run is repeated in another process and compared.
    """
    arguments = ["run", subject, "--seed", str(seed)]
    for setting in settings:
        arguments += ["--set", setting]
    arguments += [] if application is None else ["--application", application]
    for build in builds:
        arguments += ["--build", build]
    arguments += [] if faults is None else ["--faults", faults]
    for turn, reseed in reseeds:
        arguments += ["--reseed", f"{turn}:{reseed}"]
    arguments += ["--runs", str(runs)] if runs != RUNS else []
    arguments += ["--data-dir", str(data_dir)] if data_dir is not None else []
    return command_line([*arguments, *["--check-determinism"] * is_repeated])


def shrunk_plan_of(directory: Path, runs: Path) -> Path:
    """Return where `shrink` writes the smallest plan of a run directory, unless it is told another file."""
    return runs / f"{directory.name}-shrunk.toml"


def read_shrunk_plan(directory: str, runs: Path) -> str:
    """Return the smallest plan of a run directory as its file has it; nothing where no plan can be read."""
    plan = shrunk_plan_of(Path(directory), runs)
    # A result is over by now, and no file beside it may cost it.
    with suppress(UnsuitableFileError, OSError):
        return read_plain(plan, BYTES_MAX).decode(errors="replace") if directory else ""
    return ""
