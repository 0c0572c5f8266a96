"""The faults of a drawn scenario: a few out of many, at drawn times.

Each kind defines its own draw (`Fault.draws`). The rules of `faults.plan` decide whether a fault goes with the earlier
faults; this file does not repeat them. A fault that does not (the same validator twice without power, say) is left out.
"""

from collections.abc import Mapping
from typing import Final

from cluster.swarm.byzantine import draw_byzantine
from cluster.swarm.engines.engine import BYZANTINE, DrawnEngine
from faults import PlanError, check_plan, kind_of
from faults.kinds.drawing import FAULTS_FROM_MS, FAULTS_UNTIL_MS, WHERE_ASKED, Drawn, Plain
from faults.kinds.registry import FAULTS, decode_fault
from network.draw import Draw
from validators.consensus.quorum import faults_of

AWAY_PERCENT: Final = 10
"""Percentage of seeds with exactly f validators offline, or no validator, and no other fault."""

NOBODY_PERCENT: Final = 25
"""Percentage of these seeds in which no validator is offline."""

FAULTS_MAX: Final = 4
"""Most faults in one run, not counting Byzantine behaviours and added faults."""

DRAWN: Final[Mapping[Drawn, str]] = dict(
    sorted((drawn, kind_of(kind)) for kind in FAULTS.built_in for drawn in kind.draws() if drawn.place != WHERE_ASKED)
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
    """Draw a few kinds and keep each fault that goes with the earlier faults; beside a sequence, one at most.

    Args:
        draw: The chance of the seed.
        stratum: Its stratified draw among the seeds of its engine.
        validators: The number of validators.
        sequence: The faults of its sequence.
        engine: Its engine.
        faults_max: Most faults in the run, not counting Byzantine behaviours and added faults.
    """
    if is_just_away(draw):
        return _draw_away(draw, validators)
    found = dict(sequence)
    # Drawn one by one in rotation, as most seeds have a sequence: a few dozen seeds draw every kind.
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
        # A sequence may already have the kind: a second forger could not read the first forgery.
        if (fault["validator"], fault.get("behaviour")) not in forging:
            _keep_if_sound(found, {name: fault}, validators, engine, at_most=None)
    return found


def is_just_away(draw: Draw) -> bool:
    """Return whether a seed only has validators offline, or none: the live validators must keep their pace."""
    return draw.chance("away.is_alone", AWAY_PERCENT)


def _draw_away(draw: Draw, validators: int) -> dict[str, Plain]:
    """Draw only f validators offline for long: if one more vote is missed, finality stops.

    In some of these seeds no validator is offline.
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
    """Return whether the faults of a drawn plan go with each other."""
    try:
        faults = {name: decode_fault(each) for name, each in plan.items()}
        check_plan(faults, validators, engine=engine.name, is_foreign=engine.is_foreign)
    except PlanError:
        return False
    return True
