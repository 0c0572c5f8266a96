"""Runs the command `stampede` as `python -m stampede_testbed`."""

import sys

from stampede_testbed._command import main

if __name__ == "__main__":
    if not sys.flags.safe_path:
        # Python puts the current folder first for `-m`, and a `trio.py` there is not the one that is meant.
        del sys.path[0]
    sys.exit(main())
