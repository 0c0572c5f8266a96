"""Outside applications: each gives a request the same answer every time, keeps its final blocks, and stays alive.

Other checks compare the roots and timers that an application computes. These checks judge its process. The test bed
sends some requests twice, sends all of them to a fresh process, and compares the block at which a process restarts.
"""

from collections.abc import Iterable
from typing import ClassVar

from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.observations import name_validators
from checker.results import CheckResult, ExitClass
from faults.events import ApplicationLost
from network.events import Event, Handlers
from network.words import counted
from validators.consensus.quorum import faults_of
from validators.events import BlockExecuted


class OutsideApplication(Check):
    """An application gives one answer to one question in any process, keeps final blocks, and crashes on no block."""

    name = "application"
    needs = "events"

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self._executed: dict[bytes, int] = {}

    @property
    def handlers(self) -> Handlers:
        """Executions: an application may refuse a block that no other one executes."""
        return {BlockExecuted: self.executed}

    def executed(self, event: Event, block: BlockExecuted) -> None:
        """Note the first replica whose application executed a block."""
        if not self.run.world.is_outdated(event.node, block.height):
            self._executed.setdefault(block.digest, event.node)

    def finish(self) -> CheckResult:
        """Return the result; it lists the faults in the order of time."""
        end = self.run.end
        self.tally.compared = end.application_requests
        for fault in end.application_faults:
            self.tally.compared += 1
            sentence = fault.sentence
            if fault.kind == "refuses-block":
                other = self._executed.get(fault.block)
                if other is None or self.run.plan.builds.is_outdated(fault.build, fault.height):
                    continue
                sentence = f"the application of validator {fault.node} {sentence}; validator {other} executed it"
            self.tally.fail(
                sentence,
                fault=fault.kind,
                validator=fault.node,
                request=fault.request,
                call=fault.call,
                height=fault.height,
            )
        return self.tally.result(
            f"the applications of {counted(len(self.run.honest), 'replicas')} answered "
            f"{counted(end.application_requests, 'requests')}: repeated requests had the same answers, and each "
            "restarted process had kept its final blocks",
            requests=end.application_requests,
        )


class ApplicationLives(Check):
    """No application is lost for good; with at most f lost applications the run is inconclusive.

    An application that dies, hangs or breaks the protocol is started again a second later. After a second loss at the
    same call and height, or any third loss, it stays down. A replica whose build is outdated at
    its height is left behind: it is reported, and more than f such validators fail the run.
    """

    name = "application-lives"
    needs = "events"
    exit_class: ClassVar[ExitClass] = "liveness"

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self._losses = 0

    @property
    def handlers(self) -> Handlers:
        """Losses of applications."""
        return {ApplicationLost: self.lose}

    def lose(self, _event: Event, _lost: ApplicationLost) -> None:
        """Count a loss."""
        self._losses += 1

    def finish(self) -> CheckResult:
        """Return the result; observers do not count towards f."""
        lost, most = self.run.end.lost, faults_of(self.run.validators)
        self.tally.compared = self.run.end.application_requests + len(lost)
        behind = self.run.world.left_behind
        stays = "; ".join(
            f"validator {node} runs the outdated build {self.run.world.build(node)} from height {height} on, not judged"
            for node, height in sorted(behind.items())
        )
        if self._voters(behind) > most:
            self.tally.fail(f"{stays}; f = {most}", behind=len(behind))
        if not lost:
            told = f"no application was lost for good; {counted(self._losses, 'restarts')}{stays and f'; {stays}'}"
            return self.tally.result(told, losses=self._losses)
        first = min(lost)
        told = f"{name_validators(lost)} lost the application for good (f = {most}); validator {first}: {lost[first]}"
        if self._voters(lost) <= most:
            return self.tally.inconclusive(told)
        self.tally.fail(told, lost=len(lost), **{f"validator {node}": reason for node, reason in sorted(lost.items())})
        return self.tally.result("")

    def _voters(self, nodes: Iterable[int]) -> int:
        return sum(node < self.run.validators for node in nodes)
