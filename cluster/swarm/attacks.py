"""Attacks of a drawn scenario on the guards that no other behaviour reaches: some runs have one, of one validator.

What is drawn here comes after all other faults, under keys of its own, and leaves their draws as they were.
"""

from collections.abc import Mapping
from typing import Final

from cluster.swarm.engines.engine import BYZANTINE, DrawnEngine
from faults.byzantine.catalogue import behaviours_of, forms_of
from faults.kinds.drawing import FAULTS_FROM_MS, FAULTS_UNTIL_MS, Plain
from network.draw import Draw

PERCENT: Final = 28
"""Percentage of drawn scenarios with such an attack, where the plan can bear one more Byzantine validator."""

BEHAVIOURS: Final = (
    "forge-header",
    "forge-header",
    "forge-header",
    "forge-body",
    "forge-body",
    "forge-body",
    "odd-encoding",
    "skip-view",
    "skip-view",
    "misshape",
)
"""The behaviours to draw from; those that could part the chain stand there more often."""


MORE_PERCENT: Final = 70
"""Percentage of the Byzantine validators with a further behaviour, in every form that it has."""

MORE_BEHAVIOURS: Final = (
    "forge-header",
    "forge-header",
    "forge-body",
    "forge-body",
    "odd-encoding",
    "equivocate",
)
"""The behaviours to draw a further one from: each has a guard for every form."""


def draw_attack(draw: Draw, validators: int, engine: DrawnEngine) -> dict[str, Plain]:
    """Draw one behaviour for one validator, or nothing."""
    behaviours = [each for each in BEHAVIOURS if each in behaviours_of(engine.name)]
    if not behaviours or not draw.chance("attacks.is_there", PERCENT):
        return {}
    node = draw.between("attacks.validator", 0, validators - 1)
    behaviour = draw.one_of("attacks.behaviour", behaviours)
    forms = forms_of(engine.name, behaviour)
    start_ms = draw.between("attacks.start_ms", FAULTS_FROM_MS, FAULTS_UNTIL_MS - 6_000)
    attack: Plain = {
        "kind": "byzantine",
        "validator": node,
        "behaviour": behaviour,
        "start_ms": start_ms,
        "stop_ms": draw.between("attacks.stop_ms", start_ms + 5_000, FAULTS_UNTIL_MS),
        "every": draw.one_of("attacks.every", (1, 1, 2)),
        # Without a form all have their turn.
        "what": draw.one_of("attacks.what", forms) if draw.chance("attacks.has_form", 50) and forms else "",
    }
    return {f"{behaviour}-{node}": attack}


def draw_more_attacks(draw: Draw, faults: Mapping[str, Plain], engine: DrawnEngine) -> dict[str, Plain]:
    """Draw a further behaviour for Byzantine validators that the plan has already, which costs no more good copies."""
    behaviours = [each for each in MORE_BEHAVIOURS if each in behaviours_of(engine.name)]
    present: dict[int, list[str]] = {}
    for fault in faults.values():
        if fault["kind"] == BYZANTINE:
            present.setdefault(fault["validator"], []).append(fault["behaviour"])
    found: dict[str, Plain] = {}
    for node, its in present.items():
        others = [each for each in behaviours if each not in its]
        if not others or not draw.chance(f"more-attacks.{node}.is_there", MORE_PERCENT):
            continue
        behaviour = draw.one_of(f"more-attacks.{node}.behaviour", others)
        found[f"more-{behaviour}-{node}"] = {
            "kind": BYZANTINE,
            "validator": node,
            "behaviour": behaviour,
            "start_ms": FAULTS_FROM_MS,
            "stop_ms": FAULTS_UNTIL_MS,
        }
    return found
