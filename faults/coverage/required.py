"""Stages and roles that no campaign with a kind of fault may leave out: sets that kinds choose from.

Required is what a thousand drawn runs reach many times over (about each fourth run in which the fault had an effect,
or more often), so that an empty cell means a hole in the campaign and not bad luck.
"""

from typing import Final, TypeAlias

from faults.coverage.engine_phases import Phase, Role, Stage
from faults.coverage.registry import OF_EVERY_ENGINE, phases_of

Cells: TypeAlias = tuple[tuple[Stage, Role], ...]

DEFAULT: Final[Cells] = (("proposing", "leader"), ("awaiting-proposal", "voter"))
"""Hits a leader with a block to propose, and a voter that waits for it."""

VERIFYING: Final[Cells] = (*DEFAULT, ("verifying", "voter"))
"""The machine is hit while it does the work of a view."""

VOTING: Final[Cells] = (*VERIFYING, ("voted", "leader"), ("voted", "voter"))
"""A fault that lasts longer than a view is there after its votes as well."""

TIMESTAMPS: Final[Cells] = (("proposing", "leader"), ("verifying", "voter"))
"""A wrong clock is read where a header gets its timestamp and where that is judged."""

MESSAGES: Final[Cells] = (*VOTING, ("finalizing", "voter"))
"""Every vote and certificate of a view is hit on its way."""

CUTS: Final[Cells] = (*MESSAGES, ("leaving", "voter"))
"""A cut lasts until views are given up."""


def required_phases(cells: Cells, engine: str) -> tuple[tuple[Phase, Role], ...]:
    """Return the phases and roles of an engine for these cells; a stage that it does not have is left out."""
    own = phases_of(engine).stages
    named = ((stage if stage in OF_EVERY_ENGINE else own.get(stage), role) for stage, role in cells)
    return tuple((phase, role) for phase, role in named if phase is not None)
