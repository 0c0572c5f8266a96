"""All prefixes, and a drawn scenario that begins with a prefix."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from cluster.scenario.model import Scenario
from cluster.swarm.policies.registry import DRAWN_POLICIES, draw_policy
from cluster.swarm.prefixes.before_activation import before_activation
from cluster.swarm.prefixes.epoch_in_storm import epoch_in_storm
from cluster.swarm.prefixes.half_drained import half_drained
from cluster.swarm.prefixes.half_joined import half_joined
from cluster.swarm.prefixes.prefix import MakePrefix, Prefix
from cluster.swarm.prefixes.rewinding import rewinding
from faults.anchors.anchor import Anchor
from faults.kinds.drawing import Plain
from network.draw import SWARM, Draw

PERCENT: Final = 36
"""Percentage of the scenarios that begin with a prefix, among policies without parameters of their own."""

PREFIXES: Final[Mapping[str, MakePrefix]] = {
    "half-drained": half_drained,
    "epoch-in-storm": epoch_in_storm,
    "before-activation": before_activation,
    "rewinding": rewinding,
    "half-joined": half_joined,
}
"""By name, in the order of the draw: a new prefix goes to the end."""

VALIDATORS: Final = {"rewinding": 4}
"""The cluster size of each prefix whose script needs one size."""


AFTER_PREFIX: Final = ", after the prefix "
"""Stands in the title of a drawn scenario before the name of its prefix."""


class DrawnScript(NamedTuple):
    """A prefix by its name, and the moment at which a seed's run reaches the prefix's state."""

    name: str
    arrival: Anchor


def script_of(scenario: Scenario, seed: int) -> DrawnScript | None:
    """Return the script with which a scenario of the swarm begins; None without a prefix.

    Its title names the prefix. The script is drawn again, because the scenario does not have the moment of arrival.
    """
    name = scenario.title.partition(AFTER_PREFIX)[2]
    if scenario.name != SWARM or name not in PREFIXES:
        return None
    prefix = PREFIXES[name](Draw(seed), scenario.cluster.validators)
    return DrawnScript(name, msgspec.convert(prefix.arrival, Anchor))


def draw_prefix(draw: Draw, without: Sequence[str] = ()) -> str:
    """Return the name of a seed's prefix, empty for most seeds and for prefixes in `without`.

    A script states what it needs of a chain, and would not get there under every policy.
    """
    if draw_policy(draw) in DRAWN_POLICIES:
        return ""
    found = draw.one_of("prefix", list(PREFIXES)) if draw.chance("prefix.is_on", PERCENT) else ""
    return "" if found in without else found


def with_prefix(raw: Plain, prefix: Prefix) -> Plain:
    """Return a drawn scenario that begins with a script; the script's faults are in it already.

    The scenario does not expect the arrival: about 1 run in 200 does not arrive, by chance. A sweep counts these runs
    (`script_of`).
    """
    scenario = dict(raw)
    kept = {name: each for name, each in raw["workload"].items() if name not in prefix.without}
    scenario["workload"] = {**kept, **prefix.workload}
    for section, values in prefix.settings.items():
        scenario[section] = _merged(raw.get(section, {}), values)
    return scenario


def _merged(before: Plain, values: Plain) -> Plain:
    """Return a section with a script's values in it, subsections too."""
    inner = {key: _merged(before[key], value) for key, value in values.items() if isinstance(before.get(key), dict)}
    return {**before, **values, **inner}
