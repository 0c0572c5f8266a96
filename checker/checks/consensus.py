"""The check that has the specification of the consensus engine follow the recorded calls of honest replicas."""

from typing import ClassVar

from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.oracle.consensus.compare import Comparison, Difference
from checker.oracle.consensus.registry import SPECIFICATIONS, JudgedLife, compare_lives
from checker.results import CheckResult, ExitClass
from network.words import counted


class EqualConsensus(Check):
    """Each call of a replica's consensus engine has the answer and the effects that the numbered rules give.

    A failure names the part that differs, such as `consensus/vote`, and its rules. A differing vote, certificate,
    record, seal, adoption or finality is a failure of safety, any other difference of liveness.
    """

    name = "consensus"
    exit_class: ClassVar[ExitClass] = "safety"
    activity = "the specification of consensus"

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self.differences: list[Difference] = []
        """The first difference of each life, if it has any."""

    def not_asked(self) -> str:
        """Return a reason where the engine has no specification."""
        return "" if self.run.engine in SPECIFICATIONS else f"the engine {self.run.engine} has no specification"

    def finish(self) -> CheckResult:
        """Return the result: the class of the worst difference, and the first difference of that class."""
        compared = self._compare()
        found = self.differences = [each.difference for each in compared if each.difference is not None]
        self.tally.compared = sum(each.calls for each in compared)
        if found and not any(each.is_safety for each in found):
            self.tally.exit_class = "liveness"
        for difference in sorted(found, key=lambda each: (not each.is_safety, each.at_us)):
            self._fail(difference)
        effects = sum(each.effects for each in compared)
        return self.tally.result(
            f"{counted(self.tally.compared, 'calls')} of {counted(len(self.run.engine_calls), 'replicas')} had the "
            f"answers and {counted(effects, 'effects')} of the specification",
            lives=len(compared),
            effects=effects,
        )

    def _compare(self) -> list[Comparison]:
        if self.run.end.consensus is not None:
            return list(self.run.end.consensus)
        return compare_lives(
            self.run.engine,
            (
                JudgedLife(number, life.life, life.calls())
                for _, lives in sorted(self.run.engine_calls.items())
                for number, life in enumerate(lives, 1)
            ),
        )

    def _fail(self, difference: Difference) -> None:
        self.tally.fail(
            str(difference),
            part=difference.part,
            rules=" ".join(difference.rules),
            replica=difference.replica,
            life=difference.life,
            at_us=difference.at_us,
        )
