"""Derived state of an engine: the finalized next nonce wherever the database stands, and records without a key."""

import pytest

from tests.support.chain_harness import ALICE, KEYS, advance, make_engine, pay, propose
from validators.execution.block_tree import ApplyMode


@pytest.mark.parametrize("apply", ["finalized", "certified"])
def test_the_next_nonce_is_that_of_the_finalized_state(apply):
    """A block that was applied early has moved the database on, and nobody may tell that from outside."""
    engine = make_engine(apply_mode=ApplyMode(apply=apply))
    advance(engine, [pay(0, 0, ALICE, 1)])
    above = propose(engine, [pay(0, 1, ALICE, 1), pay(0, 2, ALICE, 1)])
    assert engine.certify(above.digest) == (apply == "certified")
    before = engine.next_nonce(KEYS[0])
    engine.finalize(above.digest)

    assert (before, engine.next_nonce(KEYS[0])) == (1, 3)


def test_an_account_that_never_sent_begins_with_nonce_0():
    assert make_engine().next_nonce(bytes(32)) == 0


def test_a_branch_that_lost_is_stale():
    """It is high enough, and stands on nothing that is final."""
    engine = make_engine()
    lost, won = propose(engine, [pay(0, 0, ALICE, 1)]), propose(engine, [pay(0, 0, ALICE, 2)])
    above = propose(engine, [pay(0, 1, ALICE, 1)], parent=lost.digest)
    kept = [engine._tree.get(executed.digest) for executed in (lost, above)]
    engine.finalize(won.digest)
    for branch in kept:
        engine._tree.add(branch)
    derived = engine.derived()

    assert derived.kept.keys() - derived.rebuilt.keys() == {f"block {each.digest.hex()}" for each in (lost, above)}


def test_blocks_applied_early_are_no_more_than_can_be_taken_back():
    engine = make_engine(apply_mode=ApplyMode(apply="certified", retain_blocks=2))
    parent = engine.finalized_digest
    for nonce in range(3):
        parent = propose(engine, [pay(0, nonce, ALICE, 1)], parent=parent).digest
    engine.certify(parent)

    assert [each[1:3] for each in engine.derived().sizes if each.what == "blocks applied early"] == [(2, 2)]
