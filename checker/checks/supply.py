"""Conservation: all accounts and the burned total always add up to the supply of genesis."""

from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.checks.mirror import SettledBlock
from checker.results import CheckResult
from checker.tables import ACCOUNT, BURNED_KEY, describe_key, describe_value, read_amount


class Supply(Check):
    """After every block, all balances and the burned units add up to the supply of genesis."""

    name = "supply"
    needs = "tables"

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self._total = 0
        for key, value in run.genesis_values.items():
            self._total += _amount_under(key, value) or 0
        self._supply = self._total

    def not_asked(self) -> str:
        """Return a reason where no block changed a balance."""
        return "" if self.tally.compared else "no balance changed"

    def settle(self, block: SettledBlock) -> None:
        """Check the sum after a block."""
        before_block, is_moved = self._total, False
        for key, value in block.changes.items():
            if key[0] == ACCOUNT or key == BURNED_KEY:
                self._move(block, key, value)
                is_moved = True
        # Where the block changed no balance, the sum was compared before.
        self.tally.compared += is_moved
        if self._total != self._supply:
            # Reported once: from here on the sum is compared with this value, so that a later leak shows as well.
            self.tally.fail(
                f"height {block.height}: {abs(before_block - self._total):,} units "
                f"{'are missing' if self._total < before_block else 'too many'}: balances and burned units add up to "
                f"{self._total:,}, before the block {before_block:,}",
                height=block.height,
                expected=self._supply,
                found=self._total,
            )
            self._supply = self._total

    def finish(self) -> CheckResult:
        """Return the result."""
        return self.tally.result(
            f"{self._supply:,} units after each of {self.tally.compared:,} blocks that moved any", supply=self._supply
        )

    def _move(self, block: SettledBlock, key: bytes, value: bytes | None) -> None:
        before, after = _amount_under(key, block.before.get(key)), _amount_under(key, value)
        if after is None:
            self.tally.compared += 1
            self.tally.fail(
                f"height {block.height}: {describe_key(key)} holds no amount but {describe_value(value)}",
                height=block.height,
                key=key.hex(),
            )
        self._total += (after or 0) - (before or 0)


def _amount_under(key: bytes, value: bytes | None) -> int | None:
    """Return the units that an entry stands for: 0 in other tables than the accounts and the burned total."""
    return read_amount(value) if key[0] == ACCOUNT or key == BURNED_KEY else 0
