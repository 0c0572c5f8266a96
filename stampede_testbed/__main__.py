"""Runs the command `stampede` as `python -m stampede_testbed`."""

import sys

from stampede_testbed._command import main

if __name__ == "__main__":
    sys.exit(main())
