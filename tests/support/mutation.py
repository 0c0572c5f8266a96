"""The mutation tool in tests: its command line in this process, and the setting that its mutants need."""

from unittest.mock import patch

from cluster.cli.main import COMMANDS, main
from tools.mutation import PLUGIN
from tools.mutation.__main__ import COMMANDS as MORE

WITH_CATALOGUE = f'plugins=["{PLUGIN}"]'
"""The setting of a scenario with a mutant of the catalogue."""


def tool_main(arguments):
    """Run one command line of `python -m tools.mutation` and return its exit code."""
    with patch.dict(COMMANDS, MORE):
        return main(arguments)
