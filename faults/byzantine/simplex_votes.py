"""The messages of an adversary in Simplex: votes signed with its key, and invented certificates and answers.

The leader of a view is restated here, because an adversary does not ask the engine.
"""

from collections.abc import Iterable, Iterator
from typing import ClassVar, Final, TypeAlias, TypeVar

import msgspec

from faults.byzantine.engine_votes import Junk
from network.types import NodeId
from validators.consensus.interface import EngineConfig, Finality
from validators.consensus.quorum import encode_signers, quorum_of
from validators.consensus.signing import Scheme
from validators.consensus.simplex import (
    CertificateRequest,
    CertificateResponse,
    Finalization,
    Finalize,
    Notarization,
    Notarize,
    Nullification,
    Nullify,
    Proposal,
    certificate_signers,
)
from validators.consensus.simplex.messages import EPOCH, VIEW_LIMIT, encode_proposal, encode_round
from validators.consensus.simplex.signing import FINALIZE_NAMESPACE, NOTARIZE_NAMESPACE, NULLIFY_NAMESPACE
from validators.execution.blocks import Header

Certificate: TypeAlias = Notarization | Nullification | Finalization

_Certificate = TypeVar("_Certificate", bound=Certificate)

_VIEWS_KEPT: Final = 64


class SimplexVotes:
    """Signs any vote, and remembers the proposals of the latest views that were sent or heard."""

    FINALITY_FORMS: ClassVar[tuple[str, ...]] = ("view", "quorum", "forged", "stray")

    def __init__(self, node: NodeId, validators: int, scheme: Scheme, _config: EngineConfig) -> None:
        self._node = node
        self._validators = validators
        self._scheme = scheme
        self._proposals: dict[int, dict[bytes, Proposal]] = {}

    # -- for general behaviours ----------------------------------------------------------------

    def observe(self, message: object) -> None:
        """Remember the proposal of a message by which a leader proposes."""
        if isinstance(message, Notarize) and message.signer == self._leader_of(message.proposal.view):
            self.remember(message)

    def remember(self, vote: Notarize | Finalize) -> None:
        """Remember the proposal of a vote as a leader's proposal."""
        proposal = vote.proposal
        self._proposals.setdefault(proposal.view, {})[proposal.payload] = proposal
        while len(self._proposals) > _VIEWS_KEPT:
            del self._proposals[next(iter(self._proposals))]

    def proposes(self, message: object) -> bool:
        """Whether a message is this leader's vote for its block."""
        return isinstance(message, Notarize) and self.is_leader(message.proposal.view)

    def block_of(self, message: object) -> bytes | None:
        """Return the digest of the block that a message is a vote for, None for another message."""
        return message.proposal.payload if isinstance(message, Notarize | Finalize) else None

    def vote_for(self, vote: Notarize | Finalize, digest: bytes) -> Notarize | Finalize:
        """Return the same vote for another block, signed."""
        return self.cast_like(vote, msgspec.structs.replace(vote.proposal, payload=digest))

    def impersonated(self, vote: Notarize | Nullify | Finalize, victim: NodeId) -> Notarize | Nullify | Finalize:
        """Return a vote with another signer's number and this validator's signature."""
        return msgspec.structs.replace(vote, signer=victim)

    def seal_for(self, _header: Header, seal: bytes) -> bytes:
        """Return the seal unchanged: blocks of Simplex have no seal."""
        return seal

    def thinned(self, finality: Finality) -> Finality:
        """Return a finalization without its last signer."""
        assert isinstance(finality, Finalization), "the engine's own"
        return thinned(finality, self._validators)

    def broken_finality(self, form: str, finality: Finality) -> Finalization:
        """Return a finalization of another view, or with too few, forged or unknown signers."""
        assert isinstance(finality, Finalization), "the engine's own"
        if form == "view":
            proposal = msgspec.structs.replace(finality.proposal, view=finality.view + 1)
            return msgspec.structs.replace(finality, proposal=proposal)
        if form == "forged":
            return padded(finality, self._validators)
        if form == "quorum":
            return thinned(finality, self._validators)
        if form == "stray":
            return strayed(finality)
        raise ValueError(f"no form of a broken finality: {form!r}")

    def old_requests(self, junk: Junk, until_view: int) -> Iterator[CertificateRequest]:
        """Yield a request for a certificate that every validator has."""
        yield CertificateRequest(1 + junk.draw(until_view))

    def old_votes(self, junk: Junk, until_view: int) -> Iterator[Nullify]:
        """Yield a vote to nullify a view that was left."""
        yield self.nullify(1 + junk.draw(until_view))

    def unsigned_finalities(self, junk: Junk, views: Iterable[int]) -> Iterator[Finalization]:
        """Yield a well-formed finalization for each view, with an invented block and signatures."""
        quorum = quorum_of(self._validators)
        signers, signatures = encode_signers(range(quorum), self._validators), (junk.junk(64),) * quorum
        for view in views:
            yield Finalization(Proposal(view, view - 1, junk.junk(32)), signers, signatures)

    def senseless_requests(self) -> Iterator[CertificateRequest]:
        """Yield requests for views that have no certificate."""
        yield CertificateRequest(0)
        yield CertificateRequest(VIEW_LIMIT - 1)

    def senseless_finality(self, junk: Junk) -> Finalization:
        """Return a finalization of the last possible view."""
        proposal = Proposal(VIEW_LIMIT - 1, 0, junk.junk(32))
        return Finalization(proposal, b"\x0f", (junk.junk(64),) * 4)

    def senseless_answers(self) -> Iterator[CertificateResponse]:
        """Yield a certificate without signers for view 0, which has none."""
        yield CertificateResponse(0, Nullification(VIEW_LIMIT - 1, b"", ()))

    def senseless_votes(self, junk: Junk) -> Iterator[Nullify | Notarize | Finalize]:
        """Yield unsigned votes of other validators and of itself."""
        victim = junk.draw(self._validators)
        yield Nullify(victim, 1 + junk.draw(40), junk.junk(64))
        yield Notarize(self._node, Proposal(1 + junk.draw(40), 0, junk.junk(32)), junk.junk(64))
        yield Finalize(victim, Proposal(0, 0, junk.junk(32)), b"")

    # -- for Simplex' own behaviours -----------------------------------------------------------

    def is_leader(self, view: int) -> bool:
        """Whether this validator leads a view."""
        return view >= 1 and self._leader_of(view) == self._node

    def _leader_of(self, view: int) -> NodeId:
        return (EPOCH + max(view, 1)) % self._validators

    def notarize(self, proposal: Proposal) -> Notarize:
        """Sign a vote."""
        return Notarize(self._node, proposal, self._scheme.sign(NOTARIZE_NAMESPACE, encode_proposal(proposal)))

    def finalize(self, proposal: Proposal) -> Finalize:
        """Sign a vote."""
        return Finalize(self._node, proposal, self._scheme.sign(FINALIZE_NAMESPACE, encode_proposal(proposal)))

    def nullify(self, view: int) -> Nullify:
        """Sign a vote."""
        return Nullify(self._node, view, self._scheme.sign(NULLIFY_NAMESPACE, encode_round(view)))

    def cast_like(self, vote: Notarize | Finalize, proposal: Proposal) -> Notarize | Finalize:
        """Sign a vote of the same kind for another proposal."""
        return self.notarize(proposal) if isinstance(vote, Notarize) else self.finalize(proposal)

    def proposals(self, view: int) -> list[Proposal]:
        """Return the known proposals of a view's leader, by ascending digest."""
        known = self._proposals.get(view, {})
        return [known[payload] for payload in sorted(known)]


def thinned(certificate: _Certificate, validators: int) -> _Certificate:
    """Return a certificate without its last signer."""
    bitmap = encode_signers(certificate_signers(certificate)[:-1], validators)
    return msgspec.structs.replace(certificate, signers=bitmap, signatures=certificate.signatures[:-1])


def padded(certificate: _Certificate, validators: int) -> _Certificate:
    """Return a certificate without its last signer, with the first signature in place of all missing signatures."""
    signatures = certificate.signatures[:-1]
    filled = (*signatures, *(signatures[0] for _ in range(validators - len(signatures))))
    return msgspec.structs.replace(
        certificate, signers=encode_signers(range(validators), validators), signatures=filled
    )


def strayed(certificate: _Certificate) -> _Certificate:
    """Return a certificate that names a signer who does not exist."""
    length = len(certificate.signers)
    bits = int.from_bytes(certificate.signers, "little") | 1 << (8 * length - 1)
    signatures = (*certificate.signatures, certificate.signatures[0])
    return msgspec.structs.replace(certificate, signers=bits.to_bytes(length, "little"), signatures=signatures)
