"""Fork choice: the blocks above the final one, which of them can be followed, and the best of these.

The best block has the greatest height, and among equals the first digest. A block can be followed when it and all its
ancestors down to the final one are here and were judged sound. Blocks that come before their parents wait for them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from network.types import Digest
from validators.consensus.interface import HeaderFacts

LOST_MAX: Final = 4_096
"""Blocks of lost branches that are remembered, so that nothing is built on them; the oldest go first."""


class BlockState(Enum):
    """The judgement of a block by the application."""

    UNKNOWN = "unknown"
    ASKED = "asked"
    SOUND = "sound"
    BAD = "bad"


@dataclass(slots=True, eq=False)
class TreeBlock:
    """A sealed block above the final one; `can_follow` once it and all its ancestors are sound."""

    facts: HeaderFacts
    seal: bytes
    state: BlockState = BlockState.UNKNOWN
    can_follow: bool = False


def is_better(block: HeaderFacts, other: HeaderFacts) -> bool:
    """Whether a block is to be followed rather than another one."""
    # The digest and not the arrival: all who know the same blocks follow the same one.
    return block.height > other.height or (block.height == other.height and block.digest < other.digest)


class ForkTree:
    """One validator's blocks above the final one, which is genesis at first."""

    def __init__(self, genesis: Digest) -> None:
        self.floor = HeaderFacts(0, genesis, b"", 0, -1, b"")
        """The final block."""
        self.head = self.floor
        """The block that is followed."""
        self._blocks: dict[Digest, TreeBlock] = {}
        self._children: dict[Digest, list[Digest]] = {}
        self._lost: dict[Digest, None] = {}

    def __len__(self) -> int:
        return len(self._blocks)

    def get(self, digest: Digest) -> TreeBlock | None:
        """Return a block above the final one."""
        return self._blocks.get(digest)

    def blocks(self) -> Iterator[TreeBlock]:
        """Yield the blocks in the order in which they came."""
        yield from self._blocks.values()

    def children(self) -> Iterator[tuple[Digest, Sequence[Digest]]]:
        """Yield each block that others wait for or stand on, with these in the order in which they came."""
        yield from self._children.items()

    def lost(self) -> Iterator[Digest]:
        """Yield the remembered blocks of lost branches, the oldest first."""
        yield from self._lost

    def add(self, facts: HeaderFacts, seal: bytes) -> bool:
        """Keep a block; False where it is known, or lies on a branch that lost to the final block."""
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
        """Return whether a block is known not to stand on the final one."""
        return facts.digest in self._lost or not self._may_stand(facts)

    def mark_sound(self, digest: Digest) -> None:
        """Take a block for sound; it and those on it can be followed if its ancestors can."""
        block = self._blocks.get(digest)
        if block is None or block.state is BlockState.BAD:
            return
        block.state = BlockState.SOUND
        waiting = [block]
        while waiting:
            each = waiting.pop()
            # From one that can be followed on, all that are sound can be: a long branch is not walked again.
            if each.state is BlockState.SOUND and not each.can_follow and self._is_ground(each.facts.parent):
                each.can_follow = True
                waiting += (self._blocks[child] for child in self._children.get(each.facts.digest, ()))

    def mark_bad(self, digest: Digest) -> None:
        """Take a block, and all on it, for blocks that are never followed."""
        waiting = [digest]
        while waiting:
            each = waiting.pop()
            if each in self._blocks:
                self._blocks[each].state = BlockState.BAD
                self._blocks[each].can_follow = False
            waiting += self._children.get(each, ())

    def forget_questions(self) -> None:
        """Take no question for asked: nobody will answer."""
        for block in self._blocks.values():
            if block.state is BlockState.ASKED:
                block.state = BlockState.UNKNOWN

    def candidates(self) -> list[TreeBlock]:
        """Return the blocks to be judged next: better than the head, and at the end of a branch or at its beginning.

        The end brings all blocks before it. The beginning matters where the end's own bytes are withheld.
        """
        return [
            block
            for digest, block in self._blocks.items()
            if block.state is BlockState.UNKNOWN
            and is_better(block.facts, self.head)
            and (not self._children.get(digest) or self._is_ground(block.facts.parent))
        ]

    def unjudged_below(self, digest: Digest) -> list[TreeBlock]:
        """Return the ancestors of a block that were not judged, nor asked about, oldest first."""
        path = self.path_to(digest)
        return [block for block in path[:-1] if block.state is BlockState.UNKNOWN]

    def path_to(self, digest: Digest) -> list[TreeBlock]:
        """Return the blocks that lead to a block, oldest first, as far as they are here."""
        path: list[TreeBlock] = []
        while (block := self._blocks.get(digest)) is not None:
            path.append(block)
            digest = block.facts.parent
        path.reverse()
        return path

    def best(self) -> TreeBlock | None:
        """Return the best block that can be followed, None where the head is."""
        found: TreeBlock | None = None
        for block in self._blocks.values():
            if block.can_follow and is_better(block.facts, self.head if found is None else found.facts):
                found = block
        return found

    def follow(self, block: TreeBlock) -> int:
        """Make a block the head; return how many blocks of the head before it are left."""
        kept = dict.fromkeys((self.floor.digest, *(each.facts.digest for each in self.path_to(block.facts.digest))))
        before, self.head = self.head, block.facts
        digest, left = before.digest, 0
        while digest not in kept:
            left += 1
            digest = self._blocks[digest].facts.parent
        return left

    def finalize(self, facts: HeaderFacts) -> None:
        """Make a block the final one and forget all that does not stand on it; blocks that lack a parent wait on."""
        self.floor = facts
        known, self._blocks, self._children = self._blocks, {}, {}
        self._lost.pop(facts.digest, None)
        for block in sorted(known.values(), key=lambda each: each.facts.height):
            if block.facts.digest == facts.digest:
                continue
            # Parents come first, so that those on a lost one are lost as well.
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
        """Return whether a block is above the final one, and on it as far as its own header tells."""
        if facts.height == self.floor.height + 1:
            return facts.parent == self.floor.digest
        return facts.height > self.floor.height and facts.parent not in self._lost

    def _lose(self, digest: Digest) -> None:
        """Remember a block that does not stand on the final one, with all that waits for it."""
        waiting = [digest]
        while waiting:
            each = waiting.pop()
            # The final block and those below it may come again.
            if each != self.floor.digest:
                self._blocks.pop(each, None)
                self._lost[each] = None
                waiting += self._children.pop(each, ())
        while len(self._lost) > LOST_MAX:
            del self._lost[next(iter(self._lost))]

    def _is_ground(self, digest: Digest) -> bool:
        """Return whether a child of a block can be followed as far as the block is concerned."""
        block = self._blocks.get(digest)
        return digest == self.floor.digest if block is None else block.can_follow


def _follows(facts: HeaderFacts, parent: HeaderFacts) -> bool:
    return facts.height == parent.height + 1 and facts.view > parent.view
