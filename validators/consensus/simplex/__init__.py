"""Consensus of one validator: Simplex as a state machine without input or output.

`Simplex` decides; the shell around it receives, checks, persists and sends. See `simplex` for the rules it keeps and
`effects` for the order in which a step's effects are performed.
"""

from validators.consensus.simplex.artifacts import (
    Artifact,
    Certification,
    CorruptArtifactError,
    decode_artifact,
    encode_artifact,
)
from validators.consensus.simplex.certificates import certificate_signers, faults_of, quorum_of, verify_certificate
from validators.consensus.simplex.config import ConfigError, SimplexConfig
from validators.consensus.simplex.effects import (
    STALE,
    Append,
    Broadcast,
    CancelTimer,
    Certify,
    Effect,
    Entered,
    Finalized,
    Parent,
    Propose,
    RelayPayload,
    Report,
    Send,
    SetTimer,
    Verdict,
    Verify,
)
from validators.consensus.simplex.engine import Simplex
from validators.consensus.simplex.messages import (
    Certificate,
    CertificateRequest,
    CertificateResponse,
    ConsensusMessage,
    Finalization,
    Finalize,
    Notarization,
    Notarize,
    Nullification,
    Nullify,
    Proposal,
    Vote,
    view_of,
)
from validators.consensus.simplex.signing import Ed25519Scheme, Scheme
from validators.consensus.simplex.statistics import SimplexStatistics

__all__ = [
    "STALE",
    "Append",
    "Artifact",
    "Broadcast",
    "CancelTimer",
    "Certificate",
    "CertificateRequest",
    "CertificateResponse",
    "Certification",
    "Certify",
    "ConfigError",
    "ConsensusMessage",
    "CorruptArtifactError",
    "Ed25519Scheme",
    "Effect",
    "Entered",
    "Finalization",
    "Finalize",
    "Finalized",
    "Notarization",
    "Notarize",
    "Nullification",
    "Nullify",
    "Parent",
    "Proposal",
    "Propose",
    "RelayPayload",
    "Report",
    "Scheme",
    "Send",
    "SetTimer",
    "Simplex",
    "SimplexConfig",
    "SimplexStatistics",
    "Verdict",
    "Verify",
    "Vote",
    "certificate_signers",
    "decode_artifact",
    "encode_artifact",
    "faults_of",
    "quorum_of",
    "verify_certificate",
    "view_of",
]
