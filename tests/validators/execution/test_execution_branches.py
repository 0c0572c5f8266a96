"""Ways to the same state: forks and losers, restart from the log, cold replay, indexes rebuilt from the state."""

import gc

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler import POLICIES
from tests.support.branches import BLOCK, assert_state, build, derived, tight_genesis
from tests.support.chain_harness import (
    BOB,
    CAROL,
    DAVE,
    advance,
    do,
    make_engine,
    make_genesis,
    pay,
    policies_of,
    propose,
)
from tests.support.keystones import third_of
from tests.support.properties import examples
from validators.execution import RootMismatchError, UnknownBlockError, UnknownParentError
from validators.execution.heights import scan_buckets
from validators.execution.run import BlockRun
from validators.state import CorruptLog


@examples(100)
@given(st.lists(BLOCK, min_size=1, max_size=7), st.sampled_from(("slot", "height")))
@pytest.mark.soak
def test_supply_and_tables_hold_and_a_cold_replay_agrees(blocks, timebase):
    """Over random transactions and timers every invariant of the state holds, and replay gives the same roots."""
    genesis = tight_genesis(timebase)
    engine, replica, nonces, chain = make_engine(genesis), make_engine(genesis), {}, []
    for actions, after_ms in blocks:
        transactions, nonces = build(actions, nonces)
        chain.append(advance(engine, transactions, after_ms=after_ms))
        assert_state(engine, genesis.supply)

    for executed in chain:
        again = replica.execute(executed.block)
        assert (again.receipts, again.operations) == (executed.receipts, executed.operations)
        assert msgspec.structs.asdict(again.summary) == msgspec.structs.asdict(executed.summary)
        replica.finalize(again.digest)
        assert replica.database.canonical_root == executed.header.state_root
    assert dict(engine.live_values()) == dict(engine.database.items()) == dict(replica.live_values())


@examples(100)
@given(st.data())
def test_forks_and_late_finality_equal_linear_execution(data):
    """However blocks fork and whenever they are finalized, the winners' roots are those of a straight run."""
    genesis = tight_genesis()
    engine = make_engine(genesis)
    nonces = {engine.finalized_digest: {}}
    executed, won, ordinal = {}, [], 0
    for _ in range(data.draw(st.integers(2, 10), label="steps")):
        known = [engine.finalized_digest, *executed]
        if executed and data.draw(st.booleans(), label="finalize"):
            digest = data.draw(st.sampled_from(list(executed)), label="winner")
            finalization = engine.finalize(digest)
            won += finalization.applied
            for gone in (*finalization.applied, *finalization.dropped):
                del executed[gone.digest]
            assert all(engine.executed(gone.digest) is None for gone in finalization.dropped)
            assert [one.header.parent for one in finalization.applied[1:]] == [
                one.digest for one in finalization.applied[:-1]
            ]
            assert_state(engine, genesis.supply)
            continue
        parent = data.draw(st.sampled_from(known), label="parent")
        actions, after_ms = data.draw(BLOCK, label="block")
        transactions, after = build(actions, nonces[parent])
        ordinal += 1
        block = propose(engine, transactions, parent=parent, after_ms=after_ms, skipped_views=ordinal)
        executed[block.digest], nonces[block.digest] = block, after

    straight = make_engine(genesis)
    for winner in won:
        assert straight.execute(winner.block).receipts == winner.receipts
        straight.finalize(winner.digest)
    assert straight.database.canonical_root == engine.database.canonical_root
    assert derived(straight) == derived(engine)
    assert [one.digest for one in executed.values()] == [
        one.digest for digest in executed for one in engine.path_to(digest)[-1:]
    ]


@examples(60)
@given(st.lists(BLOCK, min_size=2, max_size=6), st.data())
def test_a_restart_from_the_log_goes_on_as_if_nothing_had_happened(blocks, data):
    """Caches and indexes are rebuilt from the state: the next blocks come out the same."""
    genesis, nonces = tight_genesis(), {}
    cut = data.draw(st.integers(0, len(blocks) - 1), label="crash after")
    engine, chain = make_engine(genesis), []
    for actions, after_ms in blocks:
        transactions, nonces = build(actions, nonces)
        chain.append(advance(engine, transactions, after_ms=after_ms))

    log = [operation for executed in chain[:cut] for operation in executed.operations]
    header = chain[cut - 1].header if cut else None
    restarted = make_engine(genesis, operations=log, header=header)
    assert derived(restarted) == list(scan_buckets(restarted.database.items()))
    for executed in chain[cut:]:
        assert restarted.execute(executed.block).receipts == executed.receipts
        restarted.finalize(executed.digest)
    assert restarted.finalized_digest == engine.finalized_digest
    assert restarted.database.operations(0) == engine.database.operations(0)


class TestFinality:
    def test_finalizing_applies_ancestors_and_drops_every_other_branch(self):
        """The winner's path is applied; siblings and their descendants are dropped and can no longer be built on."""
        engine = make_engine()
        first = propose(engine, [pay(0, 0, BOB, 1)])
        second = propose(engine, [pay(0, 1, BOB, 1)], parent=first.digest)
        child = propose(engine, [pay(0, 2, BOB, 1)], parent=second.digest)
        rival = propose(engine, [pay(0, 0, CAROL, 1)])
        rival_child = propose(engine, [pay(0, 1, CAROL, 1)], parent=rival.digest)
        late_rival = propose(engine, [pay(0, 1, DAVE, 1)], parent=first.digest)

        assert engine.path_to(child.digest) == [first, second, child]
        finalization = engine.finalize(second.digest)

        assert finalization.applied == (first, second)
        assert finalization.dropped == (rival, rival_child, late_rival)
        assert engine.finalized_digest == second.digest
        assert engine.path_to(child.digest) == [child]
        assert engine.executed(second.digest) is None
        for gone in finalization.dropped:
            with pytest.raises(UnknownParentError):
                propose(engine, parent=gone.digest)
            with pytest.raises(UnknownBlockError):
                engine.finalize(gone.digest)
        with pytest.raises(UnknownBlockError):
            engine.path_to(engine.finalized_digest)
        grandchild = propose(engine, [pay(0, 3, BOB, 1)], parent=child.digest)
        engine.finalize(grandchild.digest)
        assert engine.database.canonical_root == grandchild.header.state_root

    def test_the_operations_to_write_are_those_that_are_applied(self):
        """The operations written before finalizing are exactly those by which the database's log grows."""
        engine = make_engine()
        size = engine.database.size
        first = propose(engine, [pay(0, 0, BOB, 1)])
        second = propose(engine, [pay(0, 1, BOB, 1)], parent=first.digest)
        written = [operation for one in engine.path_to(second.digest) for operation in one.operations]
        engine.finalize(second.digest)

        assert list(engine.database.operations(size)) == written

    def test_the_same_proposal_twice_is_one_block(self):
        """A leader that builds the same again keeps what stands on the first one alive."""
        engine = make_engine()
        first = propose(engine, [pay(0, 0, BOB, 1)])
        child = propose(engine, parent=first.digest)

        assert propose(engine, [pay(0, 0, BOB, 1)]) is first
        assert engine.execute(first.block) is first
        engine.finalize(child.digest)
        assert engine.finalized.height == 2

    def test_a_block_of_a_lost_branch_is_refused(self):
        """A block whose parent is an ancestor of the finalized block comes too late."""
        engine, other = make_engine(), make_engine()
        late = propose(other, [pay(0, 0, CAROL, 1)])
        advance(engine, [pay(0, 0, BOB, 1)])

        with pytest.raises(UnknownParentError):
            engine.execute(late.block)


class TestRestart:
    def test_a_log_that_does_not_lead_to_the_header_is_refused(self):
        """A lost batch shows as another root, or as a log that contradicts itself."""
        engine = make_engine()
        first, second = (advance(engine, [pay(0, nonce, BOB, 1)]) for nonce in range(2))

        for operations in ((), first.operations):
            with pytest.raises(RootMismatchError):
                make_engine(operations=operations, header=second.header)
        with pytest.raises((RootMismatchError, CorruptLog)):
            make_engine(operations=second.operations, header=second.header)
        with pytest.raises(RootMismatchError):
            make_engine(operations=first.operations)
        whole = make_engine(operations=first.operations + second.operations, header=second.header)
        assert whole.finalized_digest == engine.finalized_digest

    def test_waiting_timers_are_read_back(self):
        """Timers waiting at the end of the last block wait for the first one after the restart."""
        genesis = tight_genesis("height")
        engine = make_engine(genesis)
        timers = [["timer", 1, [["compute", 500]], 900, 5] for _ in range(4)]
        chain = [advance(engine, [do(0, 0, *timers)]), advance(engine)]
        assert chain[-1].summary.waiting_live > 0
        log = [operation for one in chain for operation in one.operations]
        restarted = make_engine(genesis, operations=log, header=chain[-1].header)

        assert propose(restarted).receipts == propose(engine).receipts
        assert propose(restarted).digest == propose(engine).digest


def test_an_index_of_one_branch_does_not_show_in_another():
    """Siblings see their own timers' heights only, and a dropped branch leaves none behind."""
    engine = make_engine()
    early = propose(engine, [do(0, 0, ["timer", 5, []])])
    late = propose(engine, [do(0, 0, ["timer", 9, []])])
    both = propose(engine, [do(0, 1, ["timer", 9, []])], parent=early.digest)
    gone = propose(engine, [do(0, 1, ["cancel_last"])], parent=early.digest)

    assert engine.due_heights(100, early.digest) == [6]
    assert engine.due_heights(100, late.digest) == [10]
    assert engine.due_heights(100, both.digest) == [6, 11]
    assert engine.due_heights(6, both.digest) == [6]
    assert engine.due_heights(100, gone.digest) == []
    assert engine.due_heights(100) == []
    engine.finalize(gone.digest)
    assert engine.due_heights(100) == []


@pytest.mark.parametrize("policy", third_of(POLICIES))
@pytest.mark.soak
def test_a_block_that_was_run_waits_for_no_garbage_collector(policy):
    """A run holds all that its block has read: freeing it would be left to walks over everything that is young."""
    table = POLICIES[policy].config_table
    own = None if table is None else table.record()
    genesis = make_genesis(policies=policies_of(policy, lane=own), timebase="slot")
    engine, replica = make_engine(genesis), make_engine(genesis)
    gc.collect()
    gc.disable()
    try:
        replica.execute(propose(engine, [pay(0, 0, BOB, 5)]).block)
        kept = [each for each in gc.get_objects() if isinstance(each, BlockRun)]
    finally:
        gc.enable()

    assert kept == []
