"""The command line of the test bed with the catalogue of mutants, and with the commands of mutation testing.

    python -m tools.mutation mutants --only tip-burned
    python -m tools.mutation explain runs/swarm-0

Every command of the test bed is here as well: with the plug-in on the path it runs, explains and replays a record with
a mutant of the catalogue.
"""

import sys
from typing import Final

from cluster.cli.main import add_commands
from stampede_testbed._command import main

COMMANDS: Final = {
    "mutants": (
        "tools.mutation.commands",
        "run known bugs one by one and say which check kills each, after how many seeds",
    ),
    "scan": (
        "tools.mutation.commands",
        "change the code in places that nobody chose, and say what no check notices",
    ),
    "blind": (
        "tools.mutation.commands",
        "put bugs that were written blind into the code, and say which run and which test sees each",
    ),
    "distances": (
        "tools.mutation.commands",
        "say how long before a run notices a known bug its failure is decided",
    ),
}
"""Every command that this tool adds, with the package of its module, which has its name, and its line in the help."""

if __name__ == "__main__":
    add_commands(COMMANDS)
    sys.exit(main())
