#!/usr/bin/env python3
"""The front door of Stampede in a clone: the command `stampede` and nothing else.

This file must parse on every Python 3: it is what says that the others do not suit.
"""

import sys

SUPPORTED = ((3, 11), (3, 13))
EXIT_ENVIRONMENT = 6

if not SUPPORTED[0] <= sys.version_info[:2] <= SUPPORTED[1]:
    if sys.stderr is not None:
        sys.stderr.write(
            "stampede needs Python 3.11, 3.12 or 3.13; this is %d.%d (%s)\n"  # noqa: UP031
            % (sys.version_info[0], sys.version_info[1], sys.executable)
        )
    sys.exit(EXIT_ENVIRONMENT)

from stampede_testbed._command import main  # noqa: E402 - nothing newer is imported before the check

if __name__ == "__main__":
    sys.exit(main())
