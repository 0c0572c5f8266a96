"""Names for a fault of a plug-in (docs/extend/fault.md)."""

from faults.injection.context import FaultContext
from faults.injection.links import Link, all_links, both_ways, clog_window, crossing_links, cut_window, rule_window
from faults.injection.steps import Edge, window
from faults.kinds.base import Family, Fault, Occupied, Outage, Part, Plan, Windowed
from faults.kinds.fields import (
    Milliseconds,
    NotNegative,
    PartsPerMillion,
    Positive,
    Requirement,
    Start,
    Stop,
    Validator,
    distinct,
    means,
)
from network.conditions import Condition, MessageRule

__all__ = [
    "Condition",
    "Edge",
    "Family",
    "Fault",
    "FaultContext",
    "Link",
    "MessageRule",
    "Milliseconds",
    "NotNegative",
    "Occupied",
    "Outage",
    "Part",
    "PartsPerMillion",
    "Plan",
    "Positive",
    "Requirement",
    "Start",
    "Stop",
    "Validator",
    "Windowed",
    "all_links",
    "both_ways",
    "clog_window",
    "crossing_links",
    "cut_window",
    "distinct",
    "means",
    "rule_window",
    "window",
]
