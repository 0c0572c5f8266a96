"""The interface of a check: a class with a name, the events it reads, and a result.

A check is made before the run. It gets the events that its `handlers` name, in the order of the log. It gets each
height once, when the first honest replica applies it (`settle`). At last it gets `finish`; then `run.end` holds the end
state. A check of the end state alone, like the cold replay, has only `finish`. Comparisons go through `tally`, which
counts them: a check that compared nothing is inconclusive.
"""

from collections.abc import Sequence
from typing import ClassVar

from checker.applications import NOT_OFFERED, Need
from checker.checks.context import RunContext
from checker.checks.mirror import SettledBlock
from checker.observations import AppliedBlock
from checker.results import CheckResult, CheckTally, ExitClass
from network.events import Handlers
from validators.derived import Derived
from validators.execution.blocks import Header
from validators.state import StateAudit


class Check:
    """A question about a run; the first sentence of a subclass's docstring states what the check requires.

    Attributes:
        name: Its name in the verdict and in docs/invariants.md.
        exit_class: The class of exit code that its failure leads to.
        activity: A name for a long `finish`, shown as progress.
        compares_replicas: Whether it compares replicas with each other, and so cannot know which replica is right.
        sees_earlier_events: Whether it gets events of an earlier process, where a run goes on from real disks.
        sees_everybody: Whether it gets events of Byzantine replicas as well.
        counts_one_process: Whether it counts acts of replicas in this process only.
        engines: Names of the consensus engines that it judges; empty where it judges every engine.
        needs: The part of a run that it reads beside the trace; a run without this part leaves the check out.
    """

    name: ClassVar[str]
    exit_class: ClassVar[ExitClass] = "safety"
    activity: ClassVar[str] = ""
    compares_replicas: ClassVar[bool] = False
    sees_earlier_events: ClassVar[bool] = True
    sees_everybody: ClassVar[bool] = False
    counts_one_process: ClassVar[bool] = False
    engines: ClassVar[tuple[str, ...]] = ()
    needs: ClassVar[Need] = "trace"

    def __init__(self, run: RunContext) -> None:
        self.run = run
        self.tally = CheckTally(self.name, self.exit_class)

    @classmethod
    def applies_to(cls, engine: str) -> bool:
        """Return whether the check judges this consensus engine."""
        return not cls.engines or engine in cls.engines

    @classmethod
    def why_left_out(cls, run: RunContext) -> str:
        """Return why a run cannot ask the check, by its engine or by what it offers; empty where it can."""
        if not cls.applies_to(run.engine):
            return f"it judges the engine {', '.join(cls.engines)}"
        return "" if cls.needs in run.offers else NOT_OFFERED[cls.needs]

    def require(self, holds: object, block: SettledBlock, what: str, *values: object) -> None:
        """Compare once; the text is built only for a failure, since most checks ask several times an event."""
        self.tally.compared += 1
        if not holds:
            self.tally.fail(f"height {block.height}: {what.format(*values)}", height=block.height)

    @property
    def handlers(self) -> Handlers:
        """Events of honest replicas and of the supervisor that this check gets."""
        return {}

    def not_asked(self) -> str:
        """Return why this run does not ask the question, when it is over; empty where it does.

        With a reason there is no result, unless the check has found a failure.
        """
        return ""

    def applied(self, block: AppliedBlock, header: Header) -> None:
        """See a block that an honest replica finalized and applied, in the order of the log."""

    def malformed(self, block: AppliedBlock, reason: str) -> None:
        """See bytes that an honest replica applied although they are no valid block."""

    def settle(self, block: SettledBlock) -> None:
        """Check a height when the first honest replica has applied it; each height is 1 above the last."""

    def reorganized(self, node: int, header: Header, audit: StateAudit) -> None:
        """See the structures of a replica that dropped or rewound blocks, at the block of its database."""

    def rederived(self, node: int, parts: Sequence[Derived]) -> None:
        """See the derived state of a replica that dropped or rewound blocks."""

    def finish(self) -> CheckResult:
        """Return the result; `run.end` has the state in which the run ended."""
        raise NotImplementedError
