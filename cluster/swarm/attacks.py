"""Attacks of a drawn scenario on the guards that no other behaviour reaches: some runs have one, of one validator.

What is drawn here comes after all other faults, under keys of its own, and leaves their draws as they were.
"""

from typing import Final

from cluster.swarm.engines.engine import DrawnEngine
from faults.byzantine.catalogue import behaviours_of, forms_of
from faults.kinds.drawing import FAULTS_FROM_MS, FAULTS_UNTIL_MS, Plain
from network.draw import Draw

PERCENT: Final = 22
"""Percentage of drawn scenarios with such an attack, where the plan can bear one more Byzantine validator."""

BEHAVIOURS: Final = (
    "forge-header",
    "forge-header",
    "forge-body",
    "forge-body",
    "odd-encoding",
    "skip-view",
    "skip-view",
    "misshape",
)
"""The behaviours to draw from; those that could part the chain stand there more often."""


def draw_attack(draw: Draw, validators: int, engine: DrawnEngine) -> dict[str, Plain]:
    """Draw one behaviour for one validator, or nothing."""
    behaviours = [each for each in BEHAVIOURS if each in behaviours_of(engine.name)]
    if not behaviours or not draw.chance("attacks.is_there", PERCENT):
        return {}
    node = draw.between("attacks.validator", 0, validators - 1)
    behaviour = draw.one_of("attacks.behaviour", behaviours)
    start_ms = draw.between("attacks.start_ms", FAULTS_FROM_MS, FAULTS_UNTIL_MS - 6_000)
    attack: Plain = {
        "kind": "byzantine",
        "validator": node,
        "behaviour": behaviour,
        "start_ms": start_ms,
        "stop_ms": draw.between("attacks.stop_ms", start_ms + 5_000, FAULTS_UNTIL_MS),
        "every": draw.one_of("attacks.every", (1, 1, 2)),
        "what": draw.one_of("attacks.what", ("", *forms_of(engine.name, behaviour))),
    }
    return {f"{behaviour}-{node}": attack}
