"""A differential chain: one engine builds the chain of a drawn scenario alone, and the oracle executes it again.

A run of the swarm has one policy with one set of parameters, and most of its time goes into agreement. Execution needs
no second validator: here one engine builds blocks as leaders would, also on branches that lose, with drawn upkeep.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from checker.checks.oracle import consult_oracle
from cluster.differential.blocks import DifferentialBlocks
from cluster.differential.draws import Draw, draws_of
from cluster.runtime.genesis import genesis_of, keys_of
from cluster.scenario.model import Scenario
from cluster.workloads.kinds.random_scripts import RandomScripts
from cluster.workloads.planned import transactions_of
from network.chance import Chance
from network.types import MILLISECOND_US
from validators.execution import Engine, Executed, ProposalContext
from validators.execution.block_tree import ApplyMode
from validators.execution.blocks import ExecuteActor, Transaction, decode_transaction
from validators.identity import TransactionVerifier
from validators.settings import make_engine

FIRST_SEED: Final = 2_000_000_000
"""The seed of the first of them, the next has the next: the swarm deals policies in turn. No campaign gets there."""

BLOCKS: Final = 12
"""Blocks of a chain."""

SCRIPTS: Final = 60
EVERY_MS: Final = 200
"""Random scripts of a chain, and the time from one to the next: as long as it lasts."""

DIFFERENTIAL_BLOCKS: Final = 12
"""Differential blocks on the genesis of a chain, each on a state of its own."""

WITHHELD_PERCENT: Final = 40
"""Share of the submissions that a leader of a branch that is given up leaves out."""


def judge_chain(number: int) -> Iterator[str]:
    """Yield for each comparison of a differential chain the difference, an empty text where there is none.

    Args:
        number: Counts the chains; each number has a chain of its own.
    """
    from cluster.swarm.generator import draw_scenario  # noqa: PLC0415 - no other scenario needs the swarm

    draw, place = draws_of(Chance(number), "chain"), f"differential chain {number}"
    builder = _Builder(_with_scripts(draw_scenario(FIRST_SEED + number), number), draw)
    judged = consult_oracle(builder.genesis, builder.build())
    yield "" if judged.status == "passed" else f"{place}: {judged.summary}"
    deviations = builder.engine.audit().deviations
    yield f"{place}: memory is not what the log leads to: {deviations[0]}" if deviations else ""
    yield f"{place}: {builder.faults[0]}" if builder.faults else ""
    blocks = DifferentialBlocks(builder.genesis, builder.scripts)
    for block in range(DIFFERENTIAL_BLOCKS):
        difference = blocks.judge(draw)
        yield f"{place}: differential block {block}: {difference}" if difference else ""


def _with_scripts(scenario: Scenario, number: int) -> Scenario:
    """Return a scenario with random scripts besides: rules meet in them that no drawn workload brings together."""
    scripts = RandomScripts(scripts=SCRIPTS, number=number, every_ms=EVERY_MS)
    return msgspec.structs.replace(scenario, workload={**scenario.workload, "random-scripts": scripts})


class _Builder:
    """One engine that builds a chain of a scenario, as its leaders would.

    Attributes:
        engine: The engine.
        genesis: The chain's genesis.
        scripts: What its script actors are told to run.
        faults: What it said or kept meanwhile that is not so.
    """

    def __init__(self, scenario: Scenario, draw: Draw) -> None:
        self.genesis: Final = genesis_of(scenario, keys_of(scenario))
        mode = ApplyMode(
            apply=("finalized", "certified")[draw(2)],
            retain_blocks=1 + draw(4),
            prune_every=1 + draw(4),
            rebuild_indexes_every=3 * (draw(4) == 0),
            reapply=("write", "execute")[draw(2)],
        )
        self.engine: Final[Engine] = make_engine(self.genesis, TransactionVerifier(), apply_mode=mode)
        self._draw = draw
        self._validators = scenario.cluster.validators
        self._interval_ms = scenario.chain.block_interval_ms
        self._submitted = {
            timed.encoded: (timed.at_us, decode_transaction(timed.encoded)) for timed in transactions_of(scenario)
        }
        self.scripts: Final = [
            call.payload
            for _, transaction in self._submitted.values()
            if isinstance(call := transaction.call, ExecuteActor) and call.handler == "run"
        ]
        self._open = dict(self._submitted)
        self._view = 0
        self._nonces: Counter[bytes] = Counter()
        self.faults: list[str] = []

    def build(self) -> Iterator[Executed]:
        """Yield the final blocks, oldest first; some become final several at a time."""
        pending: list[Executed] = []
        for left in reversed(range(BLOCKS)):
            path = [self.engine.finalized_digest, *(executed.digest for executed in pending)]
            if self._draw(3) == 0:
                # From below the tip as well: blocks that were applied early are taken back, and come back.
                self._build_branch(path[self._draw(len(path))])
            pending.append(self._build_block(path[-1]))
            for encoded in pending[-1].block.transactions:
                self._open.pop(encoded, None)
            self.engine.certify(pending[-1].digest)
            self._ask_for_nonces(pending)
            if not left or self._draw(3) == 0:
                self._look_at_memory(pending[-1].header.height)
                self.engine.finalize(pending[-1].digest)
                self._nonces.update(self._senders(pending))
                yield from pending
                pending.clear()

    def _ask_for_nonces(self, pending: Sequence[Executed]) -> None:
        """Ask for the nonces of those who have just sent: of the final state, whatever was applied early."""
        for public_key in dict.fromkeys(self._senders(pending)):
            found, expected = self.engine.next_nonce(public_key), self._nonces[public_key]
            if found != expected:
                self.faults.append(f"the next nonce of {public_key.hex()} is {found} and not {expected}")

    def _senders(self, blocks: Sequence[Executed]) -> Iterator[bytes]:
        """Yield the public key of each transaction's sender."""
        for executed in blocks:
            yield from (self._submitted[encoded][1].public_key for encoded in executed.block.transactions)

    def _look_at_memory(self, height: int) -> None:
        """Compare what the engine keeps with what it follows from, while branches stand."""
        self.engine.take_undone()
        self.engine.take_reexecuted()
        derived = self.engine.derived()
        for name in dict.fromkeys((*derived.kept, *derived.rebuilt)):
            if derived.kept.get(name) != derived.rebuilt.get(name):
                self.faults.append(f"at height {height}, {name} is kept as it is not")
        self.faults += [f"at height {height}, {size}" for size in derived.sizes if size.found > size.bound]

    def _build_branch(self, parent: bytes) -> None:
        """Build one or two blocks that are given up, and certify them."""
        for _ in range(1 + self._draw(2)):
            parent = self._build_block(parent, withheld_percent=WITHHELD_PERCENT).digest
            self.engine.certify(parent)

    def _build_block(self, parent: bytes, *, withheld_percent: int = 0) -> Executed:
        # Views are passed over now and then: slots stay empty, and timers become overdue.
        self._view += (1, 1, 1, 2, 4)[self._draw(5)]
        timestamp_ms = self._view * self._interval_ms
        context = ProposalContext(
            parent=parent, view=self._view, proposer=self._draw(self._validators), timestamp_ms=timestamp_ms
        )
        return self.engine.propose(context, self._offered(timestamp_ms, withheld_percent))

    def _offered(self, timestamp_ms: int, withheld_percent: int) -> list[Transaction]:
        offered = [transaction for at_us, transaction in self._open.values() if at_us <= timestamp_ms * MILLISECOND_US]
        if withheld_percent:
            offered = [transaction for transaction in offered if self._draw(100) >= withheld_percent]
        return offered
