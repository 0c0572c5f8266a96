"""The check that runs the oracle: it gives the oracle bytes and numbers, without the validators' types."""

from collections.abc import Iterable
from pathlib import Path

import msgspec

from checker.checks.check import Check
from checker.oracle import NAME
from checker.record.branches import BranchIndex
from checker.record.final_blocks import FinalBlock, final_block, oracle_block
from checker.results import CheckResult
from validators.execution import Executed, Genesis


class EqualOracle(Check):
    """An independent execution of every executed block gives the same receipts, changes, roots and budgets.

    The oracle names the first difference and goes no further. It is inconclusive for a policy or a program that it
    does not know.
    """

    name = NAME
    needs = "receipts"
    activity = "the oracle"

    def finish(self) -> CheckResult:
        """Return the result."""
        if self.run.genesis is None:
            return self.tally.inconclusive("the run has no genesis")
        result = self.run.end.oracle
        if result is None:
            has_tables = "tables" in self.run.offers
            result = judge_final_blocks(self.run.genesis, self.run.chain, self.run.end.record, has_tables=has_tables)
        activation, height = self.run.rules.activation_height, len(self.run.chain)
        if result.status == "passed" and height < activation:
            # No block of the policy that the scenario tests was compared.
            policy = self.run.rules.policy(activation)
            reason = f"the policy {policy} is active from height {activation:,} on, and the run ended at {height:,}"
            return CheckResult(self.name, "inconclusive", self.exit_class, reason, (), result.compared)
        return result


def consult_oracle(genesis: Genesis, chain: Iterable[Executed], record: Path | None = None) -> CheckResult:
    """Return the oracle's result for a chain of executed blocks; see `judge_final_blocks`."""
    return judge_final_blocks(genesis, map(final_block, chain), record)


def judge_final_blocks(
    genesis: Genesis, chain: Iterable[FinalBlock], record: Path | None = None, *, has_tables: bool = True
) -> CheckResult:
    """Return the oracle's result for a chain.

    Args:
        genesis: The chain's genesis.
        chain: Its final blocks from height 1 on.
        record: A run directory; blocks that its validators executed beside the chain are checked as well.
        has_tables: Whether the blocks have changes, summaries and phases; otherwise receipts and roots are compared.
    """
    # Imported where it is needed: the oracle would be a tenth of the code that a run loads before its first event.
    from checker.oracle.branches import ExecutedOn, no_branches  # noqa: PLC0415
    from checker.oracle.replay import judge_oracle  # noqa: PLC0415

    blocks = (oracle_block(final, has_tables=has_tables) for final in chain)
    executed_on: ExecutedOn = no_branches if record is None else BranchIndex(record).executed_on
    return judge_oracle(msgspec.msgpack.encode(genesis), blocks, executed_on)
