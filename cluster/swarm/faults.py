"""The faults of a drawn scenario: a few out of many, at drawn times.

How a kind is drawn is the kind's own (`Fault.draws`). A fault that does not go with those drawn before it (the same
validator twice without power, say) is left out by asking the rules of `faults.plan`, not by repeating them here.
"""

from collections.abc import Mapping
from typing import Final

from cluster.swarm.byzantine import draw_byzantine
from cluster.swarm.engines.engine import BYZANTINE, DrawnEngine
from faults import PlanError, check_plan, kind_of
from faults.kinds.drawing import FAULTS_FROM_MS, FAULTS_UNTIL_MS, Drawn, Plain
from faults.kinds.registry import FAULTS, decode_fault
from network.draw import Draw
from validators.consensus.quorum import faults_of

AWAY_PERCENT: Final = 10
"""Percentage of seeds with exactly f validators offline, or none, and no other fault."""

NOBODY_PERCENT: Final = 25
"""Percentage of these seeds in which nobody is offline."""

FAULTS_MAX: Final = 4
"""Most faults in one run, without what Byzantine validators do and without what is added."""

DRAWN: Final[Mapping[Drawn, str]] = dict(
    sorted((drawn, kind_of(kind)) for kind in FAULTS.built_in for drawn in kind.draws())
)
"""Every way to draw a fault with its kind, in the order of places: the list that draws choose from."""


def draw_faults(
    draw: Draw,
    stratum: Draw,
    validators: int,
    *,
    sequence: Mapping[str, Plain],
    engine: DrawnEngine,
    faults_max: int = FAULTS_MAX,
) -> dict[str, Plain]:
    """Draw a few kinds and keep each fault that goes with those before it; beside a sequence, one at most.

    Args:
        draw: The chance of the seed.
        stratum: Its chance beside the others of its engine.
        validators: The number of validators.
        sequence: The faults of its sequence.
        engine: Its engine.
        faults_max: Most faults in the run, without what Byzantine validators do and without what is added.
    """
    if is_just_away(draw):
        return _draw_away(draw, validators)
    found = dict(sequence)
    # Dealt one by one, as most seeds have a sequence: so every kind has its turn in a few dozen seeds.
    count = 1 if sequence else draw.one_of("faults.count", (1, 1, 2, 3, 3, FAULTS_MAX))
    for drawn in draw.next_of("faults.kinds", list(DRAWN), count):
        fault = {"kind": DRAWN[drawn], **drawn.make(draw, drawn.name, validators)}
        if (
            _keep_if_sound(found, {drawn.name: fault}, validators, engine, at_most=faults_max)
            and drawn.companion is not None
        ):
            name = f"{drawn.name}-crash"
            companion = drawn.companion(draw, name, fault, validators)
            _keep_if_sound(found, {name: companion}, validators, engine, at_most=faults_max)
    forging = [(fault["validator"], fault["behaviour"]) for fault in found.values() if fault["kind"] == BYZANTINE]
    for name, fault in draw_byzantine(stratum, validators, engine).items():
        # A sequence may have it already: what one has forged the other one cannot read.
        if (fault["validator"], fault["behaviour"]) not in forging:
            _keep_if_sound(found, {name: fault}, validators, engine, at_most=None)
    return found


def is_just_away(draw: Draw) -> bool:
    """Whether a seed has validators offline, or nobody, and no other fault: the others must go on at their pace."""
    return draw.chance("away.is_alone", AWAY_PERCENT)


def _draw_away(draw: Draw, validators: int) -> dict[str, Plain]:
    """Draw nothing but that f validators are down for long: where one more vote is missed, finality stands still.

    In some of these seeds nobody is.
    """
    if draw.chance("away.is_nobody", NOBODY_PERCENT):
        return {}
    return {
        f"away-{node}": {
            "kind": "crash",
            "validator": node,
            "at_ms": FAULTS_FROM_MS + 500,
            "restart_ms": FAULTS_UNTIL_MS,
        }
        for node in draw.some_of("away.validators", range(validators), faults_of(validators))
    }


def _keep_if_sound(
    found: dict[str, Plain],
    more: Mapping[str, Plain],
    validators: int,
    engine: DrawnEngine,
    *,
    at_most: int | None,
) -> bool:
    plan = {**found, **{name: engine.in_own_words(fault) for name, fault in more.items()}}
    if (at_most is not None and len(found) >= at_most) or not is_sound(plan, validators, engine):
        return False
    found |= plan
    return True


def is_sound(plan: Mapping[str, Plain], validators: int, engine: DrawnEngine) -> bool:
    """Whether the faults of a drawn plan go with each other."""
    try:
        faults = {name: decode_fault(each) for name, each in plan.items()}
        check_plan(faults, validators, engine=engine.name, is_foreign=engine.is_foreign)
    except PlanError:
        return False
    return True
