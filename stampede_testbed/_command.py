"""The command `stampede`: finds the test bed's folders and runs its command line.

An installed package holds the folders in `_app/`; in a clone they are beside this package. Their names, for example
`network` and `checker`, may collide with a user's packages. So they come first on the path of the test bed's own
processes, and never enter the path of a program that imports `stampede_testbed`. A prefix before the names would change
every import of the project.

This file imports only the standard library, so that a process can start it by its file path.
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
    """Put the test bed's packages first on the path of this process; only for the test bed's own processes."""
    app = str(app_directory())
    if sys.path[:1] != [app]:
        sys.path.insert(0, app)


def main() -> int:
    """Run the command line of this process and return its exit code."""
    try:
        take_ends()
        return _run()
    except KeyboardInterrupt:
        return _give_up("interrupted before the command began", EXIT_INTERRUPTED)


def take_ends() -> None:
    """Handle termination signals as interrupts, which leave no half-written file; ignored signals stay ignored."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _interrupt)


def _interrupt(*_: object) -> None:
    """Raise SIGINT, so that trio decides where the interrupt is raised."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        raise KeyboardInterrupt
    signal.raise_signal(signal.SIGINT)


def _run() -> int:
    enter_app()
    try:
        with _collector_at_rest():
            from cluster.cli.main import load_command  # noqa: PLC0415 - the path has its folder only from here on
            from cluster.cli.main import main as run_command  # noqa: PLC0415 - as above
            from cluster.cli.standard_streams import run_on_standard_streams  # noqa: PLC0415 - as above

            load_command(sys.argv[1:])
    except ModuleNotFoundError as missing:
        return _give_up(
            f"{missing.name} is not installed; pip installs it with the package, and 'make run' installs it in a clone"
        )
    return run_on_standard_streams(run_command, sys.argv[1:])


@contextmanager
def _collector_at_rest() -> Iterator[None]:
    """Import with the garbage collector off: it took two fifths of the start time and freed nearly nothing."""
    gc.disable()
    try:
        yield
    finally:
        # Modules stay until the process ends; without this call every full collection would visit them again.
        gc.freeze()
        gc.enable()


def _give_up(reason: str, code: int = EXIT_ENVIRONMENT) -> int:
    # Standard error is None if it was closed at the start.
    if sys.stderr is not None:
        sys.stderr.write(f"stampede: {reason}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
