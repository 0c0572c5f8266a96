"""Tampering with answers: forged blocks and snapshots."""

from collections.abc import Iterable

import msgspec

from faults.byzantine.adversary import Behaviour, Outgoing
from faults.byzantine.votes import other_digest
from validators.consensus.interface import Finality
from validators.execution import Block
from validators.execution.blocks import decode_block, decode_header, encode_block, encode_header
from validators.messages import BlockResponse, Message, SnapshotChunk, SnapshotOffer


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
        block = decode_block(first)
        header = block.header
        choice = self.draw(4)
        if choice == 0:
            return BlockResponse((first[:-1], *others))
        if choice == 1:
            # The right digest over another body.
            return BlockResponse((encode_block(Block(header, (*block.transactions, b"more"))), *others))
        if choice == 2:
            header = msgspec.structs.replace(header, state_root=other_digest(header.state_root))
            return BlockResponse((encode_block(Block(header, block.transactions)), *others))
        header = msgspec.structs.replace(header, height=(1 << 62) + header.height, parent=other_digest(header.parent))
        return BlockResponse((encode_block(Block(header, block.transactions)),))

    def _forge_offer(self, message: SnapshotOffer[Finality]) -> Message:
        outline, certificate = message.outline, message.certificate
        choice = self.draw(6)
        if choice == 0:
            header = decode_header(message.header)
            forged = msgspec.structs.replace(header, state_root=other_digest(header.state_root))
            return msgspec.structs.replace(message, header=encode_header(forged))
        if choice == 1:
            return msgspec.structs.replace(message, certificate=self.adversary.votes.thinned(certificate))
        if choice == 2:
            outline = msgspec.structs.replace(outline, root=other_digest(outline.root))
        elif choice == 3:
            outline = msgspec.structs.replace(outline, size=1 << 61)
        elif choice == 4:
            outline = msgspec.structs.replace(outline, witness=outline.witness[:-1])
        else:
            outline = msgspec.structs.replace(outline, floor=outline.floor + 1)
        return msgspec.structs.replace(message, outline=outline)

    def _forge_chunk(self, message: SnapshotChunk) -> Message:
        first, *others = message.operations
        operations = (
            (bytes([first[0] ^ 1]) + first[1:], *others),
            (first[:-1] + bytes([first[-1] ^ 1]), *others),
            tuple(others),
            (first, first, *others),
        )[self.draw(4)]
        return msgspec.structs.replace(message, operations=operations)
