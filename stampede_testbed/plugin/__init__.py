"""The public names for plug-ins, a module for each group of entry points, and `events` for checks.

    from stampede_testbed.plugin.faults import FaultContext, Windowed

The rooms of the test bed are top-level packages in its own processes alone (stampede_testbed/_command.py). To import
this package is to ask for them: it puts their folder first on the path, so that a plug-in can be imported and tested in
any process. A program that only runs scenarios imports `stampede_testbed`, and no room enters it.

`python -m stampede_testbed.plugin` prints that folder, which a type checker has to know.
"""

import sys
from pathlib import Path
from typing import Final

from stampede_testbed._command import app_directory, enter_app

ROOMS: Final = ("checker", "cluster", "faults", "network", "report", "scheduler", "validators")
"""The top-level packages of the test bed."""


def _refuse_strangers() -> None:
    """Raise ImportError where another package of a room's name was imported before: half of it would be ours."""
    for room in ROOMS:
        found = sys.modules.get(room)
        place = getattr(found, "__file__", None)
        if found is not None and (place is None or app_directory() not in Path(place).resolve().parents):
            raise ImportError(f"{room} of {place or 'another place'} was imported before the test bed's own package")


_refuse_strangers()
enter_app()
