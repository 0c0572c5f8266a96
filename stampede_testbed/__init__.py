"""Stampede as a library: runs scenarios in a process of their own and returns typed results.

    import stampede_testbed

    result = stampede_testbed.run("outage-storm", seed=7, faults={"split": {"enabled": False}})
    assert result.passed, result.headline

A child process runs the same command line as `stampede` does. So no name of the test bed enters the caller, whatever
the caller's own packages are called, and a caller that runs an event loop of its own meets no second one; in async code
call these functions in a thread.

Public names stand here; modules with an underscore and `_app` can change with every version.
"""

from stampede_testbed._child import run, sweep
from stampede_testbed._errors import BadInputError, EnvironmentFailedError, StampedeError
from stampede_testbed._results import CheckReport, CodeIdentity, FailedSeed, RunResult, SweepResult
from stampede_testbed._version import __version__

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
