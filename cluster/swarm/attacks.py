"""Attacks of a drawn scenario on the guards that no other behaviour reaches: some runs have one, of one validator.

What is drawn here comes after all other faults, under keys of its own, and leaves their draws as they were.
"""

from typing import Final

from cluster.swarm.drawn_engine import ENGINE
from faults.byzantine.catalogue import forms_of
from faults.kinds.drawing import Plain
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


def draw_attack(draw: Draw, validators: int, from_ms: int, until_ms: int) -> dict[str, Plain]:
    """Draw one behaviour for one validator, or nothing."""
    if not draw.chance("attacks.is_there", PERCENT):
        return {}
    node = draw.between("attacks.validator", 0, validators - 1)
    behaviour = draw.one_of("attacks.behaviour", BEHAVIOURS)
    start_ms = draw.between("attacks.start_ms", from_ms, until_ms - 6_000)
    attack: Plain = {
        "kind": "byzantine",
        "validator": node,
        "behaviour": behaviour,
        "start_ms": start_ms,
        "stop_ms": draw.between("attacks.stop_ms", start_ms + 5_000, until_ms),
        "every": draw.one_of("attacks.every", (1, 1, 2)),
        "what": draw.one_of("attacks.what", ("", *forms_of(ENGINE, behaviour))),
    }
    return {f"{behaviour}-{node}": attack}
