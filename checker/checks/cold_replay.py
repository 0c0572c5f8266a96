"""The check of the cold replay: a fresh process reaches the run's roots from genesis and the final blocks."""

from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.checks.mirror import SettledBlock
from checker.observations import short
from checker.record.cold_replay import ColdReplay
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
        cold, tally = self.run.end.cold, self.tally
        if cold is None:
            return tally.inconclusive("no cold replay was made")
        builds = self.run.plan.builds
        self._compare(cold, "", builds.outdated_from(builds.newest))
        told = f"a fresh process reached equal roots from genesis at {counted(len(cold.roots), 'heights')}"
        for build, other in self.run.end.cold_by_build.items():
            limit = builds.outdated_from(build)
            differs_at = self._compare(other, f" by build {build}", limit)
            told += f"; so did build {build}"
            if limit is not None:
                told += f" below height {limit}"
            if differs_at is not None:
                told += f", and its first other root at height {differs_at} is not judged"
        return tally.result(told)

    def _compare(self, cold: ColdReplay, who: str, limit: int | None) -> int | None:
        """Compare the roots of a replay below a height; return the first height from it on that differs."""
        replayed = dict(enumerate(cold.roots))
        if cold.error and (limit is None or len(cold.roots) < limit):
            self.tally.compared += 1
            self.tally.fail(f"replay{who} from genesis fails: {cold.error}", height=len(cold.roots))
        for height in sorted(self._roots.keys() | replayed.keys()):
            expected, found = self._roots.get(height), replayed.get(height)
            self.tally.compared += 1
            if expected == found:
                continue
            if limit is not None and height >= limit:
                return height
            names = [("none" if root is None else short(root)) for root in (expected, found)]
            self.tally.fail(
                f"height {height}: root {names[0]} in the run; {names[1]} in the cold replay{who}", height=height
            )
        return None
