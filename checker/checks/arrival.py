"""The moment that a run has to reach before anything that it tries means something."""

from typing import ClassVar, Final

from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.checks.mirror import SettledBlock
from checker.results import CheckResult, ExitClass
from faults.anchors.moments import BlockFacts
from faults.anchors.watch import AnchorWatch
from network.events import Handlers

_ARRIVAL: Final = "arrival"


class ExpectedArrival(Check):
    """The run reached the moment that its scenario's script leads to.

    It watches the trace itself: that a fault anchored to the moment took effect would not say so where no fault is.
    """

    name = "expected-arrival"
    exit_class: ClassVar[ExitClass] = "inconclusive"
    counts_one_process = True

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        arrival = run.expect.arrival
        self._has_come = False
        self._watch = AnchorWatch({} if arrival is None else {_ARRIVAL: arrival}, self._come)

    def not_asked(self) -> str:
        """Return a reason where the scenario names no moment."""
        return "" if self.run.expect.arrival is not None else "the scenario does not expect it"

    @property
    def handlers(self) -> Handlers:
        """Events that the moment is read off."""
        return self._watch.handlers

    def settle(self, block: SettledBlock) -> None:
        """See what a final block did."""
        self._watch.see_block(block.height, BlockFacts.of(block.summary, block.events()))

    def finish(self) -> CheckResult:
        """Return the result."""
        arrival = self.run.expect.arrival
        told = "" if arrival is None else arrival.describe()
        self.tally.compared = 1
        if not self._has_come:
            return self.tally.inconclusive(f"the run did not get to where its script leads: that {told}")
        return self.tally.result(told)

    def _come(self, _name: str) -> None:
        self._has_come = True
