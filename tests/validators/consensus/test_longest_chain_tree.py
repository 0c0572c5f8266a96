"""Fork choice over arbitrary trees, arrival orders and equivocations, against the choice recomputed from all blocks."""

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tests.support.longest_chain_bench import GENESIS, block_on, chain_on, with_height
from tests.support.properties import examples
from validators.consensus.longest_chain.tree import ForkTree

PICK = st.integers(0, 10**6)
DEPTH = 3


class ForkChoice(RuleBasedStateMachine):
    """Blocks are made on any block, arrive in any order and are judged in any order; the model recomputes all."""

    def __init__(self):
        super().__init__()
        self.tree = ForkTree(GENESIS)
        self.made = []
        self.arrived = {}
        self.sound = {}
        self.bad = {}
        self.final = self.head = self.tree.floor
        self.left = []

    @rule(parent=PICK, ahead=st.integers(1, 3), salt=st.integers(0, 2))
    def make(self, parent, ahead, salt):
        parents = [None, *self.made]
        chosen = parents[-1 - parent % min(len(parents), 6)]
        block = block_on(chosen, (0 if chosen is None else chosen.view) + ahead, salt=salt)
        if block not in self.made:
            self.made.append(block)

    @precondition(lambda self: self.made)
    @rule(which=PICK)
    def arrive(self, which):
        block = self.made[-1 - which % min(len(self.made), 8)]
        if self.tree.add(block, b""):
            self.arrived[block.digest] = block
        self.choose()

    @precondition(lambda self: self.arrived)
    @rule(which=PICK, ok=st.integers(0, 9))
    def judge(self, which, ok):
        digest = list(self.arrived)[-1 - which % min(len(self.arrived), 8)]
        if digest in self.sound or digest in self.bad:
            return
        if ok:
            self.sound[digest] = None
            self.tree.mark_sound(digest)
        else:
            self.bad[digest] = None
            self.tree.mark_bad(digest)
        self.choose()

    @precondition(lambda self: self.arrived)
    @rule()
    def judge_all(self):
        for digest in list(self.arrived):
            if digest not in self.bad and digest not in self.sound:
                self.sound[digest] = None
                self.tree.mark_sound(digest)
        self.choose()

    def choose(self):
        """Follow and finalize as the engine does, and by the model."""
        self.head, left = self.recompute()
        best = self.tree.best()
        if best is not None:
            found = self.tree.follow(best)
            assert found == left
            path = self.tree.path_to(self.tree.head.digest)
            if len(path) > DEPTH:
                self.tree.finalize(path[-1 - DEPTH].facts)
        ancestors = self.ancestors(self.head)
        if len(ancestors) > DEPTH and ancestors[DEPTH].height > self.final.height:
            self.final = ancestors[DEPTH]

    def ancestors(self, block):
        """Return a block and all before it down to the final one, which is left out; None where it is not on that."""
        found = []
        while block.digest != self.final.digest:
            found.append(block)
            if block.parent == self.final.digest:
                return found
            if block.parent not in self.arrived:
                return []
            block = self.arrived[block.parent]
        return found

    def recompute(self):
        """Return the best block of all that were judged down to the final one, and how many of the head's are left."""
        best = self.head
        for block in self.arrived.values():
            path = self.ancestors(block)
            if path and all(each.digest in self.sound for each in path):
                best = min(best, block, key=lambda each: (-each.height, each.digest))
        kept = [each.digest for each in self.ancestors(best)]
        return best, sum(each.digest not in kept for each in self.ancestors(self.head))

    @invariant()
    def follows_the_best_block(self):
        assert (self.tree.head, self.tree.floor) == (self.head, self.final)

    @invariant()
    def keeps_nothing_beside_the_final_block(self):
        for block in self.tree.blocks():
            assert block.facts.height > self.final.height
            assert block.facts.height > self.final.height + 1 or block.facts.parent == self.final.digest


TestForkChoice = ForkChoice.TestCase
TestForkChoice.settings = examples(60, stateful_step_count=60)


def test_blocks_on_a_refused_one_are_not_asked_about():
    tree = ForkTree(GENESIS)
    below, above = chain_on(None, (1, 2))
    tree.add(below, b"")
    tree.add(above, b"")

    tree.mark_bad(below.digest)

    assert tree.candidates() == []


def test_blocks_on_a_branch_that_lost_are_refused():
    tree = ForkTree(GENESIS)
    ours, theirs = chain_on(None, range(1, 4)), chain_on(None, range(2, 8), salt=1)
    for block in (*ours, theirs[3]):
        tree.add(block, b"")
    tree.finalize(ours[0])

    assert [tree.add(block, b"") for block in theirs] == [False] * 6
    assert [tree.is_lost(block) for block in theirs] == [True] * 6
    assert tree.get(theirs[3].digest) is None


@pytest.mark.parametrize("is_first", [True, False])
def test_a_block_that_skips_heights_on_the_final_one_is_never_followed(is_first):
    tree = ForkTree(GENESIS)
    final = block_on(None, 1)
    skipping, early = with_height(block_on(final, 9), 5), block_on(final, 1, salt=1)
    for block in (skipping, early) if is_first else ():
        tree.add(block, b"")
    tree.finalize(final)
    for block in (skipping, early):
        tree.add(block, b"")
        tree.mark_sound(block.digest)

    assert tree.candidates() == []
    assert tree.best() is None
