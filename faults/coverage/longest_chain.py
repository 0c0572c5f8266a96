"""The phases of a slot of the longest chain: the phases of every engine, with the messages that begin them."""

from typing import Final

from faults.coverage.engine_phases import EnginePhases, Phase, PhaseStatus
from validators.consensus.longest_chain import Announcement, HeadRequest
from validators.consensus.longest_chain.kind import LONGEST_CHAIN
from validators.events import Voted


def _voted(status: PhaseStatus, voted: Voted) -> Phase | None:
    # Its own block has left: a leader has nothing more to do in its slot.
    return "awaiting-proposal" if voted.view == status.view and status.phase != "joining" else None


LONGEST_CHAIN_PHASES: Final = EnginePhases(
    name=LONGEST_CHAIN.name,
    proposal=Announcement.traced_name,
    requests=(HeadRequest.traced_name,),
    voted=_voted,
)
