"""The failure report (docs/explain.md): from a differing root to key, timer, write and cause.

It reads the outcomes of each validator's executions, the log and the checks' results; running anything again is the
business of its driver (cluster/inspect). `divergence.py` finds the place, `writes.py` and `origins.py` the write,
`cause.py` the cause, `chain_of_events.py` the events before it; `same_states.py` and `evidence.py` have the report
where states do not differ.
"""

from checker.explain.divergence import Divergence
from checker.explain.executions import COUNTED, Executions, ObservedBlock, Outcome, RefusedLog, as_changes
from checker.explain.explanation import Explanation, Findings, SideReport
from checker.explain.origins import EXECUTED_ALL_THE_SAME
from checker.explain.report import explain

__all__ = [
    "COUNTED",
    "EXECUTED_ALL_THE_SAME",
    "Divergence",
    "Executions",
    "Explanation",
    "Findings",
    "ObservedBlock",
    "Outcome",
    "RefusedLog",
    "SideReport",
    "as_changes",
    "explain",
]
