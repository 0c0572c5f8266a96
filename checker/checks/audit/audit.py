"""The check of the test bed itself, from the plan and the trace alone.

The other checks believe the test bed: that a cut was a cut, a crash a crash and a slow disk slow. This one does not.
"""

from checker.checks.audit.following import FollowedRun
from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.results import CheckResult
from network.events import Handlers


class Audit(Check):
    """The log of the run follows from its plan: messages, power, work, clocks, disks, clients and every draw."""

    name = "audit"
    exit_class = "determinism"
    sees_earlier_events = False
    sees_everybody = True

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        plan = run.test_bed
        is_asked = plan is not None and plan.is_whole
        self._followed = FollowedRun(plan, self.tally.fail) if plan is not None and is_asked else None

    @property
    def handlers(self) -> Handlers:
        """Everything that messages and machines show; what validators do only where one may be paused."""
        return {} if self._followed is None else self._followed.handlers

    def not_asked(self) -> str:
        """Return a reason where there is no plan, or the run lacks its beginning."""
        return "another process began the run, or there is no plan" if self._followed is None else ""

    def finish(self) -> CheckResult:
        """Return the result."""
        assert self._followed is not None, "a check that is not asked has no end"
        done = self._followed.finish()
        self.tally.compared += done.compared
        return self.tally.result(done.told)
