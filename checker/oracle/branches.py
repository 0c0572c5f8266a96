"""Losing blocks: every block that a validator executed beside the final chain, executed by the oracle as well.

Before a final block, the oracle executes all blocks that validators executed on its parent, depth first, each on a
temporary fork of the chain. A kept block has to be valid with the roots that it claims. A refused block has to be
invalid.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple, TypeAlias

from checker.oracle.blocks import OracleChain
from checker.oracle.compare import Difference, compare_roots
from checker.oracle.headers import InvalidBlockError
from checker.oracle.records import MalformedError, read_block
from checker.results import CheckTally


class OracleBranch(NamedTuple):
    """A block that validators executed.

    Attributes:
        digest: The digest of its header.
        block: Reads the encoded block, only when the walk reaches it.
        kept_by: A validator that found it valid, or None.
        refused_by: A validator that refused it, or None.
        reason: The reason that the refusing validator gave.
    """

    digest: bytes
    block: Callable[[], bytes]
    kept_by: int | None = None
    refused_by: int | None = None
    reason: str = ""


ExecutedOn: TypeAlias = Callable[[bytes], Iterable[OracleBranch]]
"""Returns each block that was executed on a parent, once; the argument is the parent's digest."""


def no_branches(_parent: bytes) -> Iterable[OracleBranch]:
    """Return no blocks, for a chain that has no branches."""
    return ()


class Branches:
    """The losing branches of a chain, and counts of the blocks compared."""

    def __init__(self, executed_on: ExecutedOn, tally: CheckTally) -> None:
        self._executed_on: Final = executed_on
        self._tally: Final = tally
        self.blocks = 0
        self.refusals = 0

    def __str__(self) -> str:
        """The part of a passed verdict about losing and refused blocks."""
        if not self.blocks + self.refusals:
            return ""
        return f", {self.blocks:,} losing, {self.refusals:,} refused"

    def judge(self, chain: OracleChain, final_digest: bytes) -> Difference | None:
        """Compare all blocks executed on a chain's last block, except the next final block; return a difference."""
        pending = [(chain, branch) for branch in self._losing(chain, final_digest)]
        while pending:
            parent, branch = pending.pop()
            # Forked before the block is known to be valid: a refused block changes the state up to its wrong
            # transaction.
            child = parent.fork()
            difference = self._judge_block(child, branch)
            if difference is not None:
                return difference._replace(height=parent.header.height + 1, block=branch.digest.hex())
            if branch.kept_by is not None:
                pending += [(child, each) for each in self._losing(child, b"")]
        return None

    def _losing(self, chain: OracleChain, final_digest: bytes) -> Iterator[OracleBranch]:
        """Yield the blocks executed on a chain's last block; the final block only if a validator refused it."""
        for branch in self._executed_on(chain.digest):
            if branch.digest != final_digest:
                yield branch
            elif branch.refused_by is not None:
                # The comparison of the final block judges in full whether a validator kept it rightly.
                yield branch._replace(kept_by=None)

    def _judge_block(self, chain: OracleChain, branch: OracleBranch) -> Difference | None:
        self._tally.compared += 1
        self.blocks += branch.kept_by is not None
        self.refusals += branch.refused_by is not None
        name = f"block {branch.digest[:6].hex()}"
        found = self._execute(chain, branch.block())
        if found is not None and branch.kept_by is not None:
            line = f"{name}, which validator {branch.kept_by} executed: {found.line}"
            return found._replace(line=line)
        if found is None and branch.refused_by is not None:
            line = f"{name} is valid by the oracle; validator {branch.refused_by} refused it: {branch.reason}"
            return Difference("refusal", line)
        return None

    def _execute(self, chain: OracleChain, block: bytes) -> Difference | None:
        """Execute a block; return the first wrong claim of its header, or None."""
        try:
            header, transactions = read_block(block)
            result = chain.execute(header, transactions)
        except MalformedError as error:
            return Difference("block", f"the block is not valid: {error}")
        except InvalidBlockError as error:
            return Difference(error.what.split()[0], f"{error.what} is not valid: {error}")
        return compare_roots(result, header, self._tally)
