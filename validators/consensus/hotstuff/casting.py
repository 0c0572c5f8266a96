"""A validator's own votes, timeouts and seals, and the rules by which it casts them.

Invariant: every vote first checks `last_voted` of the memory, and its record raises it. So a second vote in a view, or
a vote in a view that was given up, cannot be made.
"""

from collections.abc import Iterable

from network.types import NodeId
from validators.consensus.hotstuff.config import HotStuffConfig
from validators.consensus.hotstuff.journal import CastVote, Memory
from validators.consensus.hotstuff.messages import (
    TIMEOUT_NAMESPACE,
    VOTE_NAMESPACE,
    BlockSeal,
    BlockVote,
    QuorumCertificate,
    TimeoutCertificate,
    ViewTimeout,
    timeout_bytes,
    vote_bytes,
)
from validators.consensus.hotstuff.tree import JustifiedBlock
from validators.consensus.interface import BlockRef
from validators.consensus.signing import Scheme


class Voter:
    """Signs for validator `me`; an observer, None, signs nothing.

    Attributes:
        found: The vote of an earlier life that may have to be sent again; None if there is none.
        votes_cast: The number of votes of this life.
    """

    def __init__(self, me: NodeId | None, scheme: Scheme, config: HotStuffConfig) -> None:
        self._me = me
        self._scheme = scheme
        self._config = config
        self.found: BlockVote | None = None
        self.votes_cast = 0

    @property
    def is_observer(self) -> bool:
        """Whether it signs nothing."""
        return self._me is None

    def take_found(self, sender: NodeId, digest: bytes) -> BlockVote | None:
        """Return the vote of an earlier life for a block that the own disk has given back, and forget it.

        A crash during a sync can keep a vote and lose its block, and no peer may rely on a block that is missing here.
        """
        if self.found is None or sender != self._me or self.found.digest != digest:
            return None
        found, self.found = self.found, None
        return found

    def may_vote(self, memory: Memory, view: int) -> bool:
        """Whether a vote may be cast in a view at all."""
        return self._me is not None and view > memory.last_voted

    def may_vote_for(self, memory: Memory, block: JustifiedBlock) -> bool:
        """Whether a block of the current view may get our vote, once it has been executed."""
        view, justify = block.facts.view, block.justify
        if view != memory.view or not self.may_vote(memory, view):
            return False
        if self._config.is_two_chain:
            return justify.view == view - 1 or _shows(block.timeout, view - 1, justify.view)
        # A block whose parent is of a lower view than the lock cannot extend it: views rise along a chain.
        return justify.view > memory.locked.view or justify.ref == memory.locked

    def choose(self, memory: Memory, blocks: Iterable[JustifiedBlock]) -> JustifiedBlock | None:
        """Return the first of the blocks that may get our vote, None where there is no such block."""
        return next((block for block in blocks if self.may_vote_for(memory, block)), None)

    def vote(self, ref: BlockRef, parent_view: int) -> CastVote:
        """Sign a vote; return it as its journal record."""
        assert self._me is not None, "an observer casts no vote"
        self.votes_cast += 1
        signature = self._scheme.sign(VOTE_NAMESPACE, vote_bytes(ref.view, ref.digest))
        return CastVote(BlockVote(self._me, ref.view, ref.digest, signature), parent_view)

    def seal(self, vote: BlockVote, justify: QuorumCertificate, entry: TimeoutCertificate | None) -> BlockSeal:
        """Return the seal of our own block; without timeouts where its parent is of the previous view."""
        return BlockSeal(justify, vote.signature, None if justify.view == vote.view - 1 else entry)

    def timeout(self, memory: Memory) -> ViewTimeout | None:
        """Sign that this validator will not vote any more in the current view."""
        if self._me is None:
            return None
        view, entry = memory.view, memory.entry
        signature = self._scheme.sign(TIMEOUT_NAMESPACE, timeout_bytes(view, memory.high.view))
        shown = entry if entry is not None and entry.view == view - 1 and memory.high.view != view - 1 else None
        return ViewTimeout(self._me, view, memory.high, shown, signature)


def _shows(timeout: TimeoutCertificate | None, view: int, justify_view: int) -> bool:
    return timeout is not None and timeout.view == view and justify_view >= timeout.high_view
