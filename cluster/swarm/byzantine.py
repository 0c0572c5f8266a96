"""Byzantine validators of a drawn scenario: none in most runs, else one or the most that the cluster tolerates.

Behaviours come from stratified draws. There are more behaviours than Byzantine validators in a few dozen seeds: by
chance a third of the behaviours would be missing. These draws come after all other faults and leave their draws
unchanged.
"""

from collections.abc import Mapping
from typing import Final

from cluster.swarm.engines.engine import DrawnEngine
from faults.byzantine.catalogue import forms_of
from faults.kinds.drawing import FAULTS_FROM_MS, FAULTS_UNTIL_MS, Plain
from faults.kinds.simplex_messages import FINALITY, VOTES
from network.draw import Draw
from validators.consensus.quorum import faults_of

IS_THERE: Final = (*[True] * 9, *[False] * 11)
"""One value a seed: whether a validator is Byzantine, where the plan tolerates one."""

LEADING_UNTIL_MS: Final = 22_000
"""Behaviours of leaders end by then. Beside other faults a leader may have no view of its own, so here it has some."""

TWIN_PERCENT: Final = 12
"""Percentage of seeds with Byzantine validators in which one of these has a twin too."""

IMPERSONATOR_PERCENT: Final = 15
"""Percentage of seeds with Byzantine validators in which one of these also votes as other validators."""

CUT_OFF_PERCENT: Final = 12
"""Percentage of seeds with Byzantine validators in which peers cut these off."""

SIDES: Final = 2
"""Behaviours from each of the two lists that a seed's Byzantine validators get together."""

PROPOSING: Final = (
    "equivocate",
    "silent-leader",
    "forge-block",
    "forge-block",
    "skew-timestamps",
    "forge-header",
    "forge-header",
    "forge-body",
    "forge-body",
    "skip-view",
)
"""Behaviours of a leader; a behaviour with many forms is listed twice."""

SPEAKING: Final = (
    "double-vote",
    "conflicting-votes",
    "blind-vote",
    "nullify-and-finalize",
    "amnesia",
    "withhold",
    "stale-votes",
    "mutate-votes",
    "replay",
    "forge-answers",
    "forge-snapshot",
    "forge-snapshot",
    "probe-snapshots",
    "invalid-certificates",
    "garbage",
    "flood",
    "noncanonical-encoding",
    "malformed-votes",
)
"""Behaviours in messages about other validators' blocks, and in answers."""

_NOT_DRAWN: Final = ("bit",)
"""Forms that only a scenario names: one form more to draw from would change the draws of seeds."""

_WITHHELD: Final = (
    (),
    ("BlockRelay",),
    VOTES,
    FINALITY,
    ("BlockResponse", "SnapshotChunk"),
)


def draw_byzantine(stratum: Draw, validators: int, engine: DrawnEngine) -> dict[str, Plain]:
    """Return some behaviours of at most f validators, one of them with a twin now and then, or nothing.

    Args:
        stratum: The seed's stratified draw among the seeds of its engine.
        validators: The number of validators.
        engine: Their engine.
    """
    proposing, speaking = (engine.admitted(each) for each in (PROPOSING, SPEAKING))
    # Under the engine's own name: else each engine would get the same behaviours in the same round.
    key = f"byzantine.{engine.name}"
    if not speaking or not stratum.stratified(key, IS_THERE):
        return {}
    own = stratum.stratum(key, IS_THERE)
    count = own.between("byzantine.count", 1, faults_of(validators))
    nodes = own.some_of("byzantine.validators", range(validators), count)
    leading = list(dict.fromkeys(own.next_of(f"{key}.proposing", (*proposing, *engine.proposing), SIDES)))
    responding = list(dict.fromkeys(own.next_of(f"{key}.speaking", (*speaking, *engine.speaking), SIDES)))
    found: dict[str, Plain] = {}
    for place, behaviour in enumerate([*leading, *responding]):
        node = nodes[place % count]
        # The first proposing behaviour is asked first: if it acted each time, the second would never act.
        every = len(leading) - place if place < len(leading) else own.one_of(f"byzantine.{behaviour}.every", (1, 1, 2))
        fault = {"every": every if count == 1 or place >= len(leading) else 1}
        found[f"{behaviour}-{node}"] = fault | _draw_one(
            own, f"byzantine.{behaviour}", node, behaviour, engine=engine, validators=validators
        )
    if own.chance("byzantine.has_twin", TWIN_PERCENT):
        found[f"twin-of-{nodes[0]}"] = _draw_twin(own, nodes[0], validators)
    if own.chance("byzantine.impersonates", IMPERSONATOR_PERCENT):
        # Its draw is its own: in the list above it would change the behaviours of every seed.
        every = own.one_of("byzantine.impersonate.every", (1, 2, 3))
        found[f"impersonate-{nodes[-1]}"] = {"every": every} | _draw_one(
            own, "byzantine.impersonate", nodes[-1], "impersonate", engine=engine, validators=validators
        )
    return found


def draw_cut_off(draw: Draw, faults: Mapping[str, Plain]) -> Plain:
    """Return the keys of `[consensus]` by which peers cut off Byzantine validators, in some of the seeds with any."""
    is_lied = any(fault["kind"] in ("byzantine", "twin") for fault in faults.values())
    if not is_lied or not draw.chance("byzantine.is_cut_off", CUT_OFF_PERCENT):
        return {}
    return {"blocks_peers_ms": draw.one_of("byzantine.cut_off_ms", (300, 2_000, 8_000))}


def _draw_twin(stratum: Draw, node: int, validators: int) -> Plain:
    """Return a twin of a validator; in half of the seeds a script divides the others, and some may reach both."""
    name, others = "byzantine.twin", [other for other in range(validators) if other != node]
    script: Plain = {"first": [], "second": []}
    for turn in range(4) if stratum.chance(f"{name}.is_scripted", 50) else ():
        order = stratum.some_of(f"{name}.order.{turn}", others, len(others))
        script["first"].append(order[: stratum.between(f"{name}.first.{turn}", 1, len(others))])
        script["second"].append(order[stratum.between(f"{name}.second.{turn}", 0, len(others) - 1) :])
    return script | {
        "kind": "twin",
        "validator": node,
        "start_ms": stratum.between(f"{name}.start_ms", FAULTS_FROM_MS, FAULTS_FROM_MS + 2_000),
        "stop_ms": stratum.between(f"{name}.stop_ms", FAULTS_UNTIL_MS - 6_000, FAULTS_UNTIL_MS),
        "round_ms": stratum.one_of(f"{name}.round_ms", (150, 400, 1_000, 1_000, 3_000, 20_000)),
    }


def _draw_one(stratum: Draw, name: str, node: int, behaviour: str, *, engine: DrawnEngine, validators: int) -> Plain:
    start_ms = stratum.between(f"{name}.start_ms", FAULTS_FROM_MS, FAULTS_FROM_MS + 1_000)
    until_ms = LEADING_UNTIL_MS if behaviour in {*PROPOSING, *engine.proposing} else FAULTS_UNTIL_MS
    named = forms_of(engine.name, behaviour, is_foreign=engine.is_foreign)
    forms = [form for form in named if form not in _NOT_DRAWN]
    fault: Plain = {
        "kind": "byzantine",
        "validator": node,
        "behaviour": behaviour,
        "start_ms": start_ms,
        "stop_ms": stratum.between(f"{name}.stop_ms", until_ms - 3_000, until_ms),
        # Without a form, each form is used in rotation.
        "what": stratum.one_of(f"{name}.what", ("", *forms)) if stratum.chance(f"{name}.has_form", 15) else "",
    }
    if behaviour == "amnesia":
        fault["every_ms"] = stratum.between(f"{name}.every_ms", 700, 4_000)
    if behaviour == "withhold":
        fault["kinds"] = list(stratum.one_of(f"{name}.kinds", _WITHHELD))
        fault["to"] = [] if stratum.chance(f"{name}.is_to_all", 50) else [(node + 1) % validators]
    return fault
