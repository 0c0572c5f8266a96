"""Prints the folder of the test bed's packages, for a type checker: `MYPYPATH=$(python -m stampede_testbed.plugin)`."""

import sys

from stampede_testbed._command import app_directory

if __name__ == "__main__":
    if sys.argv[1:]:
        sys.exit(f"python -m stampede_testbed.plugin takes no argument, got {sys.argv[1]!r}")
    sys.stdout.write(f"{app_directory()}\n")
