#!/usr/bin/env python3
"""The front door of Stampede: the command line and nothing else.

This file must parse on every Python 3: it is what says that the others do not suit.
"""

import sys

SUPPORTED = ((3, 11), (3, 13))
EXIT_ENVIRONMENT = 6

if not SUPPORTED[0] <= sys.version_info[:2] <= SUPPORTED[1]:
    sys.stderr.write(
        "stampede needs Python 3.11, 3.12 or 3.13; this is %d.%d (%s)\n"  # noqa: UP031
        % (sys.version_info[0], sys.version_info[1], sys.executable)
    )
    sys.exit(EXIT_ENVIRONMENT)

try:
    from cluster.commands import main
except ModuleNotFoundError as missing:
    sys.stderr.write(f"stampede: {missing.name} is not installed; 'make run' sets up everything in .venv\n")
    sys.exit(EXIT_ENVIRONMENT)

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
