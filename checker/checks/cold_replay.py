"""The check of the cold replay: a fresh process reaches the run's roots from genesis and the final blocks."""

from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.checks.mirror import SettledBlock
from checker.observations import short
from checker.results import CheckResult
from network.words import counted


class EqualColdReplay(Check):
    """A fresh process executes genesis and the final blocks, and reaches the same root at every height."""

    name = "cold-replay"

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self._roots = {0: run.rules.genesis_root}

    def settle(self, block: SettledBlock) -> None:
        """Remember the root of a height."""
        self._roots[block.height] = block.root

    def finish(self) -> CheckResult:
        """Return the result; height 0 is genesis."""
        cold, roots, tally = self.run.end.cold, self._roots, self.tally
        if cold is None:
            return tally.inconclusive("no cold replay was made")
        replayed = dict(enumerate(cold.roots))
        if cold.error:
            tally.compared += 1
            tally.fail(f"replay from genesis fails: {cold.error}", height=len(cold.roots))
        for height in sorted(roots.keys() | replayed.keys()):
            expected, found = roots.get(height), replayed.get(height)
            tally.compared += 1
            if expected != found:
                names = [("none" if root is None else short(root)) for root in (expected, found)]
                tally.fail(f"height {height}: root {names[0]} in the run; {names[1]} in the cold replay", height=height)
        return tally.result(f"a fresh process reached equal roots from genesis at {counted(len(replayed), 'heights')}")
