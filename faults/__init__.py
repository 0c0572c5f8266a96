"""Fault plans as data, their injection into a run, and what they say in plain words."""

from faults.explain import explain_fault
from faults.injection import FaultEffect, Injector, Power
from faults.kinds import (
    Blackout,
    Crash,
    Cut,
    Fault,
    Flapping,
    IsolateLeader,
    Links,
    Partition,
    Pause,
    Rule,
    Slow,
    kind_of,
    span_ms,
)
from faults.plan import PlanError, check_plan

__all__ = [
    "Blackout",
    "Crash",
    "Cut",
    "Fault",
    "FaultEffect",
    "Flapping",
    "Injector",
    "IsolateLeader",
    "Links",
    "Partition",
    "Pause",
    "PlanError",
    "Power",
    "Rule",
    "Slow",
    "check_plan",
    "explain_fault",
    "kind_of",
    "span_ms",
]
