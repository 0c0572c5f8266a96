"""Tampering with answers: forged blocks and snapshots."""

from collections.abc import Iterable
from typing import Any, Final

from msgspec.structs import replace

from faults.byzantine.adversary import Behaviour, Outgoing
from faults.byzantine.votes import other_digest
from validators.consensus.interface import Finality
from validators.execution import Block
from validators.execution.blocks import decode_header, decode_sealed, encode_header, encode_sealed
from validators.messages import BlockRelay, BlockResponse, Message, SnapshotChunk, SnapshotOffer, block_label

TRUE_OFFERS: Final = 4
"""The number of chances for a true offer, added to a chance for each way to forge it."""

ENOUGH_TO_VOTE: Final = 3
"""The smallest number of receivers: with fewer, a single receiver without the block would prevent its finality."""


class ForgeAnswers(Behaviour):
    """Answers with forged blocks and snapshots, requested or not; `what` selects the form, by default both."""

    def tamper(self, outgoing: Outgoing) -> Iterable[Outgoing]:
        """Forge an answer, or send an answer without a request."""
        if isinstance(outgoing.message, BlockRelay):
            is_about_blocks = self.fault.what in {"", "blocks"}
            is_to_change = is_about_blocks and self.is_time()
            return exchange_body(self, outgoing, outgoing.message) if is_to_change else (outgoing,)
        forged = self._forge(outgoing.message)
        if forged is None or not self.is_time():
            return (outgoing,)
        self.note(outgoing.label.kind, outgoing.to)
        return (outgoing._replace(message=forged),)

    def _forge(self, message: Message | bytes) -> Message | None:
        what = self.fault.what
        if isinstance(message, BlockResponse) and what in {"", "blocks"}:
            return self._forge_blocks(message)
        if isinstance(message, SnapshotOffer) and what in {"", "snapshots"}:
            return self._forge_offer(message)
        if isinstance(message, SnapshotChunk) and what in {"", "snapshots"}:
            return self._forge_chunk(message)
        return None

    def _forge_blocks(self, message: BlockResponse) -> Message:
        """Return an answer with a forged block; the forms take turns."""
        blocks, place = list(message.blocks), self.draw(len(message.blocks))
        block, seal = decode_sealed(blocks[place])
        header = block.header
        choice = self.take_turn("blocks", 4)
        if choice == 0:
            blocks[place] = blocks[place][:-1]
        elif choice == 1:
            blocks[place] = _with_another_body(block, seal)
        elif choice == 2:
            header = replace(header, state_root=other_digest(header.state_root))
            blocks[place] = encode_sealed(Block(header, block.transactions), seal)
        else:
            header = replace(header, height=(1 << 62) + header.height, parent=other_digest(header.parent))
            blocks[place:] = [encode_sealed(Block(header, block.transactions), seal)]
        return BlockResponse(tuple(blocks))

    def _forge_offer(self, message: SnapshotOffer[Finality]) -> Message | None:
        """Return a forged offer, the forms in turn; None at times, so that peers request the pieces of a true offer."""
        outline, certificate = message.outline, message.certificate
        header = decode_header(message.header)
        offers: tuple[dict[str, Any], ...] = (
            {"header": encode_header(replace(header, state_root=other_digest(header.state_root)))},
            {"header": message.header[:-1]},
            {"certificate": self.adversary.votes.thinned(certificate)},
            {"chunks": (0, message.chunks + outline.size)[self.draw(2)]},
            {"outline": replace(outline, root=other_digest(outline.root))},
            {"outline": replace(outline, size=(1 << 61, outline.size - 1)[self.draw(2)])},
            {"outline": replace(outline, witness=outline.witness[:-1])},
            {"outline": replace(outline, floor=outline.floor + (1, 1 << 20)[self.draw(2)])},
            {"outline": replace(outline, peaks=(*outline.peaks, outline.root))},
        )
        if self.draw(len(offers) + TRUE_OFFERS) >= len(offers):
            return None
        forged = replace(message, **offers[self.take_turn("offer", len(offers))])
        # An application's outline has no witness to shorten.
        return None if forged == message else forged

    def _forge_chunk(self, message: SnapshotChunk) -> Message | None:
        first, *others = message.operations
        operations = (
            (bytes(byte ^ 1 for byte in first[:1]) + first[1:], *others),
            (first[:-1] + bytes(byte ^ 1 for byte in first[-1:]), *others),
            tuple(others),
            (first, first, *others),
            (),
            # As many operations as before, but not a log: the last operation is not a commit.
            (*others, first),
        )[self.take_turn("piece", 6)]
        # A snapshot with a single piece, or an empty piece, is the same in some of these forms.
        return None if operations == message.operations else replace(message, operations=operations)


def exchange_body(behaviour: Behaviour, outgoing: Outgoing, relay: BlockRelay) -> Iterable[Outgoing]:
    """Return the messages in place of the own block: a single receiver gets it with another body.

    The answer has no request. All other receivers vote for the true block, which becomes final; the single receiver
    has to request it.
    """
    if len(outgoing.to) < ENOUGH_TO_VOTE:
        return (outgoing,)
    block, seal = decode_sealed(relay.block)
    answer = BlockResponse((_with_another_body(block, seal),))
    place = behaviour.draw(len(outgoing.to))
    one, others = outgoing.to[place : place + 1], outgoing.to[:place] + outgoing.to[place + 1 :]
    behaviour.note(BlockResponse.traced_name, one)
    return (Outgoing(one, answer, block_label(answer, block.header)), outgoing._replace(to=others))


def _with_another_body(block: Block, seal: bytes) -> bytes:
    """Return the encoding of a block with its own header and other transactions."""
    return encode_sealed(Block(block.header, (*block.transactions, b"more")), seal)
