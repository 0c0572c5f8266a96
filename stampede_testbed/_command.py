"""The command `stampede`: finds the test bed's own folders and runs its command line.

An installed package holds them in `_app/`; in a clone they stand beside this package. They are called `network`,
`checker` and the like, names that anybody may have: so they go first on the path of the test bed's own processes, and
never on the path of a program that imports `stampede_testbed`. Other names, with the package's before them, would have
changed every import of the project for that.

This file imports nothing but the standard library, so that it can also be started by its path alone.
"""

import gc
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

EXIT_ENVIRONMENT: Final = 6
EXIT_INTERRUPTED: Final = 130

_HERE: Final = Path(__file__).resolve().parent


def app_directory() -> Path:
    """Return the folder that holds the test bed's packages and its scenarios."""
    installed = _HERE / "_app"
    return installed if installed.is_dir() else _HERE.parent


def enter_app() -> None:
    """Make the test bed's packages the first that this process finds; only for processes of its own."""
    app = str(app_directory())
    if sys.path[:1] != [app]:
        sys.path.insert(0, app)


def main() -> int:
    """Run the command line of this process and return its exit code."""
    try:
        take_ends()
        return _run()
    except KeyboardInterrupt:
        return _give_up("interrupted before anything was done", EXIT_INTERRUPTED)


def take_ends() -> None:
    """Let the signals to end be interrupts, which leave nothing half-written; what is ignored stays so (`nohup`)."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _interrupt)


def _interrupt(*_: object) -> None:
    """Interrupt by the way that trio knows to guard against where an interrupt is taken."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        raise KeyboardInterrupt
    signal.raise_signal(signal.SIGINT)


def _run() -> int:
    enter_app()
    try:
        with _collector_at_rest():
            from cluster.cli.main import load_command  # noqa: PLC0415 - it is found from here on only
            from cluster.cli.main import main as run_command  # noqa: PLC0415 - as above
            from cluster.cli.standard_streams import run_on_standard_streams  # noqa: PLC0415 - as above

            load_command(sys.argv[1:])
    except ModuleNotFoundError as missing:
        return _give_up(
            f"{missing.name} is not installed; pip does so with the package; 'make run' sets up everything in a clone"
        )
    return run_on_standard_streams(run_command, sys.argv[1:])


@contextmanager
def _collector_at_rest() -> Iterator[None]:
    """Import with the garbage collector off: it took two fifths of every start and found next to nothing."""
    gc.disable()
    try:
        yield
    finally:
        # Modules stay until the process ends; without this every full collection of the run would walk them again.
        gc.freeze()
        gc.enable()


def _give_up(reason: str, code: int = EXIT_ENVIRONMENT) -> int:
    # Standard error is None where it was closed from the start.
    if sys.stderr is not None:
        sys.stderr.write(f"stampede: {reason}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
