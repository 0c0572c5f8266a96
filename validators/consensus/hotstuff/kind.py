"""HotStuff as the rest of the project knows it."""

from typing import Final

from validators.consensus.hotstuff.config import configure
from validators.consensus.hotstuff.engine import HotStuff
from validators.consensus.hotstuff.finality import Commit, verify_commit
from validators.consensus.hotstuff.journal import (
    RECORD_PREFIXES,
    CastVote,
    HotStuffRecord,
    decode_record,
    encode_record,
    view_of,
)
from validators.consensus.hotstuff.messages import (
    BlockSeal,
    BlockVote,
    HotStuffMessage,
    QuorumCertificate,
    TimeoutCertificate,
    ViewTimeout,
)
from validators.consensus.hotstuff.refusals import FAULTS
from validators.consensus.hotstuff.sealing import check_seal
from validators.consensus.interface import MessageInfo, MessageLabel, RecordCodec
from validators.consensus.kind import EngineKind
from validators.consensus.quorum import decode_signers
from validators.events import CertificateHeld, Voted

MESSAGE_BYTES_MAX: Final = 64 * 1024
"""Votes and timeouts; two certificates of 64 signatures of 64 bytes fit well below it."""

_VOTE: Final = MessageInfo(MESSAGE_BYTES_MAX, "votes", "vote")

VOTE_WORD: Final = "vote"
TIMEOUT_WORD: Final = "timeout"


def label_of(message: HotStuffMessage) -> MessageLabel:
    """Return the label of a message."""
    digest = message.digest if isinstance(message, BlockVote) else None
    return MessageLabel(message.traced_name, message.view, digest)


def vote_of(message: HotStuffMessage | HotStuffRecord) -> Voted | None:
    """Return the vote that a message or record is, None where it is no vote."""
    match message:
        case CastVote(vote) | (BlockVote() as vote):
            return Voted(VOTE_WORD, vote.view, vote.digest)
        case ViewTimeout(view=view):
            return Voted(TIMEOUT_WORD, view, b"")
    return None


def certificate_of(record: HotStuffRecord) -> CertificateHeld | None:
    """Return the certificate that a record is, None where it is no certificate."""
    match record:
        case QuorumCertificate(view, digest, signers):
            return CertificateHeld("quorum-certificate", view, digest, tuple(decode_signers(signers)))
        case TimeoutCertificate(view, signers):
            return CertificateHeld("timeout-certificate", view, b"", tuple(decode_signers(signers)))
        case Commit(certificate=certificate):
            return CertificateHeld("commit", record.view, record.digest, tuple(decode_signers(certificate.signers)))
    return None


HOTSTUFF: Final = EngineKind(
    name="hotstuff",
    messages={BlockVote: _VOTE, ViewTimeout: _VOTE},
    records=RecordCodec(
        finality=Commit,
        prefixes=RECORD_PREFIXES,
        encode=encode_record,
        decode=decode_record,
        view_of=view_of,
        vote_of=vote_of,
        certificate_of=certificate_of,
    ),
    configure=configure,
    make=HotStuff,
    verify_finality=verify_commit,
    label=label_of,
    # Votes go to the next leader alone.
    events_per_view=6,
    check_seal=check_seal,
    seal=BlockSeal,
    stores_voted=True,
    faults=FAULTS,
)
