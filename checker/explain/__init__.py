"""Why a run went wrong: the failure report of the design, section 7, from what each validator's executions came to."""

from checker.explain.report import Explanation, Findings, explain
from checker.explain.sides import Executions, ObservedBlock, Outcome, Parting

__all__ = ["Executions", "Explanation", "Findings", "ObservedBlock", "Outcome", "Parting", "explain"]
