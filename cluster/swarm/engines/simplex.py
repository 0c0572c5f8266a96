"""The engine `simplex` of drawn scenarios, in whose terms all faults are drawn."""

from typing import Final

from cluster.swarm.engines.engine import DrawnEngine
from cluster.swarm.sequences.simplex import LATER_SIMPLEX_SEQUENCES, SIMPLEX_SEQUENCES
from faults.kinds.drawing import Plain
from network.draw import Draw
from validators.consensus.simplex.kind import SIMPLEX

IMPATIENT_PERCENT: Final = 25
"""Percentage of its scenarios in which validators soon repeat their nullify, and soon skip a silent leader."""


def _draw_section(draw: Draw) -> Plain:
    if not draw.chance("simplex.has_short_timeouts", IMPATIENT_PERCENT):
        return {}
    return {
        "timeout_retry_ms": draw.one_of("simplex.timeout_retry_ms", (700, 1_500)),
        "skip_timeout_ms": draw.one_of("simplex.skip_timeout_ms", (3_500, 5_000)),
    }


DRAWN_SIMPLEX: Final = DrawnEngine(
    SIMPLEX.name,
    share=9,
    section=_draw_section,
    proposing=("forge-parent",),
    sequences=SIMPLEX_SEQUENCES,
    later=LATER_SIMPLEX_SEQUENCES,
)
