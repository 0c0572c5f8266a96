"""The phases of a view in Simplex (docs/simplex.md)."""

from typing import Final

from faults.coverage.engine_phases import EnginePhases, Phase, PhaseStatus
from validators.consensus.simplex import CertificateRequest, Notarize
from validators.consensus.simplex.kind import SIMPLEX
from validators.events import CertificateHeld, Voted


def _voted(status: PhaseStatus, voted: Voted) -> Phase | None:
    if voted.vote == "finalize":
        # The vote leaves after the sync, when the next view may have begun: then the next view's phase is newer.
        return "finalizing" if status.phase == "awaiting-proposal" else None
    if voted.view != status.view or status.phase == "joining":
        return None
    return {"notarize": "notarized", "nullify": "nullified"}[voted.vote]


def _held(status: PhaseStatus, held: CertificateHeld) -> Phase | None:
    if held.certificate == "notarization" and held.view == status.view and status.phase != "joining":
        return "certifying"
    is_final = held.certificate == "finalization" and held.view >= status.voted_view
    return "awaiting-proposal" if is_final and status.phase == "finalizing" else None


SIMPLEX_PHASES: Final = EnginePhases(
    name=SIMPLEX.name,
    phases={
        "notarized": "has voted for the block and waits for a quorum",
        "certifying": "holds a notarization and executes, or stores, its block",
        "finalizing": "has voted for finality and waits for a quorum; nothing of the next view is there",
        "nullified": "has given the view up and waits for a quorum",
    },
    stages={
        "voted": "notarized",
        "certifying": "certifying",
        "finalizing": "finalizing",
        "leaving": "nullified",
    },
    proposal=Notarize.traced_name,
    requests=(CertificateRequest.traced_name,),
    waiting=("finalizing",),
    voted=_voted,
    held=_held,
)
