"""The interface between the phases of validators and a consensus engine: its own phases and their beginnings."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from validators.events import CertificateHeld, Voted
from validators.messages import BlockRelay

Role: TypeAlias = Literal["leader", "voter", "observer"]
"""The role of a validator in its current view; an observer never votes or leads."""

ROLES: Final[tuple[Role, ...]] = ("leader", "voter", "observer")

Phase: TypeAlias = str
"""The name of a phase."""

Stage: TypeAlias = Literal[
    "proposing", "awaiting-proposal", "verifying", "voted", "certifying", "finalizing", "leaving", "recovering"
]
"""A part of a view in any engine; kinds of faults require hits at stages, and engines map stages to phases."""


@dataclass(slots=True)
class PhaseStatus:
    """The phase, role and view of a validator.

    Attributes:
        phase: Its phase.
        role: Its role in its view.
        view: The view that it has entered.
        leader: The leader of that view, -1 before the first.
        voted_view: The view of the vote that began the phase.
    """

    phase: Phase = "recovering"
    role: Role = "voter"
    view: int = 0
    leader: int = -1
    voted_view: int = 0


def _stay(_status: PhaseStatus, _event: Voted | CertificateHeld) -> Phase | None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class EnginePhases:
    """The phases that an engine adds to the phases of every engine.

    Attributes:
        name: The engine's name.
        phases: Its phases in display order, with their meanings.
        stages: The phases for stages that not every engine has.
        proposal: The kind of message by which a leader proposes.
        requests: Kinds of messages that ask for missing parts of consensus.
        waiting: The engine's phases that a leader's proposal ends.
        voted: Returns the phase that a sent vote begins, or None.
        held: Returns the phase that a certificate begins, or None.
    """

    name: str
    phases: Mapping[Phase, str] = field(default_factory=dict)
    stages: Mapping[Stage, Phase] = field(default_factory=dict)
    proposal: str = BlockRelay.traced_name
    requests: tuple[str, ...] = ()
    waiting: tuple[Phase, ...] = ()
    voted: Callable[[PhaseStatus, Voted], Phase | None] = _stay
    held: Callable[[PhaseStatus, CertificateHeld], Phase | None] = _stay
