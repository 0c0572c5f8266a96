"""The state of a longest chain beside what it leads to: forks, lost branches, slots, answers of peers."""

from unittest.mock import ANY

import pytest

from tests.support.longest_chain_bench import Lone, block_on, chain_on, seal_of, with_height
from validators.consensus.interface import BlockArrived, Received, TimeoutReached
from validators.consensus.longest_chain import HeadResponse, SealedHeader
from validators.consensus.longest_chain.slots import _Waiting
from validators.consensus.longest_chain.tree import BlockState


def derived_of(lone):
    """Return what an engine derives, with its own final block and slot for those of the journal."""
    return lone.engine.derived([], lone.engine.finality)


def stale_in(lone):
    """Return the names of what differs."""
    derived = derived_of(lone)
    return [name for name in {**derived.kept, **derived.rebuilt} if derived.kept.get(name) != derived.rebuilt.get(name)]


def forked():
    """Return a replica with two final blocks, a branch that can be followed and another that lacks its parent."""
    lone = Lone(slot=30)
    chain = chain_on(None, range(1, 6))
    lone.take(*chain)
    lone.take(block_on(chain[3], 7), *chain_on(block_on(chain[4], 8), (9, 10)), block_on(chain[0], 11))
    return lone, chain


def test_what_stands_on_the_final_block_is_that_of_its_headers():
    lone, chain = forked()

    assert lone.final == chain[1]
    assert stale_in(lone) == []
    assert len(derived_of(lone).kept) > 15


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_blocks_that_come_in_any_order_leave_nothing_stale(order):
    lone = Lone(slot=30)
    refused = block_on(None, 1)
    branch = [refused, *chain_on(refused, (2, 3))]
    lone.silent_about = ANY
    lone.take(*(branch[place] for place in order))
    assert stale_in(lone) == []
    lone.judge(refused, ok=False)
    assert stale_in(lone) == []
    lone.silent_about = b""
    lone.take(with_height(block_on(branch[2], 4), 9), *chain_on(None, range(10, 16)))

    assert stale_in(lone) == []


def break_children(tree):
    tree._children[b"\x07" * 32] = [b"\x08" * 32]


def break_lost(tree):
    tree._lost[tree.head.digest] = None


def break_floor(tree):
    tree._blocks[tree.floor.digest] = next(iter(tree._blocks.values()))
    tree._blocks[tree.floor.digest].facts = tree.floor


def break_state(tree):
    next(iter(tree._blocks.values())).state = BlockState.BAD


def break_followed(tree):
    next(iter(tree._blocks.values())).can_follow = False


def break_head(tree):
    tree.head = block_on(None, 29)


@pytest.mark.parametrize(
    "hurt", [break_children, break_lost, break_floor, break_state, break_followed, break_head], ids=lambda f: f.__name__
)
def test_what_is_stale_in_the_tree_shows(hurt):
    lone, _ = forked()
    hurt(lone.engine._tree)

    assert stale_in(lone)


def test_a_block_whose_slot_has_come_waits_no_more():
    lone = Lone(slot=3)
    facts = block_on(None, 9)
    lone.take(facts)
    assert f"block {facts.digest.hex()} waits" in derived_of(lone).kept
    assert stale_in(lone) == []
    lone.enter(8)
    assert stale_in(lone) == []
    lone.engine._slots.waiting[facts.digest] = _Waiting(9, facts.digest, facts, b"")

    assert stale_in(lone) == [f"block {facts.digest.hex()} waits"]


def test_a_block_whose_slot_has_forgotten_it_is_named():
    lone, chain = forked()
    lone.take(block_on(chain[3], 5, salt=1))
    assert stale_in(lone) == []
    del lone.engine._slots.sealed[4]

    assert stale_in(lone) == [f"seal of {chain[3].digest.hex()} in its slot"]


def test_answers_of_a_round_that_is_over_are_forgotten():
    lone = Lone(slot=30)
    facts = block_on(None, 4)
    lone.step(BlockArrived(1, facts, seal_of(facts)))
    answer = HeadResponse(SealedHeader(facts.header, seal_of(facts)), None)
    lone.step(Received(2, answer))
    lone.step(TimeoutReached("join", 1))
    sizes = {each.what: each.found for each in derived_of(lone).sizes}
    assert sizes["answers that nobody waits for"] == 0

    lone.engine._joining._heard[2] = answer
    sizes = {each.what: each for each in derived_of(lone).sizes}
    assert sizes["answers that nobody waits for"].found > sizes["answers that nobody waits for"].bound


def test_lost_blocks_have_a_bound():
    lone, _ = forked()
    (size,) = [each for each in derived_of(lone).sizes if each.what == "blocks of lost branches"]

    assert 0 < size.found <= size.bound
