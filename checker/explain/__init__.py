"""Why a run went wrong: the failure report of the design, section 7, from what each validator's executions came to."""

from checker.explain.explanation import Explanation, Findings, SideReport
from checker.explain.report import explain
from checker.explain.sides import COUNTED, Executions, ObservedBlock, Outcome, Parting, RefusedLog, as_changes

__all__ = [
    "COUNTED",
    "Executions",
    "Explanation",
    "Findings",
    "ObservedBlock",
    "Outcome",
    "Parting",
    "RefusedLog",
    "SideReport",
    "as_changes",
    "explain",
]
