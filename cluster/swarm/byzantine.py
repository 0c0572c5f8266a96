"""Byzantine validators of a drawn scenario: in most runs no validator, else one or as many as the cluster can bear.

What is drawn here comes after all other faults and leaves their draws as they were.
"""

from typing import Final

from cluster.swarm.engines.engine import DrawnEngine
from faults.byzantine.catalogue import forms_of
from faults.kinds.drawing import FAULTS_FROM_MS, FAULTS_UNTIL_MS, Plain
from faults.kinds.simplex_messages import FINALITY, VOTES
from network.draw import Draw
from validators.consensus.quorum import faults_of

PERCENT: Final = 20
"""Percentage of drawn scenarios with a Byzantine validator."""

BEHAVIOURS: Final = (
    "equivocate",
    "double-vote",
    "conflicting-votes",
    "blind-vote",
    "nullify-and-finalize",
    "amnesia",
    "silent-leader",
    "withhold",
    "stale-votes",
    "mutate-votes",
    "replay",
    "forge-block",
    "forge-block",
    "forge-block",
    "drag-time",
    "forge-answers",
    "thin-certificates",
    "garbage",
    "flood",
)
"""The behaviours to draw from; one that touches timers stands there more often."""

_WITHHELD: Final = (
    (),
    ("BlockRelay",),
    VOTES,
    FINALITY,
    ("BlockResponse", "SnapshotChunk"),
)


def draw_byzantine(draw: Draw, validators: int, engine: DrawnEngine) -> dict[str, Plain]:
    """Draw one or two behaviours for each of at most f validators, or nothing."""
    behaviours = engine.admitted(BEHAVIOURS)
    if not behaviours or not draw.chance("dishonest.is_there", PERCENT):
        return {}
    count = draw.between("dishonest.count", 1, faults_of(validators))
    found: dict[str, Plain] = {}
    for place, node in enumerate(draw.some_of("dishonest.validators", range(validators), count)):
        for behaviour in draw.some_of(
            f"dishonest.{place}.behaviours", behaviours, 1 + draw.chance(f"dishonest.{place}.is_both", 40)
        ):
            name = f"{behaviour}-{node}"
            found[name] = _draw_one(draw, f"dishonest.{name}", node, behaviour, engine=engine)
    return found


def _draw_one(draw: Draw, name: str, node: int, behaviour: str, *, engine: DrawnEngine) -> Plain:
    start_ms = draw.between(f"{name}.start_ms", FAULTS_FROM_MS, FAULTS_UNTIL_MS - 6_000)
    fault: Plain = {
        "kind": "byzantine",
        "validator": node,
        "behaviour": behaviour,
        "start_ms": start_ms,
        "stop_ms": draw.between(f"{name}.stop_ms", start_ms + 5_000, FAULTS_UNTIL_MS),
        "every": draw.one_of(f"{name}.every", (1, 1, 1, 2)),
        "what": draw.one_of(f"{name}.what", ("", *forms_of(engine.name, behaviour))),
    }
    if behaviour == "amnesia":
        fault["every_ms"] = draw.between(f"{name}.every_ms", 700, 4_000)
    if behaviour == "withhold":
        fault["kinds"] = list(draw.one_of(f"{name}.kinds", _WITHHELD))
        fault["to"] = [] if draw.chance(f"{name}.is_to_all", 50) else [(node + 1) % 4]
    return fault
