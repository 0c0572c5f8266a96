"""The longest chain as the rest of the project knows it."""

from typing import Final

from validators.consensus.interface import MessageInfo, MessageLabel, RecordCodec
from validators.consensus.kind import EngineKind
from validators.consensus.longest_chain.config import configure
from validators.consensus.longest_chain.engine import LongestChain
from validators.consensus.longest_chain.messages import (
    RECORD_PREFIXES,
    Announcement,
    Burial,
    HeadRequest,
    HeadResponse,
    JournalRecord,
    LongestChainMessage,
    decode_record,
    encode_record,
    facts_of,
    view_of,
)
from validators.consensus.longest_chain.refusals import FAULTS
from validators.consensus.longest_chain.sealing import check_seal, verify_finality
from validators.events import CertificateHeld, Voted

PROPOSE: Final = "propose"
"""The word for an announcement as a vote: the only promise that a validator makes."""

FINAL: Final = "burial"
"""The word for a final block that is durable."""

MESSAGE_BYTES_MAX: Final = 1024 * 1024
"""A proof of the greatest depth."""


def label_of(message: LongestChainMessage) -> MessageLabel:
    """Return the label of a message: the slot and the digest of its block."""
    kind = message.traced_name
    if isinstance(message, HeadRequest):
        return MessageLabel(kind, 0, None)
    facts = facts_of(message.block if isinstance(message, Announcement) else message.head)
    return MessageLabel(kind, 0, None) if facts is None else MessageLabel(kind, facts.view, facts.digest)


def vote_of(message: LongestChainMessage | JournalRecord) -> Voted | None:
    """Return the promise that a message or record is, None where it is no promise."""
    facts = facts_of(message) if isinstance(message, Announcement) else None
    return None if facts is None else Voted(PROPOSE, facts.view, facts.digest)


def certificate_of(record: JournalRecord) -> CertificateHeld | None:
    """Return the final block that a record is, signed by its leader alone, None for another record."""
    if not isinstance(record, Burial):
        return None
    return CertificateHeld(FINAL, record.view, record.digest, (record.block.proposer,))


LONGEST_CHAIN: Final = EngineKind(
    name="longest-chain",
    messages={
        Announcement: MessageInfo(MESSAGE_BYTES_MAX, "votes", "vote"),
        HeadRequest: MessageInfo(MESSAGE_BYTES_MAX, "certificates", "request"),
        HeadResponse: MessageInfo(MESSAGE_BYTES_MAX, "certificates", "answer"),
    },
    records=RecordCodec(
        finality=Burial,
        prefixes=RECORD_PREFIXES,
        encode=encode_record,
        decode=decode_record,
        view_of=view_of,
        vote_of=vote_of,
        certificate_of=certificate_of,
    ),
    configure=configure,
    make=LongestChain,
    verify_finality=verify_finality,
    label=label_of,
    # There are no votes.
    events_per_view=5,
    check_seal=check_seal,
    faults=FAULTS,
    view_word="slot",
)
