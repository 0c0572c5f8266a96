"""Tampering with answers: forged blocks and snapshots."""

from collections.abc import Iterable
from typing import Any, Final

from msgspec.structs import replace

from faults.byzantine.adversary import Behaviour, Outgoing
from faults.byzantine.votes import other_digest
from validators.consensus.interface import Finality
from validators.execution import Block
from validators.execution.blocks import decode_header, decode_sealed, encode_header, encode_sealed
from validators.messages import BlockResponse, Message, SnapshotChunk, SnapshotOffer

TRUE_OFFERS: Final = 4
"""Chances of an offer, beside one for each way to forge it, to be left as it is."""


class ForgeAnswers(Behaviour):
    """Answers peers that catch up with forged blocks and snapshots; `what` says which, by default both."""

    def tamper(self, outgoing: Outgoing) -> Iterable[Outgoing]:
        """Forge an answer."""
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
        first, *others = message.blocks
        block, seal = decode_sealed(first)
        header = block.header
        choice = self.draw(4)
        if choice == 0:
            return BlockResponse((first[:-1], *others))
        if choice == 1:
            # The right digest over another body.
            return BlockResponse((encode_sealed(Block(header, (*block.transactions, b"more")), seal), *others))
        if choice == 2:
            header = replace(header, state_root=other_digest(header.state_root))
            return BlockResponse((encode_sealed(Block(header, block.transactions), seal), *others))
        header = replace(header, height=(1 << 62) + header.height, parent=other_digest(header.parent))
        return BlockResponse((encode_sealed(Block(header, block.transactions), seal),))

    def _forge_offer(self, message: SnapshotOffer[Finality]) -> Message | None:
        """Return an offer forged in the way whose turn it is; None now and then, so that its pieces are asked for."""
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
        return replace(message, **offers[self.take_turn("offer", len(offers))])

    def _forge_chunk(self, message: SnapshotChunk) -> Message:
        first, *others = message.operations
        operations = (
            (bytes([first[0] ^ 1]) + first[1:], *others),
            (first[:-1] + bytes([first[-1] ^ 1]), *others),
            tuple(others),
            (first, first, *others),
            (),
            # As many as before, and no log: the last one is no commit.
            (*others, first),
        )[self.take_turn("piece", 6)]
        return replace(message, operations=operations)
