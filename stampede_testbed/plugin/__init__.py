"""The public names for plug-ins, a module for each group of entry points, and `events` for checks.

    from stampede_testbed.plugin.faults import FaultContext, Windowed

The rooms of the test bed are top-level packages only in its own processes (stampede_testbed/_command.py). An import of
this package puts their folder first on the path, so that any process can import and test a plug-in. A program that only
runs scenarios imports `stampede_testbed`, and no room enters it.

`python -m stampede_testbed.plugin` prints the folder of the rooms for a type checker.
"""

import sys
from pathlib import Path
from typing import Final

from stampede_testbed._command import app_directory, enter_app

ROOMS: Final = ("checker", "cluster", "faults", "network", "report", "scheduler", "validators")
"""The top-level packages of the test bed."""


def _refuse_strangers() -> None:
    """Raise ImportError if a room's name is imported from another package: the process would mix both packages."""
    for room in ROOMS:
        found = sys.modules.get(room)
        place = getattr(found, "__file__", None)
        if found is not None and (place is None or app_directory() not in Path(place).resolve().parents):
            origin = place or "another place"
            raise ImportError(f"{room} was imported from {origin}, before the test bed's own package")


_refuse_strangers()
enter_app()
