"""A toy check."""

from stampede_testbed.plugin.checks import Check, CheckResult, SettledBlock


class PairedFires(Check):
    """In every block with timers that fire, an even number of them fires."""

    name = "paired-fires"

    def settle(self, block: SettledBlock) -> None:
        """Judge one height."""
        fired = block.summary.fired
        if fired:
            self.tally.require(fired % 2 == 0, f"height {block.height}: {fired} timers fired", height=block.height)

    def finish(self) -> CheckResult:
        """Return the result."""
        return self.tally.result(f"an even number fired in each of {self.tally.compared} blocks")
