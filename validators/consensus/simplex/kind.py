"""Simplex as the rest of the project knows it."""

from typing import Final

from validators.consensus.interface import EngineConfig, Finality, MessageInfo, MessageLabel, RecordCodec
from validators.consensus.kind import EngineKind
from validators.consensus.signing import Scheme
from validators.consensus.simplex.artifacts import (
    ARTIFACT_PREFIXES,
    Artifact,
    artifact_view,
    decode_artifact,
    encode_artifact,
)
from validators.consensus.simplex.certificates import certificate_signers, verify_certificate
from validators.consensus.simplex.config import SimplexConfig
from validators.consensus.simplex.engine import Simplex
from validators.consensus.simplex.messages import (
    ABOUT_PROPOSAL,
    CERTIFICATES,
    CertificateRequest,
    CertificateResponse,
    ConsensusMessage,
    Finalization,
    Finalize,
    Notarization,
    Notarize,
    Nullification,
    Nullify,
)
from validators.consensus.simplex.refusals import FAULTS
from validators.events import CertificateHeld, Voted

MESSAGE_BYTES_MAX: Final = 64 * 1024
"""Votes, certificates and requests; 64 signatures of 64 bytes fit well below it."""

_VOTE: Final = MessageInfo(MESSAGE_BYTES_MAX, "votes", "vote")
_CERTIFICATE: Final = MessageInfo(MESSAGE_BYTES_MAX, "certificates", "certificate")


def label_of(message: ConsensusMessage) -> MessageLabel:
    """Return the label of a message: of an answer, the view of its certificate rather than the requested view."""
    kind = message.traced_name
    if isinstance(message, CertificateResponse):
        message = message.certificate
    if isinstance(message, ABOUT_PROPOSAL):
        return MessageLabel(kind, *message.proposal.ref)
    return MessageLabel(kind, message.view, None)


def vote_of(message: ConsensusMessage | Artifact) -> Voted | None:
    """Return the vote that a message or artifact is, None where it is no vote."""
    if isinstance(message, Notarize | Finalize):
        return Voted(message.traced_name.lower(), message.proposal.view, message.proposal.payload)
    return Voted("nullify", message.view, b"") if isinstance(message, Nullify) else None


def certificate_of(artifact: Artifact) -> CertificateHeld | None:
    """Return the certificate that an artifact is, None where it is no certificate."""
    if not isinstance(artifact, CERTIFICATES):
        return None
    payload = b"" if isinstance(artifact, Nullification) else artifact.proposal.payload
    signers = tuple(certificate_signers(artifact))
    return CertificateHeld(artifact.traced_name.lower(), artifact_view(artifact), payload, signers)


def verify_finality(scheme: Scheme, finality: Finality, validators: int, _config: EngineConfig) -> bool:
    """Whether a finality is a certificate of a quorum; verifies its signatures."""
    return isinstance(finality, Finalization) and verify_certificate(scheme, finality, validators)


SIMPLEX: Final = EngineKind(
    name="simplex",
    messages={
        Notarize: _VOTE,
        Nullify: _VOTE,
        Finalize: _VOTE,
        Notarization: _CERTIFICATE,
        Nullification: _CERTIFICATE,
        Finalization: _CERTIFICATE,
        CertificateRequest: MessageInfo(MESSAGE_BYTES_MAX, "certificates", "request"),
        CertificateResponse: MessageInfo(MESSAGE_BYTES_MAX, "certificates", "answer"),
    },
    records=RecordCodec(
        finality=Finalization,
        prefixes=ARTIFACT_PREFIXES,
        encode=encode_artifact,
        decode=decode_artifact,
        view_of=artifact_view,
        vote_of=vote_of,
        certificate_of=certificate_of,
    ),
    configure=SimplexConfig,
    make=Simplex,
    verify_finality=verify_finality,
    label=label_of,
    events_per_view=12,
    faults=FAULTS,
)
