"""The check of differential blocks, which are no part of the run: its policy's code on states that no run reaches."""

from checker.checks.check import Check
from checker.results import CheckResult
from network.words import counted


class EqualDifferential(Check):
    """The validators' code executes a differential chain, and blocks on drawn states, as the oracle does.

    One seed of the swarm in four has such a chain.
    """

    name = "oracle/differential"
    needs = "tables"
    activity = "executing a differential chain"

    def not_asked(self) -> str:
        """Return a reason where the run has no differential chain, or no final block."""
        if self.run.differential is None:
            return "the run has no differential chain: 1 in 4 seeds of the swarm has it"
        return "" if len(self.run.chain) else "no block became final"

    def finish(self) -> CheckResult:
        """Return the result."""
        assert self.run.differential is not None, "a check that is not asked has no end"
        with self.run.watched(lambda: self.tally.compared, "a block of a differential chain"):
            try:
                for difference in self.run.differential():
                    self.tally.require(not difference, difference)
            # A wrong rule may raise any error.
            except Exception as error:  # noqa: BLE001 - reported as a failure
                self.tally.fail(f"executing a differential chain fails: {error!r}")
        compared = counted(self.tally.compared, "comparisons")
        return self.tally.result(f"the oracle agrees in {compared} of a differential chain")
