"""Draws of differential chains: the chain of a drawn scenario with additional random scripts, built by one engine."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

import msgspec

from cluster.differential.block_draws import DifferentialBlocks
from cluster.differential.blocks import CaseComparison
from cluster.differential.cases import BlockCase, ChainBlock, ChainCase
from cluster.differential.chain import ChainBuilder
from cluster.differential.draws import draws_of
from cluster.runtime.genesis import genesis_of, keys_of
from cluster.scenario.model import Scenario
from cluster.workloads.kinds.random_scripts import RandomScripts
from cluster.workloads.planned import transactions_of
from network.chance import Chance
from network.types import MILLISECOND_US
from validators.execution import Executed
from validators.execution.block_tree import ApplyMode
from validators.execution.blocks import ExecuteActor, decode_transaction

FIRST_SEED: Final = 2_000_000_000
"""The seed of the first chain, counted up from there: the swarm rotates policies. No campaign reaches these seeds."""

BLOCKS: Final = 12
"""Blocks of a chain."""

SCRIPTS: Final = 60
EVERY_MS: Final = 200
"""Random scripts of a chain, and the time from one to the next: they last as long as the chain."""

DIFFERENTIAL_BLOCKS: Final = 12
"""Differential blocks on the genesis of a chain, each on a state of its own."""

WITHHELD_PERCENT: Final = 40
"""Share of the submissions that a leader of a losing branch leaves out."""


def judge_chain(number: int) -> Iterator[str]:
    """Yield the difference of each comparison of a differential chain; empty if there is none.

    Args:
        number: Counts the chains; each number has a chain of its own.
    """
    chain, place = DrawnChain(number), f"differential chain {number}"
    for judged in chain.judge():
        yield f"{place}: {judged.difference}" if judged.difference else ""
    for count, (_, judge) in enumerate(chain.blocks()):
        judged = judge()
        yield f"{place}: differential block {count}: {judged.difference}" if judged.difference else ""


class DrawnChain:
    """A differential chain, drawn while its engine builds it.

    Args:
        number: Counts the chains; each number has a chain of its own.
        policy: The policy of all chains, or empty where each draws its own.
    """

    def __init__(self, number: int, policy: str = "") -> None:
        from cluster.swarm.generator import POLICY_KEY, draw_scenario  # noqa: PLC0415 - no other scenario needs the swarm

        settings = [f'{POLICY_KEY}="{policy}"'] if policy else []
        self.scenario: Final = _with_scripts(draw_scenario(FIRST_SEED + number, settings), number)
        self._chance = Chance(number)
        self._draw = draw = draws_of(self._chance, "chain")
        self._mode = ApplyMode(
            apply=("finalized", "certified")[draw(2)],
            retain_blocks=1 + draw(4),
            prune_every=1 + draw(4),
            rebuild_indexes_every=3 * (draw(4) == 0),
            reapply=("write", "execute")[draw(2)],
        )
        self._genesis = genesis_of(self.scenario, keys_of(self.scenario))
        self._times = {timed.encoded: timed.at_us for timed in transactions_of(self.scenario)}
        self._transactions = [decode_transaction(encoded) for encoded in self._times]
        self._places = {encoded: place for place, encoded in enumerate(self._times)}
        self._open = dict(zip(self._places.values(), self._times.values(), strict=True))
        self._blocks: list[ChainBlock] = []
        self._view = 0

    @property
    def case(self) -> ChainCase:
        """The chain as far as it is drawn."""
        used = sorted({place for block in self._blocks for place in block.offered})
        places = {place: index for index, place in enumerate(used)}
        blocks = [
            msgspec.structs.replace(block, offered=tuple(places[place] for place in block.offered))
            for block in self._blocks
        ]
        transactions = tuple(self._transactions[place] for place in used)
        return ChainCase(genesis=self._genesis, mode=self._mode, transactions=transactions, blocks=tuple(blocks))

    def judge(self) -> Iterator[CaseComparison]:
        """Draw the blocks, and yield the comparisons."""
        builder = ChainBuilder(self._genesis, self._mode)
        return builder.judge(self._build(builder))

    @property
    def policy(self) -> str:
        """The policy of the chain's last blocks, and of its differential blocks."""
        return self._genesis.policies[-1].policy

    def blocks(self) -> Iterator[tuple[BlockCase, Callable[[], CaseComparison]]]:
        """Yield the differential blocks on the chain's genesis, each with its comparison; drawn after the chain."""
        calls = [transaction.call for transaction in self._transactions]
        scripts = [call.payload for call in calls if isinstance(call, ExecuteActor) and call.handler == "run"]
        blocks = DifferentialBlocks(self._genesis, scripts)
        more = draws_of(self._chance, "transactions")
        for _ in range(DIFFERENTIAL_BLOCKS):
            case = blocks.draw(self._draw, more)
            yield case, partial(blocks.judge, case)

    def _build(self, builder: ChainBuilder) -> Iterator[Executed]:
        """Yield the final blocks, oldest first; sometimes several become final together."""
        draw, path = self._draw, [0]
        for left in reversed(range(BLOCKS)):
            if draw(3) == 0:
                # Also from below the tip: blocks that were applied early are rewound, and return.
                parent = path[draw(len(path))]
                for _ in range(1 + draw(2)):
                    yield from self._add(builder, parent, withheld_percent=WITHHELD_PERCENT)
                    parent = len(self._blocks)
            yield from self._add(builder, path[-1], is_last=not left)
            for encoded in builder.included:
                self._open.pop(self._places[encoded], None)
            path = path if not self._blocks[-1].is_final else []
            path.append(len(self._blocks))

    def _add(
        self, builder: ChainBuilder, parent: int, *, withheld_percent: int = 0, is_last: bool = False
    ) -> Iterator[Executed]:
        """Draw a block and build it; it is noted before, because building may fail."""
        # Views are sometimes skipped: slots stay empty, and timers become overdue.
        draw = self._draw
        self._view += (1, 1, 1, 2, 4)[draw(5)]
        timestamp_ms = self._view * self.scenario.chain.block_interval_ms
        proposer = draw(self.scenario.cluster.validators)
        offered = [place for place, at_us in self._open.items() if at_us <= timestamp_ms * MILLISECOND_US]
        if withheld_percent:
            offered = [place for place in offered if draw(100) >= withheld_percent]
        block = ChainBlock(
            parent=parent,
            view=self._view,
            proposer=proposer,
            timestamp_ms=timestamp_ms,
            offered=tuple(offered),
            is_given_up=bool(withheld_percent),
            is_final=not withheld_percent and (is_last or draw(3) == 0),
        )
        self._blocks.append(block)
        return builder.build(block, [self._transactions[place] for place in offered])


def _with_scripts(scenario: Scenario, number: int) -> Scenario:
    """Return a scenario with additional random scripts: they combine rules that no drawn workload combines."""
    scripts = RandomScripts(scripts=SCRIPTS, number=number, every_ms=EVERY_MS)
    return msgspec.structs.replace(scenario, workload={**scenario.workload, "random-scripts": scripts})
