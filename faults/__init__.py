"""Fault plans as data, their injection into a run, and their descriptions in plain words.

`kinds` holds a class for each kind of fault, `plan` the rules across faults, `injection` their effects on links and
machines, `byzantine` adversaries, `coverage` the phases in which validators are hit. This package judges no run, and
no other package knows a kind by its type.
"""

from faults.byzantine import Adversary, ByzantinePort
from faults.coverage.engine_phases import ROLES
from faults.coverage.points import Coverage, FaultPoint
from faults.coverage.registry import PHASES
from faults.injection.context import Touched
from faults.injection.injector import FaultEffect, Injector
from faults.injection.power import Power, Watch
from faults.kind_registry import kind_of
from faults.kinds.base import Fault
from faults.kinds.byzantine import Byzantine
from faults.kinds.registry import FAULTS
from faults.plan import PlanError, all_over_ms, byzantine_validators, check_plan, resolve_validators, twinned_validators

__all__ = [
    "FAULTS",
    "PHASES",
    "ROLES",
    "Adversary",
    "Byzantine",
    "ByzantinePort",
    "Coverage",
    "Fault",
    "FaultEffect",
    "FaultPoint",
    "Injector",
    "PlanError",
    "Power",
    "Touched",
    "Watch",
    "all_over_ms",
    "byzantine_validators",
    "check_plan",
    "kind_of",
    "resolve_validators",
    "twinned_validators",
]
