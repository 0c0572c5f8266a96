"""Blocks applied when they are certified, taken back for another branch and applied again: the roots stay the same."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checker.checks.readback import read_back
from tests.support.branches import BLOCK, assert_state, build, derived, tight_genesis
from tests.support.chain_harness import (
    ALICE,
    BOB,
    CAROL,
    DAVE,
    PUPPET,
    balance_of,
    do,
    make_engine,
    make_genesis,
    pay,
    propose,
    stored,
)
from tests.support.properties import examples
from validators.execution import ApplyMode
from validators.execution.schema import account_key
from validators.execution.timer_list import NO_TIMERS
from validators.execution.timers import Waiting
from validators.storage import SimulatedDisk

MODES = {
    "early": ApplyMode(apply="certified"),
    "early, little retained": ApplyMode(apply="certified", retain_blocks=2, prune_every=1),
    "early, rebuilt": ApplyMode(apply="certified", prune_every=2, rebuild_indexes_every=2),
    "early, executed again": ApplyMode(apply="certified", reapply="execute"),
    "rebuilt": ApplyMode(rebuild_indexes_every=1, prune_every=1, retain_blocks=0),
    "never pruned": ApplyMode(prune_every=0),
}


def early_engine(genesis=None, **options):
    return make_engine(genesis, apply_mode=ApplyMode(apply="certified", **options))


def chain_of(engine, count, *, to=BOB, parent=None, nonce=0):
    """Build blocks with one payment each, one on the other."""
    blocks = []
    for index in range(count):
        blocks.append(propose(engine, [pay(0, nonce + index, to, 1)], parent=parent))
        parent = blocks[-1].digest
    return blocks


def undone_of(engine):
    return [executed.digest for executed in engine.take_undone()]


@examples(60)
@given(st.data())
def test_every_apply_mode_gives_the_same_roots_for_any_tree_of_blocks(data):
    """However blocks fork and in whatever order they are certified and finalized, all modes agree on each block."""
    genesis = tight_genesis()
    plain = make_engine(genesis)
    others = [make_engine(genesis, apply_mode=mode) for mode in MODES.values()]
    nonces, unfinalized = {plain.finalized_digest: {}}, {}
    for ordinal in range(1, data.draw(st.integers(4, 14), label="steps")):
        for engine in others:
            assert engine.audit().deviations == ()
        step = data.draw(st.sampled_from(("build", "build", "certify", "certify", "finalize")), label="step")
        if step == "build" or not unfinalized:
            parent = data.draw(st.sampled_from([plain.finalized_digest, *unfinalized]), label="parent")
            actions, after_ms = data.draw(BLOCK, label="block")
            transactions, after = build(actions, nonces[parent])
            block = propose(plain, transactions, parent=parent, after_ms=after_ms, skipped_views=ordinal)
            unfinalized[block.digest], nonces[block.digest] = block, after
            for engine in others:
                assert engine.execute(block.block).receipts == block.receipts
            continue
        digest = data.draw(st.sampled_from(list(unfinalized)), label=step)
        if step == "certify":
            for engine in (plain, *others):
                engine.certify(digest)
            continue
        gone = plain.finalize(digest)
        for engine in others:
            finalization = engine.finalize(digest)
            assert [one.digest for one in finalization.dropped] == [one.digest for one in gone.dropped]
        for one in (*gone.applied, *gone.dropped):
            del unfinalized[one.digest]

    values = dict(plain.live_values())
    for engine in others:
        engine.rewind_to_finalized()
        assert engine.database.canonical_root == plain.finalized.state_root
        assert dict(engine.live_values()) == values
        assert derived(engine) == derived(plain)
        assert_state(engine, genesis.supply)


class TestApplyEarly:
    def test_a_certified_block_is_applied_with_its_ancestors(self):
        """The database stands at it, while the finalized block is still genesis."""
        engine = early_engine()
        _, second = chain_of(engine, 2)
        engine.certify(second.digest)

        assert engine.database.canonical_root == second.header.state_root
        assert engine.finalized.height == 0
        assert engine.take_undone() == ()

    def test_by_default_nothing_is_applied_before_it_is_final(self):
        """Certification changes nothing there."""
        engine = make_engine()
        (block,) = chain_of(engine, 1)
        engine.certify(block.digest)

        assert engine.database.canonical_root == engine.finalized.state_root

    def test_certifying_an_ancestor_of_what_is_applied_takes_nothing_back(self):
        """Certifications may come in any order."""
        engine = early_engine()
        first, second = chain_of(engine, 2)
        engine.certify(second.digest)
        engine.certify(first.digest)

        assert engine.database.canonical_root == second.header.state_root
        assert undone_of(engine) == []

    def test_certifying_a_block_that_is_not_here_any_more_is_left_alone(self):
        """Finality may have overtaken it."""
        engine = early_engine()
        (block,) = chain_of(engine, 1)
        engine.finalize(block.digest)
        engine.certify(block.digest)
        engine.certify(b"?" * 32)

        assert engine.finalized_digest == block.digest

    def test_finalizing_what_is_applied_only_moves_the_finalized_block(self):
        """Blocks applied above it stay applied."""
        engine = early_engine()
        blocks = chain_of(engine, 3)
        engine.certify(blocks[2].digest)
        finalization = engine.finalize(blocks[1].digest)

        assert finalization.applied == tuple(blocks[:2])
        assert engine.database.canonical_root == blocks[2].header.state_root
        assert (engine.finalized.height, undone_of(engine)) == (2, [])

    def test_never_more_is_applied_early_than_can_be_taken_back(self):
        """The rest of the path waits until blocks become final."""
        engine = early_engine(retain_blocks=2)
        blocks = chain_of(engine, 4)
        engine.certify(blocks[3].digest)
        assert engine.database.canonical_root == blocks[1].header.state_root

        engine.finalize(blocks[0].digest)
        engine.certify(blocks[3].digest)
        assert engine.database.canonical_root == blocks[2].header.state_root
        rival = propose(engine, [pay(0, 1, CAROL, 1)], parent=blocks[0].digest)
        assert undone_of(engine) == [blocks[2].digest, blocks[1].digest]
        assert propose(engine, parent=rival.digest).header.height == 3


class TestUndo:
    def test_executing_on_another_branch_undoes_down_to_the_common_ancestor(self):
        """Latest first; what both branches share stays applied."""
        engine = early_engine()
        blocks = chain_of(engine, 4)
        engine.certify(blocks[3].digest)
        propose(engine, [pay(0, 1, CAROL, 1)], parent=blocks[0].digest)

        assert undone_of(engine) == [block.digest for block in reversed(blocks[1:])]
        assert engine.database.canonical_root == blocks[0].header.state_root

    def test_a_block_on_an_applied_ancestor_reads_that_ancestors_state(self):
        """Records of what was taken back were read; none of them shows."""
        engine, control = early_engine(), make_engine()
        _, second = chain_of(engine, 2)
        puppet = propose(engine, [do(1, 0, ["put", b"k", b"later"], ["timer", 3, []])], parent=second.digest)
        engine.certify(puppet.digest)
        rival = propose(engine, [pay(1, 0, ALICE, 5), do(2, 0, ["put", b"k", b"rival"])])

        assert control.execute(rival.block).receipts == rival.receipts
        for each in (engine, control):
            each.finalize(rival.digest)
        assert balance_of(engine, BOB) == balance_of(control, BOB)
        assert stored(engine, PUPPET, b"k") == b"rival"
        assert engine.due_heights(1_000) == []

    def test_a_rival_that_becomes_final_undoes_the_block_in_its_place(self):
        """The undone block has lost, and is dropped as well."""
        engine = early_engine()
        (block,) = chain_of(engine, 1)
        (rival,) = chain_of(engine, 1, to=CAROL)
        engine.certify(block.digest)
        finalization = engine.finalize(rival.digest)

        assert undone_of(engine) == [block.digest]
        assert finalization.dropped == (block,)
        assert engine.database.canonical_root == rival.header.state_root

    def test_certifying_a_rival_applies_it_in_the_place_of_the_other(self):
        """The last block that was certified is the one that is applied."""
        engine = early_engine()
        (block,) = chain_of(engine, 1)
        (rival,) = chain_of(engine, 1, to=CAROL)
        engine.certify(block.digest)
        engine.certify(rival.digest)

        assert undone_of(engine) == [block.digest]
        assert engine.database.canonical_root == rival.header.state_root

    def test_a_block_whose_branch_returns_is_executed_again_in_that_mode(self):
        """Its own batch was taken back; that of the other branch has stood on the finalized state all the time."""
        engine = early_engine(reapply="execute")
        first, rival = chain_of(engine, 1)[0], chain_of(engine, 1, to=CAROL)[0]
        for digest in (first.digest, rival.digest, first.digest):
            engine.certify(digest)

        assert [executed.digest for executed in engine.take_reexecuted()] == [first.digest]
        assert engine.take_reexecuted() == ()
        assert engine.database.canonical_root == first.header.state_root

    def test_another_result_of_the_second_execution_is_a_broken_invariant(self):
        """An error that rewinding leaves behind shows here; written again from memory the block would look the same."""
        engine = early_engine(reapply="execute")
        first, rival = chain_of(engine, 1)[0], chain_of(engine, 1, to=CAROL)[0]
        engine.certify(first.digest)
        engine.certify(rival.digest)
        branch = engine._tree.get(first.digest)
        branch.executed = replace(first, receipts=(b"another",))

        with pytest.raises(AssertionError, match="executed again, has other receipts"):
            engine.certify(first.digest)

    def test_reading_the_finalized_state_takes_back_and_does_not_count(self):
        """No branch was abandoned for it."""
        engine = early_engine()
        (block,) = chain_of(engine, 1)
        engine.certify(block.digest)
        readback = read_back(0, engine, SimulatedDisk())

        assert dict(readback.live) == dict(make_engine().live_values())
        assert engine.database.canonical_root == engine.finalized.state_root
        assert undone_of(engine) == []


class TestReturn:
    def test_ten_blocks_come_back_with_the_roots_they_had(self):
        """Undone for one block of another branch, applied again by the next certification."""
        engine, control = early_engine(retain_blocks=12), make_engine()
        blocks = chain_of(engine, 10)
        engine.certify(blocks[9].digest)
        chain_of(engine, 1, to=CAROL)
        assert len(undone_of(engine)) == 10

        following = propose(engine, [pay(0, 10, BOB, 1)], parent=blocks[9].digest)
        engine.certify(following.digest)
        for block in (*blocks, following):
            control.execute(block.block)
            control.finalize(block.digest)
            engine.finalize(block.digest)
            assert engine.finalized.state_root == control.database.canonical_root
        assert engine.database.operations() == control.database.operations()

    def test_a_block_that_stood_on_an_undone_one_can_be_finalized(self):
        """Its batch died with the one below; its writes go into a new one."""
        engine = early_engine()
        first, second = chain_of(engine, 2)
        engine.certify(first.digest)
        chain_of(engine, 1, to=CAROL)
        engine.finalize(second.digest)

        assert engine.database.canonical_root == second.header.state_root

    def test_back_and_forth_between_two_branches(self):
        """Each change of branch undoes what the other had applied."""
        engine = early_engine()
        one = chain_of(engine, 3)
        other = chain_of(engine, 3, to=CAROL)
        for branch, rival in ((one, other), (other, one), (one, other)):
            engine.certify(branch[-1].digest)
            assert engine.database.canonical_root == branch[-1].header.state_root
            engine.take_undone()
            engine.certify(rival[-1].digest)
            assert undone_of(engine) == [block.digest for block in reversed(branch)]


class TestUpkeep:
    def test_what_is_kept_of_the_log_is_bounded(self):
        """Below what can be taken back nothing stays but a part of a chunk and what waits for the next pruning."""
        engine, whole = (
            make_engine(apply_mode=ApplyMode(retain_blocks=2, prune_every=2)),
            make_engine(apply_mode=MODES["never pruned"]),
        )
        kept = []
        for block in range(60):
            executed = propose(whole, [do(0, block, *[["put", b"key%d" % index, b"%d" % block] for index in range(9)])])
            whole.finalize(executed.digest)
            engine.execute(executed.block)
            engine.finalize(executed.digest)
            kept.append(len(engine.database.operations(engine.database.start)))

        assert whole.database.start == 0
        assert engine.database.start > 256
        assert engine.database.retained == 2
        assert max(kept) < 2 * 256 < whole.database.size
        assert engine.database.canonical_root == whole.database.canonical_root

    def test_a_rebuild_does_not_trust_what_was_derived_before(self):
        """Height index, waiting timers and locations are made from the log."""
        genesis = make_genesis()
        engine, control = make_engine(genesis, apply_mode=ApplyMode(rebuild_indexes_every=1)), make_engine(genesis)
        block = propose(control, [do(0, 0, ["timer", 2, [["put", b"k", b"v"]]], ["timer", 9, []])])
        engine.execute(block.block)
        waiting = propose(control, parent=block.digest)
        engine.execute(waiting.block)
        engine._tree.finalized.heights._overdue.append(77)
        for executed in (block, waiting):
            engine._tree.get(executed.digest).waiting = Waiting(NO_TIMERS, 1_000)
        locations = engine.database._store.locations
        locations[account_key(DAVE)] = locations[account_key(CAROL)] = 1
        engine.finalize(block.digest)

        assert engine.due_heights(1_000) == [3, 10]
        assert balance_of(engine, DAVE) == balance_of(control, DAVE)
        following = propose(control, [pay(0, 1, BOB, 1)], parent=waiting.digest)
        assert engine.execute(following.block).receipts == following.receipts

    def test_a_rebuild_below_early_applied_blocks_reads_the_finalized_state(self):
        """Blocks applied above are taken back for it, and applied again with the next certification."""
        engine = early_engine(rebuild_indexes_every=1)
        first = propose(engine, [do(0, 0, ["timer", 5, []])])
        second = propose(engine, [do(0, 1, ["timer", 9, []])], parent=first.digest)
        engine.certify(second.digest)
        engine.finalize(first.digest)
        assert engine.due_heights(1_000) == [6]

        engine.certify(second.digest)
        assert engine.database.canonical_root == second.header.state_root
        assert undone_of(engine) == []
