"""Sets of stages and roles that a campaign with a kind of fault has to reach.

A point is required only if a thousand drawn runs reach it many times (about each fourth run in which the fault had an
effect, or more often). So an empty coverage point means a hole in the campaign, not bad luck.
"""

from typing import Final, TypeAlias

from faults.coverage.engine_phases import Phase, Role, Stage
from faults.coverage.registry import OF_EVERY_ENGINE, phases_of

RequiredPoints: TypeAlias = tuple[tuple[Stage, Role], ...]

DEFAULT: Final[RequiredPoints] = (("proposing", "leader"), ("awaiting-proposal", "voter"))
"""Hits a leader with a block to propose, and a voter that waits for it."""

VERIFYING: Final[RequiredPoints] = (*DEFAULT, ("verifying", "voter"))
"""The machine is hit while it does the work of a view."""

VOTING: Final[RequiredPoints] = (*VERIFYING, ("voted", "leader"), ("voted", "voter"))
"""A fault that lasts longer than a view is active after its votes as well."""

TIMESTAMPS: Final[RequiredPoints] = (("proposing", "leader"), ("verifying", "voter"))
"""A wrong clock is read where a header gets its timestamp and where validators judge the timestamp."""

MESSAGES: Final[RequiredPoints] = (*VOTING, ("finalizing", "voter"))
"""Every vote and certificate of a view is hit on its way."""

CUTS: Final[RequiredPoints] = (*MESSAGES, ("leaving", "voter"))
"""A cut lasts until validators give views up."""


def required_phases(points: RequiredPoints, engine: str) -> tuple[tuple[Phase, Role], ...]:
    """Return the phases and roles of an engine for these points, without stages that the engine does not have."""
    own = phases_of(engine).stages
    named = ((stage if stage in OF_EVERY_ENGINE else own.get(stage), role) for stage, role in points)
    return tuple((phase, role) for phase, role in named if phase is not None)
