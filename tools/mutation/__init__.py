"""Mutation testing: the catalogue of known bugs, the campaign against it, and the scan of bugs that nobody wrote.

The catalogue is a plug-in, `stampede-mutants`, in the folder `plugin`. To import this package is to install it: that
folder goes on the path of this process, and on that of the processes that it starts.

    python -m tools.mutation mutants --only tip-burned
"""

import os
import sys
from pathlib import Path
from typing import Final

PLUGIN: Final = "stampede-mutants"
"""The name of the plug-in, which a scenario with a mutant of the catalogue has to give in `plugins`."""

FOLDER: Final = str(Path(__path__[0]).resolve() / "plugin")
"""The folder of the plug-in, as it stands on the paths."""


def _install() -> None:
    """Put the plug-in on both paths, behind all that is there."""
    if FOLDER not in sys.path:
        sys.path.append(FOLDER)
    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if FOLDER not in given:
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [*given, FOLDER]))


_install()
