"""Behaviours that only Simplex has: a leader that skips a view, and misshapen certificates."""

from collections.abc import Iterable
from typing import ClassVar, Final

import msgspec

from faults.byzantine.adversary import Adversary, Orders, Outgoing
from faults.byzantine.simplex_behaviour import SimplexBehaviour
from faults.byzantine.simplex_votes import Certificate
from network.types import NodeId
from validators.consensus.simplex import (
    CertificateResponse,
    Finalize,
    Notarization,
    Notarize,
    Nullification,
    Nullify,
    Proposal,
)
from validators.execution import Block, ProposalContext
from validators.execution.blocks import block_digest, decode_block, encode_block
from validators.messages import BlockRelay, Message, block_label

_OF_SIGNERS: Final = ("signers", "signatures")
"""The faults of shape that only a certificate can have."""

_BIT: Final = "bit"
"""One bit of a signature is another."""


class SkipView(SimplexBehaviour):
    """Builds on the parent of the last notarized block, though no validator has nullified that block's view.

    It does so as soon as it hears of the notarization, before that block can be final; its block is valid. If honest
    validators vote for it, a block that becomes final is missing in the chain. Its vote states the parent that it has
    built on (`stated`), or the parent that it had to build on (`hidden`).
    """

    FORMS: ClassVar[tuple[str, ...]] = ("stated", "hidden")

    def __init__(self, adversary: Adversary, name: str, fault: Orders) -> None:
        super().__init__(adversary, name, fault)
        self._led: dict[int, None] = {}

    def hear(self, _source: NodeId, message: Message) -> None:
        """Propose at once in the view after a notarized view."""
        if not isinstance(message, Notarization):
            return
        view, layer = message.proposal.view + 1, self.adversary.layer
        skipped = None if layer is None else layer.executed(message.proposal.payload)
        if layer is None or skipped is None or view in self._led or not self.votes.is_leader(view):
            return
        parent = skipped.header.parent
        is_there = parent == layer.finalized_digest or layer.executed(parent) is not None
        if not is_there or not self.is_time():
            return
        # Its parent's time is below the time of the skipped block.
        time_ms = skipped.header.timestamp_ms + 1
        context = ProposalContext(parent=parent, view=view, proposer=self.adversary.node, timestamp_ms=time_ms)
        block = layer.propose(context, ()).block
        self._led[view] = None
        form = self.fault.what or self.FORMS[self.draw(len(self.FORMS))]
        parent_view = message.proposal.view if form == "hidden" else message.proposal.parent_view
        self._send(block, self.votes.notarize(Proposal(view, parent_view, block_digest(block))))

    def tamper(self, outgoing: Outgoing) -> Iterable[Outgoing]:
        """Drop the messages that propose the true block of this view."""
        message = outgoing.message
        if isinstance(message, BlockRelay):
            header = decode_block(message.block).header
            return () if header.proposer == self.adversary.node and header.view in self._led else (outgoing,)
        is_replaced = isinstance(message, Notarize) and message.proposal.view in self._led
        return () if is_replaced else (outgoing,)

    def _send(self, block: Block, vote: Notarize) -> None:
        everybody, relay = self.adversary.everybody(), BlockRelay(encode_block(block))
        self.adversary.keep(block)
        self.note("BlockRelay", everybody)
        self.adversary.wire.send_all(
            (
                Outgoing(everybody, relay, block_label(relay, block.header)),
                Outgoing(everybody, vote, self.adversary.label_of(vote)),
            )
        )


class ForgeParent(SimplexBehaviour):
    """Proposes its block with a wrong parent view: its own, a later view, or a view far below the final block."""

    FORMS: ClassVar[tuple[str, ...]] = ("same", "later", "final")

    def tamper(self, outgoing: Outgoing) -> Iterable[Outgoing]:
        """Put the forged view into the own vote for the own block."""
        message = outgoing.message
        if not isinstance(message, Notarize) or not self.votes.proposes(message) or not self.is_time():
            return (outgoing,)
        form = self.fault.what or self.FORMS[self.take_turn("form", len(self.FORMS))]
        view = message.proposal.view
        parent_view = {"same": view, "later": view + 1, "final": 0}[form]
        if parent_view == message.proposal.parent_view:
            return (outgoing,)
        self.note(f"{outgoing.label.kind} {form}", outgoing.to)
        proposal = msgspec.structs.replace(message.proposal, parent_view=parent_view)
        return (outgoing._replace(message=self.votes.notarize(proposal)),)


class Misshape(SimplexBehaviour):
    """Sends each vote or certificate in an invalid shape before the true message; `what` selects the shape."""

    FORMS: ClassVar[tuple[str, ...]] = ("view", "payload", "signers", "signatures")
    NAMED_FORMS: ClassVar[tuple[str, ...]] = (*FORMS, _BIT)
    """All shapes; a scenario asks for the last one by its name, and no draw has it."""

    def tamper(self, outgoing: Outgoing) -> Iterable[Outgoing]:
        """Send a misshapen message before a true message."""
        form = self.fault.what or self.FORMS[self.draw(len(self.FORMS))]
        misshapen = self._misshape(outgoing.message, form)
        if misshapen is None or not self.is_time():
            return (outgoing,)
        self.note(f"{outgoing.label.kind} {form}", outgoing.to)
        return (outgoing._replace(message=misshapen), outgoing)

    def _misshape(self, message: Message | bytes, form: str) -> Message | None:
        if isinstance(message, CertificateResponse):
            certificate = _misshapen(message.certificate, form)
            return None if certificate is None else CertificateResponse(message.view, certificate)
        if isinstance(message, Certificate):
            return _misshapen(message, form)
        if not isinstance(message, Notarize | Finalize | Nullify):
            return None
        if form == _BIT:
            return msgspec.structs.replace(message, signature=_flipped(message.signature))
        if isinstance(message, Nullify):
            return self.votes.nullify(0) if form == "view" else None
        return (
            None if form in _OF_SIGNERS else self.votes.cast_like(message, _misshapen_proposal(message.proposal, form))
        )


def _misshapen(certificate: Certificate, form: str) -> Certificate | None:
    """Return a certificate of another shape; None if its kind lacks the part to change."""
    if form == "signers":
        return msgspec.structs.replace(certificate, signers=certificate.signers + b"\0")
    if form == "signatures":
        return msgspec.structs.replace(certificate, signatures=(*certificate.signatures, certificate.signatures[0]))
    if form == _BIT:
        first, *others = certificate.signatures
        return msgspec.structs.replace(certificate, signatures=(_flipped(first), *others))
    if isinstance(certificate, Nullification):
        return msgspec.structs.replace(certificate, view=0) if form == "view" else None
    return msgspec.structs.replace(certificate, proposal=_misshapen_proposal(certificate.proposal, form))


def _flipped(signature: bytes) -> bytes:
    """Return a signature with its lowest bit changed."""
    return bytes((signature[0] ^ 1,)) + signature[1:]


def _misshapen_proposal(proposal: Proposal, form: str) -> Proposal:
    if form == "view":
        return msgspec.structs.replace(proposal, view=0)
    if form == "payload":
        return msgspec.structs.replace(proposal, payload=proposal.payload[:-1])
    raise ValueError(f"no form of malformed-votes: {form!r}")
