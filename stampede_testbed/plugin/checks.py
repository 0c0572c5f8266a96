"""Names that a check of a plug-in is made of (docs/extend/check.md); `stampede_testbed.plugin.events` has events."""

from checker.checks.check import Check
from checker.checks.context import RunContext, RunEnd
from checker.checks.mirror import SettledBlock
from checker.checks.observations import AppliedBlock
from checker.results import CheckResult, CheckTally, ExitClass
from network.events import Event, Handlers, OfLabels
from validators.execution import Header, TimerReceipt, TransactionReceipt

__all__ = [
    "AppliedBlock",
    "Check",
    "CheckResult",
    "CheckTally",
    "Event",
    "ExitClass",
    "Handlers",
    "Header",
    "OfLabels",
    "RunContext",
    "RunEnd",
    "SettledBlock",
    "TimerReceipt",
    "TransactionReceipt",
]
