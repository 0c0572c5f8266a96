"""Tampering of a leader with its block: the block is withheld, doubled, or has forged claims or a wrong time."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Final

import msgspec

from faults.byzantine.adversary import Adversary, Behaviour, Orders, Outgoing
from faults.byzantine.policy import TamperingKind
from faults.byzantine.votes import other_digest
from network.types import NodeId
from validators.execution import (
    Block,
    ExecutedBlock,
    ExecutionLayer,
    InvalidBlockError,
    InvalidEncodingError,
    ProposalContext,
    UnknownParentError,
)
from validators.execution.blocks import block_digest, decode_sealed, encode_sealed
from validators.messages import BlockRelay, BlockRequest, BlockResponse, Message, block_label
from validators.state import mmr_root

YEARS_AHEAD_MS: Final = 1 << 61
"""Milliseconds by which a block's time is ahead, more than any honest validator accepts."""

FOREIGN_YEARS_AHEAD_MS: Final = 1 << 50
"""The same for an application: its events hold integers up to 2^53 - 1, and timers are set for later times."""


class _OtherBlock(Behaviour):
    """Sends other blocks than its validator proposed, also in answer to requests."""

    _seal = b""

    def own_block(self, outgoing: Outgoing) -> Block | None:
        """Return the block that this validator proposes by a message."""
        if not isinstance(outgoing.message, BlockRelay):
            return None
        block, self._seal = decode_sealed(outgoing.message.block)
        return block if block.header.proposer == self.adversary.node else None

    def seal_of(self, block: Block) -> bytes:
        """Return the seal of a block that is proposed in place of the own block."""
        return self.adversary.votes.seal_for(block.header, self._seal)

    def hear(self, source: NodeId, message: Message) -> None:
        """Answer a request for a block that the own validator does not know."""
        made = self.adversary.made.get(message.digest) if isinstance(message, BlockRequest) else None
        if made is not None:
            response = BlockResponse((encode_sealed(*made),))
            self.adversary.wire.send_all((Outgoing((source,), response, block_label(response, made.block.header)),))


class Equivocate(_OtherBlock):
    """Proposes two valid blocks, one to each half of the honest validators, and votes for each before its half."""

    def __init__(self, adversary: Adversary, name: str, fault: Orders) -> None:
        super().__init__(adversary, name, fault)
        self._pairs: dict[bytes | None, tuple[Block, Block]] = {}

    def tamper(self, outgoing: Outgoing) -> Iterable[Outgoing]:
        """Split the own block and the votes for it."""
        block = self.own_block(outgoing)
        if block is not None:
            return self._relay(outgoing, block) if self.is_time() else (outgoing,)
        pair = self._pairs.get(self.adversary.votes.block_of(outgoing.message))
        return (outgoing,) if pair is None else self._split_vote(outgoing, pair)

    def _relay(self, outgoing: Outgoing, block: Block) -> Iterable[Outgoing]:
        second = self._second(block)
        if second is None:
            return (outgoing,)
        first, second = sorted((block, second), key=block_digest)
        self._pairs = {block_digest(block): (first, second)}
        other = second if first is block else first
        self.adversary.keep(other, self.seal_of(other))
        # Its own validator must be able to follow whichever block wins.
        self.adversary.wire.give(BlockRelay(encode_sealed(other, self.seal_of(other))))
        replaced = []
        for half, each in zip(self.adversary.halves, (first, second), strict=True):
            self.note("BlockRelay", half)
            relay = BlockRelay(encode_sealed(each, self.seal_of(each)))
            replaced.append(Outgoing((*half, *self.adversary.colluders), relay, block_label(relay, each.header)))
        return replaced

    def _second(self, block: Block) -> Block | None:
        """Build a block that is as valid as the first: one millisecond later."""
        layer, header = self.adversary.layer, block.header
        assert layer is not None, "who proposes has a layer"
        context = ProposalContext(
            parent=header.parent, view=header.view, proposer=header.proposer, timestamp_ms=header.timestamp_ms + 1
        )
        try:
            return layer.propose(context, [self.adversary.read(each) for each in block.transactions]).block
        except (InvalidBlockError, InvalidEncodingError, UnknownParentError):
            # Another behaviour has forged the block before, so there is no valid twin.
            return None

    def _split_vote(self, outgoing: Outgoing, pair: tuple[Block, Block]) -> Iterator[Outgoing]:
        for half, block in zip(self.adversary.halves, pair, strict=True):
            vote = self.adversary.votes.vote_for(outgoing.message, block_digest(block))
            self.adversary.votes.remember(vote)
            self.note(outgoing.label.kind, half)
            yield Outgoing((*half, *self.adversary.colluders), vote, outgoing.label)


class SilentLeader(Behaviour):
    """Proposes nothing: neither its block nor its vote for it leaves."""

    def tamper(self, outgoing: Outgoing) -> Iterable[Outgoing]:
        """Hold back the messages of a proposal."""
        message = outgoing.message
        if isinstance(message, BlockRelay) or self.adversary.votes.proposes(message):
            self.note(outgoing.label.kind, outgoing.to)
            return ()
        return (outgoing,)


class ForgeBlock(_OtherBlock):
    """Claims a wrong result of executing its block; `what` selects the claim, or all claims take turns."""

    CLAIMS: ClassVar[tuple[str, ...]] = (
        *("state-root", "receipts-root", "height", "parent", "body"),
        *("due-set", "order", "clean-up"),
    )
    FOREIGN_CLAIMS: ClassVar[tuple[str, ...]] = ("state-root", "receipts-root", "height", "parent", "body")
    """The claims for blocks of an outside application."""
    _TAMPERINGS: Final[dict[str, TamperingKind]] = {"due-set": "due-set", "order": "order", "clean-up": "clean-up"}

    def __init__(self, adversary: Adversary, name: str, fault: Orders) -> None:
        super().__init__(adversary, name, fault)
        self._forged: dict[bytes | None, bytes] = {}
        self._tampered: bytes = b""
        self._claim = ""

    @property
    def claim(self) -> str:
        """The form of the present forgery."""
        return self._claim

    def propose(
        self, layer: ExecutionLayer, context: ProposalContext, candidates: Sequence[Any]
    ) -> ExecutedBlock | None:
        """Build a block whose timer phase breaks the rules, if that is the claim and it changes the result."""
        self._claim = ""
        if not self.is_time():
            return None
        self._claim, self._tampered = self._next_claim(), b""
        true: ExecutedBlock | None = None
        while self._claim in self._TAMPERINGS:
            true = true or layer.propose(context, candidates)
            tampered = self._tamper_phase(layer, context, candidates)
            if tampered.digest != true.digest:
                self._tampered = tampered.digest
                return tampered
            if self.fault.what:
                break
            # The rule changes nothing in this block.
            self._claim = self._next_claim()
        return true

    def _next_claim(self) -> str:
        claims = self.FOREIGN_CLAIMS if self.adversary.is_foreign else self.CLAIMS
        return self.fault.what or claims[self.take_turn("claim", len(claims))]

    def _tamper_phase(
        self, layer: ExecutionLayer, context: ProposalContext, candidates: Sequence[Any]
    ) -> ExecutedBlock:
        self.adversary.tampering.kind = self._TAMPERINGS[self._claim]
        try:
            return layer.propose(context, candidates)
        finally:
            self.adversary.tampering.kind = ""

    def tamper(self, outgoing: Outgoing) -> Iterable[Outgoing]:
        """Replace the true block by the forged block, in votes too."""
        block = self.own_block(outgoing)
        if block is not None:
            return (self._relay(outgoing, block),)
        votes = self.adversary.votes
        forged = self._forged.get(votes.block_of(outgoing.message))
        if forged is None:
            return (outgoing,)
        self.note(outgoing.label.kind, outgoing.to)
        return (outgoing._replace(message=votes.vote_for(outgoing.message, forged)),)

    def _relay(self, outgoing: Outgoing, block: Block) -> Outgoing:
        digest = block_digest(block)
        if digest == self._tampered:
            self.note(f"BlockRelay {self._claim}", outgoing.to)
        if not self._claim or self._claim in self._TAMPERINGS:
            return outgoing
        forged = self.forge(block)
        seal = self.seal_of(forged)
        self._forged = {digest: self.adversary.keep(forged, seal)}
        self.note(f"BlockRelay {self._claim}", outgoing.to)
        return outgoing._replace(message=BlockRelay(encode_sealed(forged, seal)))

    def forge(self, block: Block) -> Block:
        """Return the block that is proposed in place of the true block."""
        header, body = block.header, block.transactions
        if self._claim == "state-root":
            header = msgspec.structs.replace(header, state_root=other_digest(header.state_root))
        elif self._claim == "receipts-root":
            header = msgspec.structs.replace(header, receipts_root=other_digest(header.receipts_root))
        elif self._claim == "height":
            header = msgspec.structs.replace(header, height=self.other_height(header.height))
        elif self._claim == "parent":
            header = msgspec.structs.replace(header, parent=other_digest(header.parent))
        elif self._claim == "body":
            body = (*body, b"no transaction")
            header = msgspec.structs.replace(header, tx_root=mmr_root(body))
        else:
            raise ValueError(f"no claim of forge-block: {self._claim!r}")
        return Block(header, body)

    def other_height(self, height: int) -> int:
        """Return a height that a block of this height must not claim: the next, its parent's, or the one before."""
        # Only the next height is surely refused for the height itself; a lower block may be ignored as too old.
        return max(0, height + (1, -1, 1, -2)[self.take_turn("height", 4)])


class DragTime(Behaviour):
    """Gives its block the earliest valid time, the latest valid time, or a time years ahead (`absurd`)."""

    def __init__(self, adversary: Adversary, name: str, fault: Orders) -> None:
        super().__init__(adversary, name, fault)
        self._dragged = b""

    def propose(
        self, layer: ExecutionLayer, context: ProposalContext, candidates: Sequence[Any]
    ) -> ExecutedBlock | None:
        """Build a block with another time."""
        self._dragged = b""
        if not self.is_time():
            return None
        timestamp_ms = self._time_ms(layer, context)
        if timestamp_ms == context.timestamp_ms:
            return None
        dragged = layer.propose(replace(context, timestamp_ms=timestamp_ms), candidates)
        self._dragged = dragged.digest
        return dragged

    def tamper(self, outgoing: Outgoing) -> Iterable[Outgoing]:
        """Count the dragged blocks that leave."""
        if isinstance(outgoing.message, BlockRelay) and self._dragged:
            self.note(f"BlockRelay {self.fault.what or 'latest'}", outgoing.to)
            self._dragged = b""
        return (outgoing,)

    def _time_ms(self, layer: ExecutionLayer, context: ProposalContext) -> int:
        if self.fault.what == "absurd":
            return FOREIGN_YEARS_AHEAD_MS if self.adversary.is_foreign else YEARS_AHEAD_MS
        if self.fault.what == "earliest":
            parent = layer.executed(context.parent)
            return (layer.finalized if parent is None else parent.header).timestamp_ms + 1
        if self.fault.what not in ("", "latest"):
            raise ValueError(f"no form of skew-timestamps: {self.fault.what!r}")
        # With a clock far behind, the time of an honest block: a block with an earlier time could not be built.
        return max(self.adversary.wire.wall_us // 1_000 + self.adversary.max_skew_ms, context.timestamp_ms)
