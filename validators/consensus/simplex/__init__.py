"""Simplex as a state machine without input or output: rules, messages, journal records, and checks of messages.

`engine` decides. Separate files hold a view (`rounds`), parents and ancestry (`views`), own votes (`casting`), timers
(`timeouts`), the check of incoming messages (`screening`), fetching and serving (`resolver`), and the meaning of the
journal (`recovery`).

Everything that only Simplex knows is in this folder. `kind.SIMPLEX` is its public description, by the types of
`validators.consensus.interface`. The folder imports only that interface, quorums and signature schemes.
"""

from validators.consensus.simplex.artifacts import (
    Artifact,
    Certification,
    artifact_view,
    decode_artifact,
    encode_artifact,
)
from validators.consensus.simplex.certificates import certificate_signers, verify_certificate
from validators.consensus.simplex.config import SimplexConfig
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

__all__ = [
    "Artifact",
    "Certificate",
    "CertificateRequest",
    "CertificateResponse",
    "Certification",
    "ConsensusMessage",
    "Finalization",
    "Finalize",
    "Notarization",
    "Notarize",
    "Nullification",
    "Nullify",
    "Proposal",
    "Simplex",
    "SimplexConfig",
    "Vote",
    "artifact_view",
    "certificate_signers",
    "decode_artifact",
    "encode_artifact",
    "verify_certificate",
    "view_of",
]
