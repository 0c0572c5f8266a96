"""The program itself: its version, its command name, and child processes that run its modules."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from checker.record.root import PROJECT_ROOT

VERSION: Final = (PROJECT_ROOT / "VERSION").read_text(encoding="ascii").strip()
"""The version; the wheel and `stampede_testbed.__version__` read the same file."""

SCRIPT: Final = "run_cluster.py"
"""The command in a clone."""

IS_INSTALLED: Final = PROJECT_ROOT.name == "_app"
"""Whether the code is that of an installed package, and not of a clone."""

COMMAND: Final = "stampede"
"""The command of an installed package."""

PACKAGE: Final = "stampede_testbed"
"""The package that provides that command."""

MUTATION_TOOL: Final = "python -m tools.mutation"
"""The command of a clone with the catalogue of mutants and the commands of mutation testing."""

CHILD_FLAGS: Final = ("-P",)
"""Flags of the interpreter in every child process: the current folder is not searched for modules."""


def program_name() -> str:
    """Return the name of the command that this process runs."""
    if is_mutation_tool():
        return MUTATION_TOOL
    started = Path(sys.argv[0])
    return COMMAND if started.name == COMMAND or started.parent.name == PACKAGE else SCRIPT


def is_mutation_tool() -> bool:
    """Return whether this process runs the mutation tool."""
    return Path(sys.argv[0]).resolve() == PROJECT_ROOT / "tools" / "mutation" / "__main__.py"


def install_command(extra: str) -> str:
    """Return the command that installs what a command needs besides, by the name of its requirements."""
    named = f"'stampede-testbed[{extra}]'" if IS_INSTALLED else f"--require-hashes -r requirements/{extra}.txt"
    return f"pip install {named}"


def module_process(
    module: str, arguments: Sequence[str], *, hash_seed: int, python: str = sys.executable
) -> dict[str, Any]:
    """Return the keyword arguments of `subprocess` that start one of the project's modules in another process.

    The project's packages come first there. The current folder is not searched, since it may hold one of the same name.
    """
    path = os.pathsep.join(filter(None, [str(PROJECT_ROOT), os.environ.get("PYTHONPATH")]))
    return {
        "args": [python, *CHILD_FLAGS, "-m", module, *arguments],
        "env": {**os.environ, "PYTHONHASHSEED": str(hash_seed), "PYTHONPATH": path},
    }
