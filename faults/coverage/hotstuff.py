"""The phases of a view in HotStuff."""

from typing import Final

from faults.coverage.engine_phases import EnginePhases, Phase, PhaseStatus
from validators.consensus.hotstuff.kind import HOTSTUFF, VOTE_WORD
from validators.events import CertificateHeld, Voted


def _voted(status: PhaseStatus, voted: Voted) -> Phase | None:
    if status.phase == "joining":
        return None
    if voted.vote == VOTE_WORD:
        return "vote-sent" if voted.view == status.view else None
    return "view-given-up" if voted.view == status.view else None


def _held(status: PhaseStatus, held: CertificateHeld) -> Phase | None:
    is_entry = held.certificate == "timeout-certificate" and held.view == status.view - 1
    return "awaiting-proposal" if is_entry and status.phase == "view-given-up" else None


HOTSTUFF_PHASES: Final = EnginePhases(
    name=HOTSTUFF.name,
    phases={
        "vote-sent": "has voted for the block, and waits for the next one with its certificate",
        "view-given-up": "has said that its view is given up, and waits for a quorum or for the leader",
    },
    stages={"voted": "vote-sent", "leaving": "view-given-up"},
    waiting=("view-given-up",),
    voted=_voted,
    held=_held,
)
