"""Fault plans as data, and their injection into a run."""

from faults.injection import FaultEffect, Injector, Power
from faults.plan import Blackout, Crash, Fault, Links, Partition, PlanError, check_plan, span_ms

__all__ = [
    "Blackout",
    "Crash",
    "Fault",
    "FaultEffect",
    "Injector",
    "Links",
    "Partition",
    "PlanError",
    "Power",
    "check_plan",
    "span_ms",
]
