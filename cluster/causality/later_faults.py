"""The faults of a drawn plan that start after a moment, drawn again as the swarm draws faults.

Faults that may have begun, and those of dishonest validators, which are dishonest from genesis on, stay as they are. A
run in which no fault is at work any more has no later faults.
"""

import json
from typing import Final

from cluster.authoring.fault_levels import with_faults
from cluster.scenario.load import convert_scenario, encode_scenario
from cluster.scenario.messages import ScenarioError
from cluster.scenario.model import Scenario
from faults import Fault, all_over_ms
from network.chance import Chance
from network.types import MILLISECOND_US

TRIES: Final = 20
"""The draws after which the faults of the plan stay, because none starts late enough or fits beside the others."""


def with_later_faults(scenario: Scenario, at_us: int, seed: int) -> Scenario:
    """Return a scenario with other faults after a virtual time, drawn from a seed."""
    faults, at_ms = scenario.faults, at_us // MILLISECOND_US
    if all_over_ms(faults, scenario.cluster.validators) <= at_ms or scenario.application is not None:
        return scenario
    kept = [name for name, fault in faults.items() if _stays(fault, at_ms)]
    for place in range(TRIES):
        drawn = with_faults(scenario, "swarm", Chance(seed).draw("later faults", "", place) >> 1)
        later = [name for name, fault in drawn.faults.items() if not _stays(fault, at_ms)]
        if later and (found := _joined(scenario, kept, drawn, later)) is not None:
            return found
    return scenario


def _stays(fault: Fault, at_ms: int) -> bool:
    return fault.is_byzantine or not fault.enabled or fault.bounds()[0] <= at_ms


def _joined(scenario: Scenario, kept: list[str], drawn: Scenario, later: list[str]) -> Scenario | None:
    """Return a scenario with some of its own faults and some drawn faults; None if they contradict each other."""
    plain, other = (json.loads(encode_scenario(each)) for each in (scenario, drawn))
    faults = {name: plain["faults"][name] for name in kept}
    faults |= {f"{name} again": {**other["faults"][name], "may_be_idle": True} for name in later}
    requires = [name for name in plain["requires"] if name in faults or name in plain["workload"]]
    limit_ms = max(plain["run"]["time_limit_ms"], other["run"]["time_limit_ms"])
    try:
        return convert_scenario(
            {**plain, "faults": faults, "requires": requires, "run": {**plain["run"], "time_limit_ms": limit_ms}},
            f"{scenario.name} with other faults",
        )
    except ScenarioError:
        return None
