"""The phases of every consensus engine, by the engine's name."""

from collections.abc import Mapping
from typing import Final

from faults.coverage.engine_phases import EnginePhases, Phase
from faults.coverage.hotstuff import HOTSTUFF_PHASES
from faults.coverage.longest_chain import LONGEST_CHAIN_PHASES
from faults.coverage.simplex import SIMPLEX_PHASES

ENGINE_PHASES: Final[Mapping[str, EnginePhases]] = {
    phases.name: phases for phases in (SIMPLEX_PHASES, HOTSTUFF_PHASES, LONGEST_CHAIN_PHASES)
}
"""An engine without an entry has only the phases of every engine."""

_BEGINNING: Final[Mapping[Phase, str]] = {
    "proposing": "leads the view and has not voted for its block yet",
    "awaiting-proposal": "waits for the leader",
    "verifying": "has the leader's vote and executes the block",
}

_BESIDE: Final[Mapping[Phase, str]] = {
    "fetching": "asks for a block or a certificate that it lacks",
    "joining": "asks for a snapshot",
    "recovering": "has power and reads its disk",
    "halted": "has stopped with a reason",
    "down": "has no power",
}

OF_EVERY_ENGINE: Final = (*_BEGINNING, *_BESIDE)
"""The phases that do not depend on the engine."""

PHASES: Final[Mapping[Phase, str]] = {
    **_BEGINNING,
    **{phase: meaning for engine in ENGINE_PHASES.values() for phase, meaning in engine.phases.items()},
    **_BESIDE,
}
"""Every phase of every engine in display order, with its meaning."""


def phases_of(engine: str) -> EnginePhases:
    """Return the phases that an engine adds to the phases of every engine."""
    return ENGINE_PHASES.get(engine) or EnginePhases(name=engine)
