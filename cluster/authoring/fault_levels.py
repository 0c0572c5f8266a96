"""`--faults`: the faults of any scenario replaced by no fault, one fault or a few faults that the seed draws."""

import json
from collections.abc import Sequence
from typing import Final

from cluster.authoring.upgrades import draw_upgrade, left_behind
from cluster.scenario.load import convert_scenario, encode_scenario
from cluster.scenario.model import Scenario
from cluster.swarm.engines.engine import DrawnEngine
from cluster.swarm.engines.registry import DRAWN_ENGINES, draw_engine_stratum
from cluster.swarm.faults import DRAWN, FAULTS_MAX, draw_faults, is_sound
from faults import kind_of
from faults.kinds.drawing import FAULTS_UNTIL_MS, WHERE_ASKED, Plain
from faults.kinds.registry import decode_fault
from faults.plan import byzantine_validators
from network.draw import Draw
from validators.consensus.quorum import faults_of

AFTER_FAULTS_MS: Final = 240_000
"""Virtual time that a run has after the last fault before its limit ends it."""


def with_faults(scenario: Scenario, level: str | None, seed: int) -> Scenario:
    """Return a scenario with the faults of a level instead of its own, or unchanged without a level.

    Its requirements and expectations about its own faults are removed too. A drawn fault may have no effect.
    """
    if level is None:
        return scenario
    plain: Plain = json.loads(encode_scenario(scenario))
    own = list(plain["faults"])
    is_foreign = scenario.foreign_application is not None
    engine = DRAWN_ENGINES[scenario.consensus.engine]._replace(is_foreign=is_foreign)
    drawn = _draw(level, seed, scenario.cluster.validators, engine)
    if level != "none":
        drawn = _with_asked(scenario, drawn, seed, engine)
        drawn = _with_upgrade(scenario, drawn, seed, engine)
    plain["faults"] = {name: {**fault, "may_be_idle": True} for name, fault in drawn.items()}
    plain["requires"] = [name for name in plain["requires"] if name not in own]
    plain["title"] = f"{plain['title'][:400]}; faults: {level}"
    del plain["expect"]
    plain["run"]["time_limit_ms"] = max(plain["run"]["time_limit_ms"], FAULTS_UNTIL_MS + AFTER_FAULTS_MS)
    return convert_scenario(plain, f"{scenario.name} with --faults {level}")


def _with_asked(scenario: Scenario, drawn: dict[str, Plain], seed: int, engine: DrawnEngine) -> dict[str, Plain]:
    """Return drawn faults with those of the scenario's own kinds that the swarm draws for no other scenario."""
    draw, validators, found = Draw(seed), scenario.cluster.validators, dict(drawn)
    own = {kind_of(fault): type(fault) for fault in scenario.faults.values()}
    for kind, each in ((kind, each) for kind, fault in own.items() for each in fault.draws()):
        fault = {"kind": kind, **each.make(draw, each.name, validators)}
        if each.place == WHERE_ASKED and is_sound({**found, each.name: fault}, validators, engine):
            found[each.name] = fault
    return found


def _with_upgrade(scenario: Scenario, drawn: dict[str, Plain], seed: int, engine: DrawnEngine) -> dict[str, Plain]:
    """Return drawn faults with an upgrade, if the scenario names two builds, and without faults that it excludes."""
    application, validators = scenario.application, scenario.cluster.validators
    builds = [] if application is None else list(application.builds)
    if not builds:
        return drawn
    # The height from which builds may differ is no chance: the scenario's own upgrade states it.
    stated = dict(each for fault in scenario.faults.values() for each in fault.installs())
    upgrade = draw_upgrade(Draw(seed), builds, validators, stated)
    behind, found = left_behind(upgrade, validators), dict[str, Plain]()
    for name, fault in (*upgrade.items(), *drawn.items()):
        plan = {**found, name: fault}
        if is_sound(plan, validators, engine) and _leaves_a_quorum(plan, behind, validators):
            found[name] = fault
    return found


def _leaves_a_quorum(plan: dict[str, Plain], behind: Sequence[int], validators: int) -> bool:
    """Return whether the validators that are Byzantine or left on an old build are f together at most."""
    byzantine = byzantine_validators({name: decode_fault(fault) for name, fault in plan.items()})
    return not behind or not byzantine or len({*byzantine, *behind}) <= faults_of(validators)


def _draw(level: str, seed: int, validators: int, engine: DrawnEngine) -> dict[str, Plain]:
    draw, found = Draw(seed), dict[str, Plain]()
    if level == "swarm":
        return draw_faults(draw, draw_engine_stratum(draw, engine.name), validators, sequence={}, engine=engine)
    room = {"none": 0, "light": 1, "heavy": FAULTS_MAX}[level]
    for drawn in draw.some_of("faults.kinds", list(DRAWN), len(DRAWN)) if room else ():
        fault = engine.in_own_words({"kind": DRAWN[drawn], **drawn.make(draw, drawn.name, validators)})
        if is_sound({**found, drawn.name: fault}, validators, engine):
            found[drawn.name] = fault
        if len(found) == room:
            break
    return found
