"""Lies of a leader about its block: none, two, one with forged claims, one from another time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final, final

import msgspec

from faults.byzantine.adversary import Liar, Lie, Orders, Post
from faults.byzantine.policy import TwistKind
from faults.byzantine.votes import other_digest
from network.types import NodeId
from validators.consensus.simplex import Finalize, Notarize, Proposal
from validators.execution import Block, Engine, Executed, InvalidBlockError, ProposalContext, Transaction
from validators.execution.blocks import block_digest, decode_block, decode_transaction, encode_block
from validators.messages import BlockRelay, BlockRequest, BlockResponse, Message, block_label
from validators.state import mmr_root

YEARS_AHEAD_MS: Final = 1 << 61
"""A block's time that no honest validator can take for the present."""


class _OtherBlock(Lie):
    """Gives other blocks out than the one that its validator proposed, and hands them out to whoever asks for them."""

    def own_block(self, post: Post) -> Block | None:
        """Return the block of a message by which this validator proposes it."""
        if not isinstance(post.message, BlockRelay):
            return None
        block = decode_block(post.message.block)
        return block if block.header.proposer == self.liar.node else None

    def hear(self, source: NodeId, message: Message) -> None:
        """Answer who asks for a block that the own validator does not know."""
        block = self.liar.made.get(message.digest) if isinstance(message, BlockRequest) else None
        if block is not None:
            response = BlockResponse((encode_block(block),))
            self.liar.wire.post((Post((source,), response, block_label(response, block.header)),))


@final
class Equivocate(_OtherBlock):
    """Proposes two valid blocks, one to each half of the honest validators, and votes for each before its half."""

    def __init__(self, liar: Liar, name: str, fault: Orders) -> None:
        super().__init__(liar, name, fault)
        self._pairs: dict[bytes, tuple[Block, Block]] = {}

    def tell(self, post: Post) -> Iterable[Post]:
        """Split the own block and the votes for it."""
        block = self.own_block(post)
        if block is not None:
            return self._relay(post, block) if self.is_time() else (post,)
        message = post.message
        if isinstance(message, Notarize | Finalize) and message.proposal.payload in self._pairs:
            return self._split_vote(post, message)
        return (post,)

    def _relay(self, post: Post, block: Block) -> Iterable[Post]:
        second = self._second(block)
        if second is None:
            return (post,)
        first, second = sorted((block, second), key=block_digest)
        self._pairs = {block_digest(block): (first, second)}
        other = second if first is block else first
        self.liar.keep(other)
        # Its own validator must be able to follow whichever of the two wins.
        self.liar.wire.give(BlockRelay(encode_block(other)))
        posts = []
        for half, each in zip(self.liar.halves, (first, second), strict=True):
            self.note("BlockRelay", half)
            relay = BlockRelay(encode_block(each))
            posts.append(Post((*half, *self.liar.accomplices), relay, block_label(relay, each.header)))
        return posts

    def _second(self, block: Block) -> Block | None:
        """Build a block that is as valid as the first: one millisecond later."""
        engine, header = self.liar.engine, block.header
        assert engine is not None, "who proposes has an engine"
        context = ProposalContext(
            parent=header.parent, view=header.view, proposer=header.proposer, timestamp_ms=header.timestamp_ms + 1
        )
        try:
            return engine.propose(context, [decode_transaction(each) for each in block.transactions]).block
        except InvalidBlockError:
            return None

    def _split_vote(self, post: Post, vote: Notarize | Finalize) -> Iterator[Post]:
        sign = self.liar.notarize if isinstance(vote, Notarize) else self.liar.finalize
        for half, block in zip(self.liar.halves, self._pairs[vote.proposal.payload], strict=True):
            proposal = Proposal(vote.proposal.view, vote.proposal.parent_view, block_digest(block))
            self.liar.note_proposal(proposal)
            self.note(post.label.kind, half)
            yield Post((*half, *self.liar.accomplices), sign(proposal), post.label)


@final
class SilentLeader(Lie):
    """Proposes nothing: neither its block nor its vote for it leaves."""

    def tell(self, post: Post) -> Iterable[Post]:
        """Hold back what proposes."""
        message = post.message
        is_block = isinstance(message, BlockRelay)
        is_vote = isinstance(message, Notarize) and self.liar.is_leader(message.proposal.view)
        if is_block or is_vote:
            self.note(post.label.kind, post.to)
            return ()
        return (post,)


@final
class ForgeBlock(_OtherBlock):
    """Claims for its block what executing it does not give; which claim, `what` says, or chance for each block."""

    CLAIMS: Final = ("state-root", "receipts-root", "height", "parent", "body", "due-set", "order", "clean-up")
    _TWISTS: Final[dict[str, TwistKind]] = {"due-set": "due-set", "order": "order", "clean-up": "clean-up"}

    def __init__(self, liar: Liar, name: str, fault: Orders) -> None:
        super().__init__(liar, name, fault)
        self._forged: dict[bytes, bytes] = {}
        self._twisted: bytes = b""
        self._claim = ""

    def propose(self, engine: Engine, context: ProposalContext, candidates: Sequence[Transaction]) -> Executed | None:
        """Build a block whose timer phase broke the rules, where that is the claim and it makes a difference."""
        self._claim = ""
        if not self.is_time():
            return None
        self._claim = self.fault.what or self.CLAIMS[self.draw(len(self.CLAIMS))]
        twist = self._TWISTS.get(self._claim)
        if twist is None:
            return None
        true = engine.propose(context, candidates)
        self.liar.twist.kind = twist
        try:
            twisted = engine.propose(context, candidates)
        finally:
            self.liar.twist.kind = ""
        self._twisted = twisted.digest if twisted.digest != true.digest else b""
        return twisted

    def tell(self, post: Post) -> Iterable[Post]:
        """Put the forged block in the place of the true one, in votes too."""
        block = self.own_block(post)
        if block is not None:
            return (self._relay(post, block),)
        message = post.message
        if isinstance(message, Notarize | Finalize) and message.proposal.payload in self._forged:
            proposal = msgspec.structs.replace(message.proposal, payload=self._forged[message.proposal.payload])
            sign = self.liar.notarize if isinstance(message, Notarize) else self.liar.finalize
            self.note(post.label.kind, post.to)
            return (post._replace(message=sign(proposal)),)
        return (post,)

    def _relay(self, post: Post, block: Block) -> Post:
        digest = block_digest(block)
        if digest == self._twisted:
            self.note(f"BlockRelay {self._claim}", post.to)
        if not self._claim or self._claim in self._TWISTS:
            return post
        forged = self._forge(block)
        self._forged = {digest: self.liar.keep(forged)}
        self.note(f"BlockRelay {self._claim}", post.to)
        return post._replace(message=BlockRelay(encode_block(forged)))

    def _forge(self, block: Block) -> Block:
        header, body = block.header, block.transactions
        if self._claim == "state-root":
            header = msgspec.structs.replace(header, state_root=other_digest(header.state_root))
        elif self._claim == "receipts-root":
            header = msgspec.structs.replace(header, receipts_root=other_digest(header.receipts_root))
        elif self._claim == "height":
            header = msgspec.structs.replace(header, height=header.height + 1)
        elif self._claim == "parent":
            header = msgspec.structs.replace(header, parent=other_digest(header.parent))
        else:
            body = (*body, b"no transaction")
            header = msgspec.structs.replace(header, tx_root=mmr_root(body))
        return Block(header, body)


@final
class DragTime(Lie):
    """Gives its block the earliest time that is valid, the latest one, or one years ahead (`absurd`)."""

    def __init__(self, liar: Liar, name: str, fault: Orders) -> None:
        super().__init__(liar, name, fault)
        self._dragged = b""

    def propose(self, engine: Engine, context: ProposalContext, candidates: Sequence[Transaction]) -> Executed | None:
        """Build a block with another time."""
        self._dragged = b""
        if not self.is_time():
            return None
        timestamp_ms = self._time_ms(engine, context)
        if timestamp_ms == context.timestamp_ms:
            return None
        dragged = engine.propose(replace(context, timestamp_ms=timestamp_ms), candidates)
        self._dragged = dragged.digest
        return dragged

    def tell(self, post: Post) -> Iterable[Post]:
        """Count the dragged blocks that leave."""
        if isinstance(post.message, BlockRelay) and self._dragged:
            self.note(f"BlockRelay {self.fault.what or 'latest'}", post.to)
            self._dragged = b""
        return (post,)

    def _time_ms(self, engine: Engine, context: ProposalContext) -> int:
        if self.fault.what == "absurd":
            return YEARS_AHEAD_MS
        if self.fault.what == "earliest":
            parent = engine.executed(context.parent)
            return (engine.finalized if parent is None else parent.header).timestamp_ms + 1
        return self.liar.wire.wall_us // 1_000 + self.liar.max_skew_ms
