"""A differential chain: one engine builds the chain of a case alone, and the oracle executes its final blocks again.

A run of the swarm has one policy with one set of parameters, and most of its time goes into agreement. Execution needs
no second validator: here a single engine builds blocks as leaders would. It also builds losing branches, with stated
upkeep.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from checker.checks.oracle import consult_oracle
from cluster.differential.blocks import CaseComparison
from cluster.differential.cases import ChainBlock, ChainCase
from validators.execution import Engine, Executed, Genesis, ProposalContext
from validators.execution.block_tree import ApplyMode
from validators.execution.blocks import Transaction, decode_transaction
from validators.identity import TransactionVerifier
from validators.settings import make_engine


class ChainBuilder:
    """An engine that builds blocks as its leaders would, and is inspected meanwhile.

    Attributes:
        faults: Wrong answers or wrong cached state of the engine, in words.
        included: The transactions of the last block, encoded.
    """

    def __init__(self, genesis: Genesis, mode: ApplyMode) -> None:
        self.genesis: Final = genesis
        self._engine: Final[Engine] = make_engine(genesis, TransactionVerifier(), apply_mode=mode)
        self._digests = [self._engine.finalized_digest]
        self._pending: list[Executed] = []
        self._nonces: Counter[bytes] = Counter()
        self.faults: list[str] = []
        self.included: tuple[bytes, ...] = ()

    def build(self, block: ChainBlock, offered: Sequence[Transaction]) -> Iterator[Executed]:
        """Build and certify a block, and yield the blocks that become final with it, oldest first."""
        context = ProposalContext(
            parent=self._digests[block.parent],
            view=block.view,
            proposer=block.proposer,
            timestamp_ms=block.timestamp_ms,
        )
        executed = self._engine.propose(context, list(offered))
        self._digests.append(executed.digest)
        self.included = executed.block.transactions
        self._engine.certify(executed.digest)
        if block.is_given_up:
            return
        self._pending.append(executed)
        self._ask_for_nonces()
        if block.is_final:
            self._look_at_memory(executed.header.height)
            self._engine.finalize(executed.digest)
            self._nonces.update(self._senders())
            pending, self._pending = self._pending, []
            yield from pending

    def judge(self, final: Iterable[Executed]) -> Iterator[CaseComparison]:
        """Yield the comparisons of the final blocks, which this consumes, and then of the engine's memory."""
        judged = consult_oracle(self.genesis, final)
        yield CaseComparison("" if judged.status == "passed" else judged.summary, judged.compared)
        deviations = self._engine.audit().deviations
        yield CaseComparison(f"memory is not what the log leads to: {deviations[0]}" if deviations else "", 1)
        yield CaseComparison(self.faults[0] if self.faults else "", 1)

    def _ask_for_nonces(self) -> None:
        """Ask for the nonces of the latest senders: they are of the final state, even if blocks are applied early."""
        for public_key in dict.fromkeys(self._senders()):
            found, expected = self._engine.next_nonce(public_key), self._nonces[public_key]
            if found != expected:
                self.faults.append(f"the next nonce of {public_key.hex()} is {found} and not {expected}")

    def _senders(self) -> Iterator[bytes]:
        """Yield the public key of each sender of a transaction that is not final."""
        for executed in self._pending:
            yield from (decode_transaction(encoded).public_key for encoded in executed.block.transactions)

    def _look_at_memory(self, height: int) -> None:
        """Compare the engine's cached state with its source, while branches exist."""
        self._engine.take_undone()
        self._engine.take_reexecuted()
        derived = self._engine.derived()
        for name in dict.fromkeys((*derived.kept, *derived.rebuilt)):
            if derived.kept.get(name) != derived.rebuilt.get(name):
                self.faults.append(f"at height {height}, {name} is kept as it is not")
        self.faults += [f"at height {height}, {size}" for size in derived.sizes if size.found > size.bound]


def judge_chain_case(case: ChainCase) -> Iterator[CaseComparison]:
    """Yield the comparisons of a stated chain."""
    builder = ChainBuilder(case.genesis, case.mode)

    def final() -> Iterator[Executed]:
        for block in case.blocks:
            yield from builder.build(block, [case.transactions[place] for place in block.offered])

    return builder.judge(final())
