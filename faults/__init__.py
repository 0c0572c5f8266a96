"""Fault plans as data, their injection into a run, and what they say in plain words."""

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
from faults.plan import PlanError, check_plan, is_destroying, resolve_regions
from faults.power import Power, Watch

__all__ = [
    "BitRot",
    "Blackout",
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
    "resolve_regions",
    "span_ms",
]
