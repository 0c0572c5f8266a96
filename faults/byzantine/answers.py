"""Tampering with answers: forged blocks and snapshots, and invalid certificates."""

from collections.abc import Iterable, Iterator
from typing import TypeAlias

import msgspec

from faults.byzantine.adversary import Behaviour, Outgoing
from faults.byzantine.votes import label_of, other_digest
from validators.consensus.simplex import (
    CertificateResponse,
    Finalization,
    Notarization,
    Notarize,
    Nullification,
    certificate_signers,
)
from validators.consensus.simplex.certificates import encode_signers
from validators.execution import Block
from validators.execution.blocks import decode_block, decode_header, encode_block, encode_header
from validators.messages import BlockResponse, Message, SnapshotChunk, SnapshotOffer

Certificate: TypeAlias = Notarization | Nullification | Finalization


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

    def _forge_offer(self, message: SnapshotOffer[Finalization]) -> Message:
        outline, certificate = message.outline, message.certificate
        choice = self.draw(6)
        if choice == 0:
            header = decode_header(message.header)
            forged = msgspec.structs.replace(header, state_root=other_digest(header.state_root))
            return msgspec.structs.replace(message, header=encode_header(forged))
        if choice == 1:
            return msgspec.structs.replace(message, certificate=thinned(certificate, self.adversary.validators))
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


class ThinCertificates(Behaviour):
    """Sends certificates with too few signers, with signers that did not sign, and some of its own signature alone."""

    def tamper(self, outgoing: Outgoing) -> Iterable[Outgoing]:
        """Forge a certificate in the place of a true one, or add one to a vote."""
        message = outgoing.message
        if isinstance(message, Notarize):
            return self._add(outgoing, message) if self.is_time() else (outgoing,)
        certificate = message.certificate if isinstance(message, CertificateResponse) else message
        if not isinstance(certificate, Certificate) or not self.is_time():
            return (outgoing,)
        forged = self._forge(certificate)
        self.note(outgoing.label.kind, outgoing.to)
        whole = CertificateResponse(message.view, forged) if isinstance(message, CertificateResponse) else forged
        return (outgoing._replace(message=whole),)

    def _forge(self, certificate: Certificate) -> Certificate:
        choice, validators = self.draw(3), self.adversary.validators
        if choice == 0:
            return thinned(certificate, validators)
        return padded(certificate, validators) if choice == 1 else strayed(certificate, validators)

    def _add(self, outgoing: Outgoing, vote: Notarize) -> Iterator[Outgoing]:
        """Claim that all have made final what this validator alone has voted for."""
        yield outgoing
        everybody = range(self.adversary.validators)
        signatures = (self.adversary.votes.finalize(vote.proposal).signature,) * self.adversary.validators
        forged = Finalization(vote.proposal, encode_signers(everybody, self.adversary.validators), signatures)
        self.note("Finalization", outgoing.to)
        yield Outgoing(outgoing.to, forged, label_of(forged))


def thinned(certificate: Certificate, validators: int) -> Certificate:
    """Return a certificate without its last signer."""
    bitmap = encode_signers(certificate_signers(certificate)[:-1], validators)
    return msgspec.structs.replace(certificate, signers=bitmap, signatures=certificate.signatures[:-1])


def padded(certificate: Certificate, validators: int) -> Certificate:
    """Return a certificate without its last signer, in whose place the first signature stands for all others."""
    signatures = certificate.signatures[:-1]
    filled = (*signatures, *(signatures[0] for _ in range(validators - len(signatures))))
    return msgspec.structs.replace(
        certificate, signers=encode_signers(range(validators), validators), signatures=filled
    )


def strayed(certificate: Certificate, validators: int) -> Certificate:
    """Return a certificate that names a signer who does not exist."""
    bits = int.from_bytes(certificate.signers, "little") | 1 << (8 * len(certificate.signers) - 1)
    length = (validators + 7) // 8
    signatures = (*certificate.signatures, certificate.signatures[0])
    return msgspec.structs.replace(certificate, signers=bits.to_bytes(length, "little"), signatures=signatures)
