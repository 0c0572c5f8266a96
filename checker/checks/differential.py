"""The check of differential blocks, which stand beside the run: its policy's code on states that no run leads to."""

from checker.checks.check import Check
from checker.results import CheckResult


class EqualDifferential(Check):
    """The validators' code executes a differential chain, and blocks on drawn states, as the oracle does.

    One seed of the swarm in four has such a chain.
    """

    name = "oracle/differential"
    needs = "tables"
    activity = "executing a differential chain"

    def not_asked(self) -> str:
        """Return a reason where the run has no differential chain, or came to no block."""
        if self.run.differential is None:
            return "the run has no differential chain: one seed of the swarm in four has"
        return "" if len(self.run.chain) else "no block became final"

    def finish(self) -> CheckResult:
        """Return the result."""
        assert self.run.differential is not None, "a check that is not asked has no end"
        with self.run.watched(lambda: self.tally.compared, "a block of a differential chain"):
            try:
                for difference in self.run.differential():
                    self.tally.require(not difference, difference)
            # A wrong rule may raise anything.
            except Exception as error:  # noqa: BLE001 - told as the failure that it is
                self.tally.fail(f"executing a differential chain fails: {error!r}")
        return self.tally.result(f"the oracle agrees in {self.tally.compared:,} comparisons of a differential chain")
