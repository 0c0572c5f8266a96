"""What a scenario's fault plan will do, in plain words and as data."""

from dataclasses import dataclass

from cluster.scenario.model import Scenario
from faults import kind_of


@dataclass(frozen=True, slots=True)
class ExplainedFault:
    """One fault of a plan: when it is at work, in virtual milliseconds, and what it does, in one sentence."""

    name: str
    kind: str
    is_enabled: bool
    is_required: bool
    start_ms: int
    stop_ms: int
    sentence: str


def explain_plan(scenario: Scenario) -> list[ExplainedFault]:
    """Return what each fault of the scenario does, in the plan's order."""
    return [
        ExplainedFault(name, kind_of(fault), fault.enabled, name in scenario.requires, *fault.span(), fault.describe())
        for name, fault in scenario.faults.items()
    ]
