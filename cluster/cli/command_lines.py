"""Command lines to paste into a shell: what repeats a run, with all that it needs to go the same way again."""

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from checker.record.program import PACKAGE, SCRIPT

RUNS: Final = Path("runs")
"""Where run directories go if nothing else is said."""


def parse_runs(text: str) -> Path:
    """Return the directory for run directories; raises ArgumentTypeError where it can be none."""
    path = Path(text)
    if path.exists() and not path.is_dir():
        raise argparse.ArgumentTypeError(f"{text!r} is no directory")
    return path


def command_line(arguments: Sequence[str]) -> str:
    """Return what to paste into a shell to give these arguments to this program."""
    script = Path(sys.argv[0] or SCRIPT)
    if script.parent.name == PACKAGE:
        return shlex.join([sys.executable, "-m", PACKAGE, *arguments])
    return shlex.join([sys.executable, str(script if script.exists() else SCRIPT), *arguments])


def run_command(
    subject: str,
    seed: int,
    *,
    settings: Sequence[str] = (),
    runs: Path = RUNS,
    data_dir: Path | None = None,
    is_repeated: bool = False,
) -> str:
    """Return the command that runs a scenario once more.

    Args:
        subject: The scenario's name or file, or `swarm`.
        seed: The seed.
        settings: What `--set` changes.
        runs: Where its run directory goes.
        data_dir: The directory with real disks, if there is one.
        is_repeated: Whether the run is repeated in another process and compared.
    """
    arguments = ["run", subject, "--seed", str(seed)]
    for setting in settings:
        arguments += ["--set", setting]
    arguments += ["--runs", str(runs)] if runs != RUNS else []
    arguments += ["--data-dir", str(data_dir)] if data_dir is not None else []
    return command_line([*arguments, *["--check-determinism"] * is_repeated])
