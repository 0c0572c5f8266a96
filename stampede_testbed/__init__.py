"""Stampede as a library: runs scenarios in a process of their own and returns typed results.

    import stampede_testbed

    result = stampede_testbed.run("outage-storm", seed=7, faults={"split": {"enabled": False}})
    assert result.passed, result.headline

A child process runs the same command line as `stampede` does. So no name of the test bed enters the caller, whatever
the caller's own packages are called, and a caller that runs an event loop of its own meets no second one; in async code
call these functions in a thread.

Public names stand here; modules with an underscore and `_app` can change with every version.
"""

import os
import sys


def _leave_current_folder() -> None:
    """Take the current folder off the path, where `python -m stampede_testbed` has put it first.

    A `json.py` or `trio.py` there is not ours to run: before the first import that is not built into the interpreter.
    """
    module = sys.orig_argv[-len(sys.argv)].removesuffix(".__main__") if sys.argv[:1] == ["-m"] else ""
    if module in (__name__, f"-m{__name__}") and not sys.flags.safe_path:
        try:
            sys.path.remove(os.getcwd())  # noqa: PTH109 - pathlib is imported from there
        except (OSError, ValueError):
            # A folder that is gone is on no path.
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
