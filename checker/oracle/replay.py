"""The oracle's result: the oracle executes every executed block again, and names the first difference.

At each height it first compares the other blocks that validators executed on the same parent, with all blocks built on
them (`branches.py`). Then it compares the final block: its validity, its receipts, the changed keys with their values,
its roots, its use of each budget. After a difference the oracle's state differs from the chain's, so the comparison
ends.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from checker.oracle import NAME
from checker.oracle.blocks import OracleChain, Result
from checker.oracle.branches import Branches, ExecutedOn, no_branches
from checker.oracle.compare import Difference, compare_changes, compare_counts, compare_receipts, compare_roots, line_of
from checker.oracle.headers import InvalidBlockError
from checker.oracle.phases import Ledger, compare_phases
from checker.oracle.policies import POLICY_ORACLES
from checker.oracle.programs import PROGRAMS
from checker.oracle.records import Genesis, MalformedError, read_block, read_genesis, sha256, write
from checker.results import CheckResult, CheckTally

AUDIT_BLOCKS: Final = 50
"""The least number of blocks between two audits of the oracle's own state; the log must also have grown enough."""

AUDIT_GROWTH: Final = (3, 2)
"""The growth of the log between two audits. An audit hashes the whole log, so the next audit waits until the log is
longer by a half: in a run of any length at most four audits hash an operation on average, the last audit included."""


class OracleBlock(NamedTuple):
    """A finalized block and the validators' result of it.

    Attributes:
        block: The encoded block.
        receipts: The encoded receipts, in order.
        changes: State key to encoded value, None for a deleted value; None if the run recorded no changes.
        counts: Amounts used of the block's budgets, by name; names that the oracle does not know are left out.
        phases: The ledger of its phases, by name in their order; None if the run recorded no ledger.
    """

    block: bytes
    receipts: Sequence[bytes]
    changes: Mapping[bytes, bytes | None] | None
    counts: Mapping[str, int] = {}
    phases: Ledger | None = None


def judge_oracle(
    genesis_bytes: bytes, blocks: Iterable[OracleBlock], executed_on: ExecutedOn = no_branches
) -> CheckResult:
    """Execute a chain again and compare it with the validators' results, height by height.

    Args:
        genesis_bytes: The encoded genesis.
        blocks: The final blocks from height 1 on.
        executed_on: Returns the blocks that validators executed on a parent, by its digest, final blocks included.
    """
    tally = CheckTally(NAME, "safety")
    try:
        genesis = read_genesis(genesis_bytes)
        unknown = unknown_to_the_oracle(genesis)
        chain = None if unknown else OracleChain(genesis, genesis_bytes)
    except MalformedError as error:
        tally.require(False, f"genesis cannot be read: {error}", height=0)  # noqa: FBT003 - it never holds
        return tally.result("")
    if chain is None:
        return tally.inconclusive(f"the oracle does not know {unknown}")
    audits, branches = _Audits(chain), Branches(executed_on, tally)
    difference = _first_difference(chain, blocks, tally, audits=audits, branches=branches)
    if difference is not None:
        found = {"what": difference.what, "key": difference.key, "timer": difference.timer, "block": difference.block}
        evidence = {name: value for name, value in found.items() if value}
        tally.fail(f"height {difference.height}: {difference.line}", height=difference.height, **evidence)
    height = chain.header.height
    return tally.result(
        f"the oracle agrees with {tally.compared:,} receipts, changes, roots and budgets "
        f"(blocks: {height:,} final{branches})",
        heights=height,
        operations=chain.contents.log.size,
        audits=audits.count,
        operations_audited=audits.operations,
        branch_blocks=branches.blocks,
        branch_refusals=branches.refusals,
    )


class _Audits:
    """The audits of a chain at intervals, with the number of audits and of hashed operations."""

    def __init__(self, chain: OracleChain) -> None:
        self._chain = chain
        self._last_size = 0
        self.count = 0
        self.operations = 0

    def is_due(self, height: int) -> bool:
        grown, before = AUDIT_GROWTH
        return height % AUDIT_BLOCKS == 0 and self._chain.contents.log.size * before >= self._last_size * grown

    def audit(self) -> Difference | None:
        size = self._chain.contents.log.size
        if size == self._last_size:
            return None
        self._last_size = size
        self.count += 1
        self.operations += size
        error = self._chain.audit()
        return Difference("audit", f"the oracle contradicts itself: {error}") if error else None


def unknown_to_the_oracle(genesis: Genesis) -> str:
    """Return the part of a genesis that the oracle does not restate, or an empty string."""
    for entry in genesis.policies:
        if entry.policy not in POLICY_ORACLES:
            return f"the policy {entry.policy}"
    for before, after in pairwise(entry.policy for entry in genesis.policies):
        if before not in POLICY_ORACLES[after].follows:
            return f"an activation of {after} after {before}"
    strange = [program for _, program, *_ in genesis.actors if program not in PROGRAMS]
    return f"the program {strange[0]}" if strange else ""


def _first_difference(
    chain: OracleChain, blocks: Iterable[OracleBlock], tally: CheckTally, *, audits: _Audits, branches: Branches
) -> Difference | None:
    for height, block in enumerate(blocks, 1):
        difference = branches.judge(chain, _digest_of(block.block))
        if difference is not None:
            return difference
        difference = _judge_block(chain, block, tally) or (audits.audit() if audits.is_due(height) else None)
        if difference is not None:
            return difference._replace(height=height)
    difference = audits.audit()
    return branches.judge(chain, b"") if difference is None else difference._replace(height=chain.header.height)


def _digest_of(block: bytes) -> bytes:
    """Return the digest of a block, or no bytes for a malformed block, which is reported when it is executed."""
    try:
        return sha256(write(read_block(block)[0]))
    except MalformedError:
        return b""


def _judge_block(chain: OracleChain, block: OracleBlock, tally: CheckTally) -> Difference | None:
    tally.compared += 1
    try:
        header, transactions = read_block(block.block)
        result = chain.execute(header, transactions)
    except MalformedError as error:
        return Difference("block", f"the block is not valid: {error}")
    except InvalidBlockError as error:
        return Difference(error.what.split()[0], f"{error.what} is not valid: {error}")
    return (
        compare_receipts(result, block.receipts, tally)
        or compare_changes(result, block.changes, tally)
        or compare_roots(result, header, tally)
        or compare_counts(result, block.counts, tally)
        or _compare_ledger(result, block.phases, tally)
    )


def _compare_ledger(result: Result, phases: Ledger | None, tally: CheckTally) -> Difference | None:
    """Compare the phases of the block with the expected phases."""
    if phases is None:
        return None
    tally.compared += len(result.phases)
    differing = compare_phases(result.phases, phases)
    return None if differing is None else Difference("phases", line_of("the ledger of phases", differing))
