"""Stampede as a library: each function runs scenarios in a child process and returns typed results.

    import stampede_testbed

    result = stampede_testbed.run("outage-storm", seed=7, faults={"split": {"enabled": False}})
    assert result.passed, result.headline

The child process runs the command line of `stampede`. So the test bed's package names cannot collide with the caller's
packages, and its event loop cannot meet the caller's loop. The functions block: async code calls them in a thread.

This module has the public names. Modules with an underscore, and `_app`, can change with every version.
"""

import os
import sys


def _leave_current_folder() -> None:
    """Remove the current folder from the path; `python -m stampede_testbed` puts it first.

    A `json.py` or `trio.py` in this folder must not replace a library. So the call comes before the first import of a
    module that is not built into the interpreter.
    """
    module = sys.orig_argv[-len(sys.argv)].removesuffix(".__main__") if sys.argv[:1] == ["-m"] else ""
    if module in (__name__, f"-m{__name__}") and not sys.flags.safe_path:
        try:
            sys.path.remove(os.getcwd())  # noqa: PTH109 - the import of pathlib would search this folder
        except (OSError, ValueError):
            # A deleted folder is not on the path.
            return


_leave_current_folder()

from stampede_testbed._child import run, sweep  # noqa: E402 - see above
from stampede_testbed._errors import BadInputError, EnvironmentFailedError, StampedeError  # noqa: E402
from stampede_testbed._results import CheckReport, CodeIdentity, FailedSeed, RunResult, SweepResult  # noqa: E402
from stampede_testbed._version import __version__  # noqa: E402

__all__ = [
    "BadInputError",
    "CheckReport",
    "CodeIdentity",
    "EnvironmentFailedError",
    "FailedSeed",
    "RunResult",
    "StampedeError",
    "SweepResult",
    "__version__",
    "run",
    "sweep",
]
