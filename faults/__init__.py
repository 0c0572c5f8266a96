"""Fault plans as data, their injection into a run, and what they say in plain words.

`kinds` holds one class a kind of fault, `plan` the rules across faults, `injection` what applies them to links and
machines, `byzantine` adversaries, `coverage` the phases in which validators are hit. Nothing in here judges a run, and
nothing outside knows a kind by its type.
"""

from faults.byzantine import Adversary, ByzantinePort
from faults.coverage.engine_phases import ROLES
from faults.coverage.points import Cell, Coverage
from faults.coverage.registry import PHASES
from faults.injection.context import Touched
from faults.injection.injector import FaultEffect, Injector
from faults.injection.power import Power, Watch
from faults.kind_registry import kind_of
from faults.kinds.base import Fault
from faults.kinds.byzantine import Byzantine
from faults.kinds.registry import FAULTS
from faults.plan import PlanError, all_over_ms, byzantine_validators, check_plan, resolve_validators

__all__ = [
    "FAULTS",
    "PHASES",
    "ROLES",
    "Adversary",
    "Byzantine",
    "ByzantinePort",
    "Cell",
    "Coverage",
    "Fault",
    "FaultEffect",
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
]
