"""A fork of a scenario's chain: a trunk, an abandoned branch on it, and a longer branch that becomes final.

The scenario's clients submit at their times. The leaders of the abandoned branch withhold a keyed part of their
transactions. The other branch begins after the abandoned branch has ended, as when a partition heals. So the two have
different transactions at equal heights, other slots, and timers that are due at other times.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from cluster.runtime.genesis import genesis_of, keys_of
from cluster.scenario.model import Scenario
from cluster.workloads.planned import transactions_of
from network.chance import Chance, below
from network.types import MILLISECOND_US
from validators.execution import Engine, Executed, Genesis, ProposalContext
from validators.execution.blocks import Transaction, decode_transaction
from validators.identity import TransactionVerifier
from validators.settings import make_engine

WITHHELD_PERCENT: Final = 40
"""Share of the submissions that a leader of the abandoned branch does not include, drawn for each block anew."""

BLOCKS_AFTER: Final = 1
"""The number of blocks by which the winning branch is longer than the abandoned branch."""


class ForkError(Exception):
    """A fork that would show nothing: a branch without a fire or a transaction, or two branches with equal states."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fork:
    """A chain with two branches: the blocks of each, with the results of their execution, oldest first.

    `trunk` begins at height 1 and ends at the pivot, the last block that both branches have in common.
    """

    scenario: Scenario
    genesis: Genesis
    trunk: tuple[Executed, ...]
    abandoned: tuple[Executed, ...]
    winning: tuple[Executed, ...]

    @property
    def depth(self) -> int:
        """The number of blocks that are abandoned."""
        return len(self.abandoned)

    @property
    def chain(self) -> tuple[Executed, ...]:
        """The final chain from height 1 on."""
        return self.trunk + self.winning


def build_fork(scenario: Scenario, seed: int, *, pivot: int, depth: int) -> Fork:
    """Build a fork above the height `pivot` whose abandoned branch has `depth` blocks.

    Raises:
        ForkError: The fork would show nothing.
    """
    genesis = genesis_of(scenario, keys_of(scenario))
    leaders = _Leaders(scenario, genesis, seed)
    trunk = tuple(leaders.extend("trunk", pivot, first=1, withheld_percent=0))
    leaders.finalize(trunk)
    abandoned = tuple(leaders.extend("abandoned", depth, first=pivot + 1, withheld_percent=WITHHELD_PERCENT))
    winning = tuple(leaders.extend("winning", depth + BLOCKS_AFTER, first=pivot + depth + 1, withheld_percent=0))
    fork = Fork(scenario=scenario, genesis=genesis, trunk=trunk, abandoned=abandoned, winning=winning)
    _refuse_empty(fork)
    return fork


class _Leaders:
    """The leaders of a chain, which build on the final block; one engine executes for all of them."""

    def __init__(self, scenario: Scenario, genesis: Genesis, seed: int) -> None:
        self.engine: Final[Engine] = make_engine(genesis, TransactionVerifier())
        self._validators = scenario.cluster.validators
        self._interval_ms = scenario.chain.block_interval_ms
        self._chance = Chance(seed)
        self._submitted = [(timed, decode_transaction(timed.encoded)) for timed in transactions_of(scenario)]
        self._final: dict[bytes, None] = {}

    def extend(self, branch: str, blocks: int, *, first: int, withheld_percent: int) -> Iterator[Executed]:
        """Yield the blocks of a branch on the finalized block; the first block is built at block interval `first`."""
        draws = self._chance.stream("reorgs.withheld", branch)
        parent, drawn = self.engine.finalized_digest, 0
        open_ones = [each for each in self._submitted if each[0].encoded not in self._final]
        for view in range(first, first + blocks):
            timestamp_ms = view * self._interval_ms
            offered: list[Transaction] = []
            for timed, transaction in open_ones:
                if timed.at_us <= timestamp_ms * MILLISECOND_US:
                    is_withheld = below(draws.at(drawn), 100) < withheld_percent
                    drawn += 1
                    offered += [] if is_withheld else [transaction]
            proposer = view % self._validators
            context = ProposalContext(parent=parent, view=view, proposer=proposer, timestamp_ms=timestamp_ms)
            executed = self.engine.propose(context, offered)
            included = dict.fromkeys(executed.block.transactions)
            open_ones = [each for each in open_ones if each[0].encoded not in included]
            parent = executed.digest
            yield executed

    def finalize(self, trunk: Sequence[Executed]) -> None:
        """Make the trunk final: no leader offers its transactions again."""
        self.engine.finalize(trunk[-1].digest)
        for executed in trunk:
            self._final |= dict.fromkeys(executed.block.transactions)


def _refuse_empty(fork: Fork) -> None:
    for name, branch in (("abandoned", fork.abandoned), ("winning", fork.winning)):
        place = f"on the {name} branch above height {len(fork.trunk)}"
        if not sum(executed.summary.fired for executed in branch):
            raise ForkError(f"no timer fires {place}")
        if not sum(executed.summary.transactions for executed in branch):
            raise ForkError(f"no transaction is included {place}")
    last = fork.abandoned[-1].header
    if last.state_root == fork.winning[fork.depth - 1].header.state_root:
        raise ForkError(f"both branches have one state at height {last.height}")
