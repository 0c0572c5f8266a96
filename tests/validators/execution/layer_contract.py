"""The contract of an execution layer: all that consensus, sync, finality and recovery rely on."""

from abc import ABC, abstractmethod

import msgspec
import pytest

from validators.costs import Costs
from validators.execution import (
    ExecutedBlock,
    ExecutionLayer,
    InvalidBlockError,
    ProposalContext,
    UnknownBlockError,
    UnknownParentError,
)
from validators.execution.blocks import Block, encode_header, header_digest
from validators.restored import EMPTY_LOG, RestoredLog, StateBase
from validators.state import ForgedSnapshot
from validators.storage import FinalizedEntry

ABSENT = b"\x01" * 32


def build(layer: ExecutionLayer, parent: bytes, *, transactions=(), view=1, after_ms=2_000) -> ExecutedBlock:
    """Have a layer propose a block."""
    known = layer.executed(parent)
    before = layer.finalized if known is None else known.header
    context = ProposalContext(parent=parent, view=view, proposer=0, timestamp_ms=before.timestamp_ms + after_ms)
    return layer.propose(context, transactions)


def entries_of(chain) -> tuple[FinalizedEntry, ...]:
    """Return the finalized log of some blocks."""
    return tuple(
        FinalizedEntry(each.header.height, each.digest, encode_header(each.header), each.log_entry) for each in chain
    )


class LayerContract(ABC):
    """Tests of a layer; a subclass opens one at genesis, or from a log."""

    @abstractmethod
    def open(self, log: RestoredLog = EMPTY_LOG, *, applies_early: bool = False, blocks=()) -> ExecutionLayer:
        """Return a layer of its own; `blocks` are those of the log, for one that keeps its state itself."""

    @abstractmethod
    def transaction(self, nonce: int, variant: int = 0) -> object:
        """Return a transaction that is valid as the first or a later one of a sender."""

    def chain_of(self, layer: ExecutionLayer, blocks: int) -> list[ExecutedBlock]:
        """Have a layer propose some blocks, one on the other, each with a transaction."""
        chain, parent = [], layer.finalized_digest
        for nonce in range(blocks):
            chain.append(build(layer, parent, transactions=[self.transaction(nonce)], view=nonce + 1))
            parent = chain[-1].digest
        return chain

    def test_it_begins_at_genesis(self):
        layer = self.open()

        assert layer.finalized.height == layer.applied.height == 0
        assert layer.finalized_digest == layer.genesis_digest == header_digest(layer.finalized)
        assert layer.executed(layer.genesis_digest) is None

    def test_another_one_executes_a_proposal_to_the_same_root(self):
        layer, other = self.open(), self.open()
        for proposed in self.chain_of(layer, 3):
            executed = other.execute(proposed.block)

            assert executed.root == proposed.root == proposed.header.state_root
            assert (executed.digest, executed.header) == (proposed.digest, proposed.header)
            assert executed.digest == header_digest(executed.block.header)

    def test_a_block_that_is_known_is_not_executed_again(self):
        layer = self.open()
        (proposed,) = self.chain_of(layer, 1)

        assert layer.execute(proposed.block) is layer.executed(proposed.digest)

    def test_siblings_share_nothing(self):
        layer, other = self.open(), self.open()
        left = build(layer, layer.genesis_digest, transactions=[self.transaction(0)])
        right = build(layer, layer.genesis_digest, transactions=[self.transaction(0, 1)], view=2)
        above = build(layer, left.digest, view=3)

        assert other.execute(right.block).root == right.root != left.root
        other.execute(left.block)
        assert other.execute(above.block).root == above.root

    def test_what_is_not_here_is_said(self):
        layer = self.open()
        (proposed,) = self.chain_of(self.open(), 1)
        orphan = msgspec.structs.replace(proposed.block.header, parent=ABSENT)

        with pytest.raises(UnknownParentError):
            layer.execute(Block(orphan, proposed.block.transactions))
        with pytest.raises(UnknownParentError):
            layer.propose(ProposalContext(parent=ABSENT, view=1, proposer=0, timestamp_ms=9_000_000), [])
        with pytest.raises(UnknownBlockError):
            layer.path_to(ABSENT)
        with pytest.raises(UnknownBlockError):
            layer.finalize(ABSENT)
        assert layer.executed(ABSENT) is None
        assert layer.certify(ABSENT) == 0

    @pytest.mark.parametrize("root", ["state_root", "receipts_root", "tx_root"])
    def test_a_block_with_another_root_is_invalid_and_not_kept(self, root):
        layer = self.open()
        (proposed,) = self.chain_of(self.open(), 1)
        false = Block(msgspec.structs.replace(proposed.block.header, **{root: ABSENT}), proposed.block.transactions)

        with pytest.raises(InvalidBlockError):
            layer.execute(false)
        assert layer.executed(header_digest(false.header)) is None
        assert layer.execute(proposed.block).root == proposed.root

    def test_finality_takes_the_ancestors_along_and_drops_the_losers(self):
        layer = self.open()
        chain = self.chain_of(layer, 3)
        loser = build(layer, layer.genesis_digest, view=7)
        above_loser = build(layer, loser.digest, view=8)
        kept = build(layer, chain[1].digest, view=9)

        assert [each.digest for each in layer.path_to(chain[1].digest)] == [each.digest for each in chain[:2]]
        outcome = layer.finalize(chain[1].digest)

        assert [each.digest for each in outcome.applied] == [each.digest for each in chain[:2]]
        assert [each.digest for each in outcome.dropped] == [loser.digest, above_loser.digest]
        assert (layer.finalized, layer.finalized_digest) == (chain[1].header, chain[1].digest)
        assert [layer.executed(each.digest) for each in (*chain[:2], loser, above_loser)] == [None] * 4
        assert {layer.executed(each.digest).digest for each in (chain[2], kept)} == {chain[2].digest, kept.digest}
        with pytest.raises(UnknownBlockError):
            layer.finalize(chain[0].digest)

    def test_it_comes_back_from_its_log(self):
        layer = self.open()
        chain = self.chain_of(layer, 3)
        layer.finalize(chain[1].digest)
        again = self.open(RestoredLog(entries=entries_of(chain[:2])), blocks=chain[:2])

        assert (again.finalized, again.finalized_digest) == (layer.finalized, layer.finalized_digest)
        assert again.execute(chain[2].block).root == chain[2].root

    def test_it_comes_back_from_a_snapshot_and_the_log_above(self):
        layer = self.open()
        chain = self.chain_of(layer, 3)
        layer.finalize(chain[0].digest)
        snapshot, header = layer.snapshot(), layer.finalized
        base = msgspec.msgpack.encode(StateBase(encode_header(header), snapshot))
        self.open().verify_snapshot(header, snapshot)
        outline = msgspec.structs.replace(snapshot, operations=())
        assert self.open().find_outline_fault(header, outline) == ""

        assert self.open(RestoredLog(base)).finalized == header
        again = self.open(RestoredLog(base, entries_of(chain[1:2])), blocks=chain[1:2])
        assert again.finalized == chain[1].header
        assert again.execute(chain[2].block).root == chain[2].root

    def test_a_forged_snapshot_is_refused(self):
        layer = self.open()
        chain = self.chain_of(layer, 2)
        layer.finalize(chain[0].digest)
        snapshot, header = layer.snapshot(), layer.finalized
        other = msgspec.structs.replace(header, state_root=chain[1].root)
        short = msgspec.structs.replace(snapshot, operations=snapshot.operations[:-1])

        assert layer.find_outline_fault(other, msgspec.structs.replace(snapshot, operations=()))
        for claimed, said in ((other, snapshot), (header, short)):
            with pytest.raises(ForgedSnapshot):
                layer.verify_snapshot(claimed, said)

    def test_what_is_applied_early_is_taken_back_for_another_branch(self):
        layer = self.open(applies_early=True)
        left, right = self.chain_of(layer, 2), build(layer, layer.genesis_digest, view=9)
        assert layer.certify(left[1].digest) == 2
        assert layer.applied == left[1].header
        assert layer.certify(right.digest) == 1

        assert [each.digest for each in layer.take_undone()] == [left[1].digest, left[0].digest]
        assert layer.take_undone() == ()
        outcome = layer.finalize(left[1].digest)
        assert [each.digest for each in outcome.dropped] == [right.digest]
        assert layer.finalized == layer.applied == left[1].header

    def test_nothing_is_applied_early_where_finality_does_it(self):
        layer = self.open()
        chain = self.chain_of(layer, 1)

        assert layer.certify(chain[0].digest) == 0
        assert (layer.applied.height, layer.take_undone(), layer.take_reexecuted()) == (0, (), ())

    def test_a_snapshot_is_of_what_is_final(self):
        layer = self.open(applies_early=True)
        chain = self.chain_of(layer, 2)
        layer.finalize(chain[0].digest)
        layer.certify(chain[1].digest)

        layer.verify_snapshot(layer.finalized, layer.snapshot())

    def test_an_execution_costs_time_and_signatures_more(self):
        layer, costs = self.open(), Costs()
        (proposed,) = self.chain_of(layer, 1)

        assert proposed.cost_us(costs, 0) > costs.block_us
        assert proposed.cost_us(costs, 3) == proposed.cost_us(costs, 0) + 3 * costs.verify_signature_us

    def test_its_derived_state_is_as_it_says(self):
        layer = self.open()
        chain = self.chain_of(layer, 3)
        layer.finalize(chain[1].digest)
        derived = layer.derived()

        assert derived.kept == derived.rebuilt
        assert [each for each in derived.sizes if each.found > each.bound] == []
