#!/usr/bin/env python3
"""The front door of Stampede: the command line and nothing else.

This file must parse on every Python 3: it is what says that the others do not suit.
"""

import sys

SUPPORTED = ((3, 11), (3, 13))
EXIT_ENVIRONMENT = 6
EXIT_INTERRUPTED = 130


def give_up(message: str, code: int = EXIT_ENVIRONMENT) -> None:
    """Say why nothing was begun, if there is anybody to hear it, and leave."""
    if sys.stderr is not None:
        sys.stderr.write(message)
    sys.exit(code)


if not SUPPORTED[0] <= sys.version_info[:2] <= SUPPORTED[1]:
    give_up(
        "stampede needs Python 3.11, 3.12 or 3.13; this is %d.%d (%s)\n"  # noqa: UP031
        % (sys.version_info[0], sys.version_info[1], sys.executable)
    )

try:
    from cluster.cli.commands import main
    from cluster.cli.standard_streams import run_on_standard_streams
except ModuleNotFoundError as missing:
    give_up(f"stampede: {missing.name} is not installed; 'make run' sets up everything in .venv\n")
except KeyboardInterrupt:
    give_up("run_cluster.py: interrupted before anything was done\n", EXIT_INTERRUPTED)

if __name__ == "__main__":
    sys.exit(run_on_standard_streams(main, sys.argv[1:]))
