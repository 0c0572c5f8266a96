"""The command line of the mutation tool, in this process."""

from unittest.mock import patch

from cluster.cli.main import COMMANDS, main
from tools.mutation.__main__ import COMMANDS as MORE


def tool_main(arguments):
    """Run one command line of `python -m tools.mutation` and return its exit code."""
    with patch.dict(COMMANDS, MORE):
        return main(arguments)
