"""Names for a check of a plug-in (docs/extend/check.md); `stampede_testbed.plugin.events` has events."""

from checker.checks.check import Check
from checker.checks.context import RunContext, RunEnd
from checker.checks.mirror import SettledBlock
from checker.checks.world import SLACK_US, OfLives, RunWorld
from checker.observations import AppliedBlock
from checker.results import CheckResult, CheckTally, ExitClass
from network.events import Event, Handlers, OfLabels
from validators.execution import Header, TimerReceipt, TransactionReceipt

__all__ = [
    "SLACK_US",
    "AppliedBlock",
    "Check",
    "CheckResult",
    "CheckTally",
    "Event",
    "ExitClass",
    "Handlers",
    "Header",
    "OfLabels",
    "OfLives",
    "RunContext",
    "RunEnd",
    "RunWorld",
    "SettledBlock",
    "TimerReceipt",
    "TransactionReceipt",
]
