"""Fault plans as data, their injection into a run, and what they say in plain words."""

from faults.byzantine import LIES, Liar, LyingPort
from faults.coverage.cells import Cell, Coverage
from faults.coverage.phases import PHASES, ROLES
from faults.coverage.required import promised_cells
from faults.explain import explain_fault
from faults.injection.injection import FaultEffect, Injector, Touched
from faults.injection.power import Power, Watch
from faults.kinds import Fault, edges_of, kind_of, named_validators, outages_of, span_ms
from faults.kinds.byzantine import Dishonest
from faults.kinds.clock import ClockDrift, ClockFault, ClockOffset, ClockStrobe, ClockSwing
from faults.kinds.disk import (
    BitRot,
    DiskFault,
    DiskFull,
    IoErrorFault,
    MisdirectedWrites,
    SlowDisk,
    StaleReads,
    TornWrites,
)
from faults.kinds.machine import Blackout, Crash, CrashAtBoundary, Pause, RestartStorm, Slow, Wipe
from faults.kinds.network import Clog, Cut, Flapping, IsolateLeader, Links, Partition, Rule, SwizzleClog
from faults.plan import PlanError, all_over_ms, check_plan, dishonest_validators, is_destroying, resolve_regions

__all__ = [
    "LIES",
    "PHASES",
    "ROLES",
    "BitRot",
    "Blackout",
    "Cell",
    "ClockDrift",
    "ClockFault",
    "ClockOffset",
    "ClockStrobe",
    "ClockSwing",
    "Clog",
    "Coverage",
    "Crash",
    "CrashAtBoundary",
    "Cut",
    "Dishonest",
    "DiskFault",
    "DiskFull",
    "Fault",
    "FaultEffect",
    "Flapping",
    "Injector",
    "IoErrorFault",
    "IsolateLeader",
    "Liar",
    "Links",
    "LyingPort",
    "MisdirectedWrites",
    "Partition",
    "Pause",
    "PlanError",
    "Power",
    "RestartStorm",
    "Rule",
    "Slow",
    "SlowDisk",
    "StaleReads",
    "SwizzleClog",
    "TornWrites",
    "Touched",
    "Watch",
    "Wipe",
    "all_over_ms",
    "check_plan",
    "dishonest_validators",
    "edges_of",
    "explain_fault",
    "is_destroying",
    "kind_of",
    "named_validators",
    "outages_of",
    "promised_cells",
    "resolve_regions",
    "span_ms",
]
