"""Behaviours of Byzantine validators that only HotStuff has: hidden certificates and old certificates."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

from faults.byzantine.adversary import Adversary, Orders, Outgoing
from faults.byzantine.engine_adversaries import EngineAdversaries
from faults.byzantine.hotstuff_ballots import ForgeVote
from faults.byzantine.hotstuff_seals import ForgeSeal, HotStuffBehaviour
from faults.byzantine.hotstuff_votes import HotStuffVotes
from validators.consensus.hotstuff.kind import HOTSTUFF
from validators.consensus.hotstuff.messages import ViewTimeout
from validators.consensus.hotstuff.sealing import VIEWS_OF_A_TURN
from validators.execution import (
    ExecutedBlock,
    ExecutionLayer,
    InvalidBlockError,
    ProposalContext,
    UnknownParentError,
)
from validators.execution.blocks import Block, block_digest, decode_sealed, encode_sealed
from validators.messages import BlockRelay

BLOCKS_MORE: Final = 12
"""The number of blocks of a view sent besides the true block: validators keep four blocks of a view."""


class HideCertificate(HotStuffBehaviour):
    """Builds its block on the parent of the newest certified block, as if it did not know that block's certificate.

    The certificate of the parent justifies the block. Honest validators may vote for it where no lock forbids it, and
    the certified block between is abandoned. In the last view of its turn it hides two certificates: there a lock
    forbids it.
    """

    def __init__(self, adversary: Adversary, name: str, fault: Orders) -> None:
        super().__init__(adversary, name, fault)
        self._hiding = b""

    def propose(
        self, layer: ExecutionLayer, context: ProposalContext, candidates: Sequence[Any]
    ) -> ExecutedBlock | None:
        """Build on the block below the parent, if its certificate is known."""
        self._hiding = b""
        below = context.parent
        for _ in range(1 + context.view % VIEWS_OF_A_TURN):
            parent = layer.executed(below)
            if parent is None or not self.votes.has_certificate(parent.header.parent):
                return None
            below = parent.header.parent
        if not self.is_time():
            return None
        try:
            hidden = layer.propose(replace(context, parent=below), candidates)
        except InvalidBlockError:
            return None
        self._hiding = hidden.digest
        return hidden

    def hides(self, block: Block) -> bool:
        """Whether a block is the last block that hides a certificate."""
        return bool(self._hiding) and block_digest(block) == self._hiding

    def tamper(self, outgoing: Outgoing) -> Iterable[Outgoing]:
        """Seal the block with the older certificate."""
        if not isinstance(outgoing.message, BlockRelay):
            return (outgoing,)
        block, seal = decode_sealed(outgoing.message.block)
        if not self.hides(block):
            return (outgoing,)
        self.note("BlockRelay", outgoing.to)
        sealed = encode_sealed(block, self.votes.seal_for(block.header, seal))
        return (outgoing._replace(message=BlockRelay(sealed)),)


class ExchangeCertificate(HideCertificate):
    """Builds as low as `HideCertificate`, and seals with the latest certificate, which is not its parent's."""

    def tamper(self, outgoing: Outgoing) -> Iterable[Outgoing]:
        """Note the block, which is sealed as if it stood on the certified block."""
        if isinstance(outgoing.message, BlockRelay) and self.hides(decode_sealed(outgoing.message.block).block):
            self.note("BlockRelay", outgoing.to)
        return (outgoing,)


class ManyBlocks(HotStuffBehaviour):
    """Proposes more valid blocks of a view than a validator keeps, each a millisecond after the block before."""

    def tamper(self, outgoing: Outgoing) -> Iterable[Outgoing]:
        """Send further blocks after the own block."""
        message, layer = outgoing.message, self.adversary.layer
        if not isinstance(message, BlockRelay) or not self.is_time():
            return (outgoing,)
        assert layer is not None, "who proposes has a layer"
        block, seal = decode_sealed(message.block)
        header, further = block.header, [outgoing]
        for later_ms in range(1, BLOCKS_MORE + 1):
            context = ProposalContext(
                parent=header.parent,
                view=header.view,
                proposer=header.proposer,
                timestamp_ms=header.timestamp_ms + later_ms,
            )
            try:
                other = layer.propose(context, ()).block
            except (InvalidBlockError, UnknownParentError):
                # Another behaviour has forged the own block.
                return further
            self.note("BlockRelay", outgoing.to)
            relay = BlockRelay(encode_sealed(other, self.votes.seal_for(other.header, seal)))
            further.append(outgoing._replace(message=relay))
        return further


class StaleCertificate(HotStuffBehaviour):
    """Gives views up with the oldest certificate that it knows instead of the highest."""

    def tamper(self, outgoing: Outgoing) -> Iterable[Outgoing]:
        """Replace the certificate of a TIMEOUT."""
        message = outgoing.message
        stale = self.votes.with_oldest(message) if isinstance(message, ViewTimeout) else None
        if stale is None or not self.is_time():
            return (outgoing,)
        self.note(outgoing.label.kind, outgoing.to)
        return (outgoing._replace(message=stale),)


HOTSTUFF_ADVERSARIES = EngineAdversaries(
    kind=HOTSTUFF,
    make_votes=HotStuffVotes,
    finality_forms=HotStuffVotes.FINALITY_FORMS,
    behaviours={
        "hide-certificate": HideCertificate,
        "mismatched-certificate": ExchangeCertificate,
        "stale-certificate": StaleCertificate,
        "forge-seal": ForgeSeal,
        "forge-vote": ForgeVote,
        "many-blocks": ManyBlocks,
    },
    forms={"forge-seal": ForgeSeal.FORMS, "forge-vote": ForgeVote.FORMS},
)
