"""The blocks that lost: every block that a validator executed beside the final chain, executed by the oracle as well.

Before a final block is executed, all that validators executed on the same parent is walked depth first: each block on a
fork of the chain that is let go of afterwards. What a validator kept has to be valid and to have the roots that it
claims, and what one refused must not.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple, TypeAlias, final

from checker.oracle.blocks import InvalidBlockError, OracleChain
from checker.oracle.compare import Difference, compare_roots
from checker.oracle.records import MalformedError, read_block
from checker.results import CheckTally


class OracleBranch(NamedTuple):
    """A block that validators executed.

    Attributes:
        digest: The digest of its header.
        block: Reads the encoded block; it is read when it is its turn.
        kept_by: A validator that found it valid, or None.
        refused_by: A validator that refused it, or None.
        reason: Why that one did.
    """

    digest: bytes
    block: Callable[[], bytes]
    kept_by: int | None = None
    refused_by: int | None = None
    reason: str = ""


ExecutedOn: TypeAlias = Callable[[bytes], Iterable[OracleBranch]]
"""Returns the blocks that were executed on a parent, by its digest: each once."""


def no_branches(_parent: bytes) -> Iterable[OracleBranch]:
    """Return nothing: for a chain of which no other block is known."""
    return ()


@final
class Branches:
    """The losing branches of a chain, and how much of them was looked at."""

    def __init__(self, executed_on: ExecutedOn, tally: CheckTally) -> None:
        self._executed_on: Final = executed_on
        self._tally: Final = tally
        self.blocks = 0
        self.refusals = 0

    def __str__(self) -> str:
        """The words that a passed verdict says of them."""
        if not self.blocks + self.refusals:
            return ""
        return f", in {self.blocks:,} losing and {self.refusals:,} refused blocks"

    def judge(self, chain: OracleChain, final_digest: bytes) -> Difference | None:
        """Walk all that was executed on the last block of a chain beside the next final one; return a difference."""
        pending = [(chain, branch) for branch in self._losing(chain, final_digest)]
        while pending:
            parent, branch = pending.pop()
            child = parent.fork()
            difference = self._judge_block(child, branch)
            if difference is not None:
                return difference._replace(height=parent.header.height + 1, block=branch.digest.hex())
            if branch.kept_by is not None:
                pending += [(child, each) for each in self._losing(child, b"")]
        return None

    def _losing(self, chain: OracleChain, final_digest: bytes) -> Iterator[OracleBranch]:
        """Yield what was executed on the last block of a chain; of the final block only that somebody refused it."""
        for branch in self._executed_on(chain.digest):
            if branch.digest != final_digest:
                yield branch
            elif branch.refused_by is not None:
                # Whether it was rightly kept is judged in full when it is its turn.
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
        """Execute a block; return why it is not what it claims to be, or None where it is."""
        try:
            header, transactions = read_block(block)
            result = chain.execute(header, transactions)
        except MalformedError as error:
            return Difference("block", f"the block is not valid: {error}")
        except InvalidBlockError as error:
            return Difference(error.what.split()[0], f"{error.what} is not valid: {error}")
        return compare_roots(result, header, self._tally)
