"""The one shape of a check: a class with a name, what it reads of the run, and a result.

A check is made before the run. It gets the events that its `handlers` name, in the order of the log, each height once
when the first honest replica applies it (`settle`), and at last `finish`, when `run.end` says what is left. A check
that needs only the end, such as the cold replay, has only `finish`. Comparisons go through `tally`, which counts them:
a check that compared nothing is inconclusive, whatever it says.

Rejected: results by a function for each check beside the classes. Then the order, the names and what each of them is
given stood in three places, and a check was known in four.
"""

from typing import ClassVar

from checker.checks.context import RunContext
from checker.checks.mirror import SettledBlock
from checker.checks.observations import AppliedBlock
from checker.results import CheckResult, CheckTally, ExitClass
from network.events import Handlers
from validators.execution.blocks import Header
from validators.state import StateAudit


class Check:
    """One question about a run; the first sentence of a subclass's docstring is what it demands.

    Attributes:
        name: As the verdict and docs/invariants.md name it.
        exit_class: What its failure means.
        activity: A name for what takes long in `finish`, shown to a person who waits.
        compares_replicas: Whether it compares replicas with each other, and so cannot tell which of them is right.
        sees_earlier_events: Whether it gets what an earlier process watched, where a run goes on from real disks.
        counts_one_process: Whether it counts what replicas did in one process; what an earlier one showed is shown.
    """

    name: ClassVar[str]
    exit_class: ClassVar[ExitClass] = "safety"
    activity: ClassVar[str] = ""
    compares_replicas: ClassVar[bool] = False
    sees_earlier_events: ClassVar[bool] = True
    counts_one_process: ClassVar[bool] = False

    def __init__(self, run: RunContext) -> None:
        self.run = run
        self.tally = CheckTally(self.name, self.exit_class)

    @property
    def handlers(self) -> Handlers:
        """Events of honest replicas and of the supervisor that this check gets."""
        return {}

    @property
    def is_asked(self) -> bool:
        """Whether this run asks the question at all, looked at when it is over; if not there is no result."""
        return True

    def applied(self, block: AppliedBlock, header: Header) -> None:
        """See a block that an honest replica finalized and applied, in the order of the log."""

    def malformed(self, block: AppliedBlock, reason: str) -> None:
        """See that what an honest replica applied is no block."""

    def settle(self, block: SettledBlock) -> None:
        """Judge one height, when the first honest replica applied it; heights ascend by one."""

    def reorganized(self, node: int, header: Header, audit: StateAudit) -> None:
        """See the structures of a replica that dropped or took back blocks, at the block where its database stands."""

    def finish(self) -> CheckResult:
        """Return the result; `run.end` has what is left of the run."""
        raise NotImplementedError
