"""Fault plans as data, their injection into a run, and what they say in plain words."""

from faults.clock_kinds import ClockDrift, ClockFault, ClockOffset, ClockStrobe, ClockSwing
from faults.clocks import true_again_ms
from faults.coverage import Cell, Coverage
from faults.disk_kinds import (
    BitRot,
    DiskFault,
    DiskFull,
    IoErrorFault,
    MisdirectedWrites,
    SlowDisk,
    StaleReads,
    TornWrites,
)
from faults.explain import explain_fault
from faults.injection import FaultEffect, Injector
from faults.kinds import Fault, faults_from, kind_of, named_validators, span_ms
from faults.machine_kinds import Blackout, Crash, CrashAtBoundary, Pause, Slow, Wipe
from faults.network_kinds import Cut, Flapping, IsolateLeader, Links, Partition, Rule
from faults.phases import PHASES, ROLES
from faults.plan import PlanError, check_plan, is_destroying
from faults.power import Power, Watch
from faults.promises import promised_cells

__all__ = [
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
    "Coverage",
    "Crash",
    "CrashAtBoundary",
    "Cut",
    "DiskFault",
    "DiskFull",
    "Fault",
    "FaultEffect",
    "Flapping",
    "Injector",
    "IoErrorFault",
    "IsolateLeader",
    "Links",
    "MisdirectedWrites",
    "Partition",
    "Pause",
    "PlanError",
    "Power",
    "Rule",
    "Slow",
    "SlowDisk",
    "StaleReads",
    "TornWrites",
    "Watch",
    "Wipe",
    "check_plan",
    "explain_fault",
    "faults_from",
    "is_destroying",
    "kind_of",
    "named_validators",
    "promised_cells",
    "span_ms",
    "true_again_ms",
]
