"""Fork choice: the blocks above the final block, the blocks that can be followed, and the best of these.

The best block has the greatest height; among equal heights it has the least digest. A block can be followed when it and
all its ancestors down to the final block are here and were judged sound. Blocks that come before their parents wait.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from network.types import Digest
from validators.consensus.interface import HeaderFacts

LOST_MAX: Final = 4_096
"""Most remembered blocks of lost branches, on which nothing is built; the oldest are forgotten first."""


class BlockState(Enum):
    """The application's judgement of a block."""

    UNKNOWN = "unknown"
    ASKED = "asked"
    SOUND = "sound"
    BAD = "bad"


@dataclass(slots=True, eq=False)
class TreeBlock:
    """A sealed block above the final block; `can_follow` once it and all its ancestors are sound."""

    facts: HeaderFacts
    seal: bytes
    state: BlockState = BlockState.UNKNOWN
    can_follow: bool = False


def is_better(block: HeaderFacts, other: HeaderFacts) -> bool:
    """Whether `block` is better than `other`."""
    # Ties go by digest, not by arrival, so that all validators that know the same blocks follow the same block.
    return block.height > other.height or (block.height == other.height and block.digest < other.digest)


class ForkTree:
    """One validator's blocks above the final block, which is genesis at first."""

    def __init__(self, genesis: Digest) -> None:
        self.floor = HeaderFacts(0, genesis, b"", 0, -1, b"")
        """The final block."""
        self.head = self.floor
        """The followed block."""
        self._blocks: dict[Digest, TreeBlock] = {}
        self._children: dict[Digest, list[Digest]] = {}
        self._lost: dict[Digest, None] = {}

    def __len__(self) -> int:
        return len(self._blocks)

    def get(self, digest: Digest) -> TreeBlock | None:
        """Return a block above the final block."""
        return self._blocks.get(digest)

    def blocks(self) -> Iterator[TreeBlock]:
        """Yield the blocks in order of arrival."""
        yield from self._blocks.values()

    def children(self) -> Iterator[tuple[Digest, Sequence[Digest]]]:
        """Yield each block on which other blocks stand or wait, with these blocks in order of arrival."""
        yield from self._children.items()

    def lost(self) -> Iterator[Digest]:
        """Yield the remembered blocks of lost branches, oldest first."""
        yield from self._lost

    def add(self, facts: HeaderFacts, seal: bytes) -> bool:
        """Keep a block; return False where it is known, or lies on a branch that lost to the final block."""
        if facts.digest in self._blocks:
            return False
        if not self._may_stand(facts):
            self._lose(facts.digest)
            return False
        block = self._blocks[facts.digest] = TreeBlock(facts, seal)
        self._children.setdefault(facts.parent, []).append(facts.digest)
        parent = self._blocks.get(facts.parent)
        is_refuted = facts.parent == self.floor.digest and not _follows(facts, self.floor)
        if is_refuted or (parent and (parent.state is BlockState.BAD or not _follows(facts, parent.facts))):
            self.mark_bad(facts.digest)
        for child in list(self._children.get(facts.digest, ())):
            if block.state is BlockState.BAD or not _follows(self._blocks[child].facts, facts):
                self.mark_bad(child)
        return True

    def is_lost(self, facts: HeaderFacts) -> bool:
        """Return whether a block is known not to descend from the final block."""
        return facts.digest in self._lost or not self._may_stand(facts)

    def mark_sound(self, digest: Digest) -> None:
        """Mark a block as sound; it and its descendants can be followed if its ancestors can."""
        block = self._blocks.get(digest)
        if block is None or block.state is BlockState.BAD:
            return
        block.state = BlockState.SOUND
        waiting = [block]
        while waiting:
            each = waiting.pop()
            # Stops at blocks that can be followed already, so that a long branch is not walked again.
            if each.state is BlockState.SOUND and not each.can_follow and self._is_ground(each.facts.parent):
                each.can_follow = True
                waiting += (self._blocks[child] for child in self._children.get(each.facts.digest, ()))

    def mark_bad(self, digest: Digest) -> None:
        """Mark a block and all its descendants as blocks that are never followed."""
        waiting = [digest]
        while waiting:
            each = waiting.pop()
            if each in self._blocks:
                self._blocks[each].state = BlockState.BAD
                self._blocks[each].can_follow = False
            waiting += self._children.get(each, ())

    def forget_questions(self) -> None:
        """Mark every unanswered question as not asked, because nobody will answer it."""
        for block in self._blocks.values():
            if block.state is BlockState.ASKED:
                block.state = BlockState.UNKNOWN

    def candidates(self) -> list[TreeBlock]:
        """Return the blocks to be judged next: better than the head, and first or last of their branch.

        Judging the last block brings all blocks before it. The first block matters where the last block's bytes are
        withheld.
        """
        return [
            block
            for digest, block in self._blocks.items()
            if block.state is BlockState.UNKNOWN
            and is_better(block.facts, self.head)
            and (not self._children.get(digest) or self._is_ground(block.facts.parent))
        ]

    def unjudged_below(self, digest: Digest) -> list[TreeBlock]:
        """Return the ancestors of a block that are neither judged nor asked about, oldest first."""
        path = self.path_to(digest)
        return [block for block in path[:-1] if block.state is BlockState.UNKNOWN]

    def path_to(self, digest: Digest) -> list[TreeBlock]:
        """Return the known blocks up to and including a block, oldest first."""
        path: list[TreeBlock] = []
        while (block := self._blocks.get(digest)) is not None:
            path.append(block)
            digest = block.facts.parent
        path.reverse()
        return path

    def best(self) -> TreeBlock | None:
        """Return the best block that can be followed; None where it is the head."""
        found: TreeBlock | None = None
        for block in self._blocks.values():
            if block.can_follow and is_better(block.facts, self.head if found is None else found.facts):
                found = block
        return found

    def follow(self, block: TreeBlock) -> int:
        """Make a block the head; return the number of blocks of the old head's branch that it abandons."""
        kept = dict.fromkeys((self.floor.digest, *(each.facts.digest for each in self.path_to(block.facts.digest))))
        before, self.head = self.head, block.facts
        digest, left = before.digest, 0
        while digest not in kept:
            left += 1
            digest = self._blocks[digest].facts.parent
        return left

    def finalize(self, facts: HeaderFacts) -> None:
        """Make a block final and forget all blocks that do not descend from it; blocks without a parent still wait."""
        self.floor = facts
        known, self._blocks, self._children = self._blocks, {}, {}
        self._lost.pop(facts.digest, None)
        for block in sorted(known.values(), key=lambda each: each.facts.height):
            if block.facts.digest == facts.digest:
                continue
            # Parents come first, so that children of a lost block are lost as well.
            if not self._may_stand(block.facts):
                self._lose(block.facts.digest)
                continue
            self._blocks[block.facts.digest] = block
            self._children.setdefault(block.facts.parent, []).append(block.facts.digest)
        if self.head.digest not in self._blocks:
            self.head = facts
        for child in list(self._children.get(facts.digest, ())):
            if not _follows(self._blocks[child].facts, facts):
                self.mark_bad(child)
        for block in list(self._blocks.values()):
            if block.state is BlockState.SOUND:
                self.mark_sound(block.facts.digest)

    def _may_stand(self, facts: HeaderFacts) -> bool:
        """Return whether a block is above the final block and, as far as its own header tells, descends from it."""
        if facts.height == self.floor.height + 1:
            return facts.parent == self.floor.digest
        return facts.height > self.floor.height and facts.parent not in self._lost

    def _lose(self, digest: Digest) -> None:
        """Remember a block that does not descend from the final block, with all blocks that wait for it."""
        waiting = [digest]
        while waiting:
            each = waiting.pop()
            # The final block and blocks below it may come again.
            if each != self.floor.digest:
                self._blocks.pop(each, None)
                self._lost[each] = None
                waiting += self._children.pop(each, ())
        while len(self._lost) > LOST_MAX:
            del self._lost[next(iter(self._lost))]

    def _is_ground(self, digest: Digest) -> bool:
        """Return whether a block lets its children be followed."""
        block = self._blocks.get(digest)
        return digest == self.floor.digest if block is None else block.can_follow


def _follows(facts: HeaderFacts, parent: HeaderFacts) -> bool:
    return facts.height == parent.height + 1 and facts.view > parent.view
