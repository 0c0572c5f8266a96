"""The interface between the phases of validators and one consensus engine: its own phases, and what begins them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from validators.events import CertificateHeld, Voted
from validators.messages import BlockRelay

Role: TypeAlias = Literal["leader", "voter", "observer"]
"""The role of a validator in its current view; an observer votes for nothing and leads no view."""

ROLES: Final[tuple[Role, ...]] = ("leader", "voter", "observer")

Phase: TypeAlias = str
"""The name of a phase."""

Stage: TypeAlias = Literal[
    "proposing", "awaiting-proposal", "verifying", "voted", "certifying", "finalizing", "leaving", "recovering"
]
"""A part of a view in any engine, by which kinds of faults say whom they have to hit; engines have phases for them."""


@dataclass(slots=True)
class PhaseStatus:
    """The phase, role and view of one validator.

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
    """The phases that one engine adds to those of every engine.

    Attributes:
        name: The engine's name.
        phases: Its phases, in the order in which they are shown, with what each means.
        stages: The phases in which a validator is at the stages that not every engine has.
        proposal: The kind of message by which a leader proposes.
        requests: Kinds of messages that ask for what consensus lacks.
        waiting: The phases of its own that a leader's proposal ends.
        voted: Returns the phase that a sent vote begins; None for none.
        held: Returns the phase that a certificate begins; None for none.
    """

    name: str
    phases: Mapping[Phase, str] = field(default_factory=dict)
    stages: Mapping[Stage, Phase] = field(default_factory=dict)
    proposal: str = BlockRelay.traced_name
    requests: tuple[str, ...] = ()
    waiting: tuple[Phase, ...] = ()
    voted: Callable[[PhaseStatus, Voted], Phase | None] = _stay
    held: Callable[[PhaseStatus, CertificateHeld], Phase | None] = _stay
