"""Messages on the wire and records of the journal: sealed headers, proofs of depth, and requests for heads.

Every record is a frozen msgspec Struct in array form with an int tag of its own. A journal record is the same encoding:
a validator's own announcements, which are its promises, and a `Burial` for each block that became final.
"""

from typing import Annotated, ClassVar, Final, TypeAlias, get_args

import msgspec

from network.types import Digest
from validators.consensus.headers import read_facts
from validators.consensus.interface import CorruptRecordError, HeaderFacts

HEADER_BYTES_MAX: Final = 1_024
"""The longest encoded header that the wire admits."""

SEAL_BYTES_MAX: Final = 96
"""The longest signature of any scheme that the wire admits."""

CHAIN_MAX: Final = 2_048
"""The longest proof of depth that the wire admits, in headers."""

HeaderBytes: TypeAlias = Annotated[bytes, msgspec.Meta(max_length=HEADER_BYTES_MAX)]
SealBytes: TypeAlias = Annotated[bytes, msgspec.Meta(max_length=SEAL_BYTES_MAX)]


class SealedHeader(msgspec.Struct, array_like=True, frozen=True, forbid_unknown_fields=True):
    """An encoded header, and its leader's signature of it."""

    header: HeaderBytes
    seal: SealBytes


class Announcement(msgspec.Struct, tag=0, array_like=True, frozen=True, forbid_unknown_fields=True):
    """The block that a leader proposes in its slot, without its transactions; it is signed, and a promise."""

    traced_name: ClassVar[str] = "Announcement"
    block: SealedHeader


class Burial(msgspec.Struct, tag=1, array_like=True, frozen=True, forbid_unknown_fields=True):
    """A final block, and the headers that bury it: each is the parent of the next, up to the head.

    In the journal the final block stands alone, because its validator has seen the other headers.
    """

    traced_name: ClassVar[str] = "Burial"
    chain: Annotated[tuple[SealedHeader, ...], msgspec.Meta(min_length=1, max_length=CHAIN_MAX)]

    @property
    def block(self) -> HeaderFacts:
        """The final block."""
        facts = read_facts(self.chain[0].header)
        # View 0 is genesis', which is final without a proof: an unreadable header thus proves nothing new.
        return facts or HeaderFacts(0, b"", b"", 0, -1, b"")

    @property
    def view(self) -> int:
        """The slot of the final block."""
        return self.block.view

    @property
    def digest(self) -> Digest:
        """The digest of the final block."""
        return self.block.digest

    @property
    def is_proved(self) -> bool:
        """Whether headers stand on the final block; in the journal none do."""
        return len(self.chain) > 1

    @property
    def without_proof(self) -> "Burial":
        """The final block alone."""
        return Burial(self.chain[:1])


class HeadRequest(msgspec.Struct, tag=2, array_like=True, frozen=True, forbid_unknown_fields=True):
    """Asks a peer for the head that it follows."""

    traced_name: ClassVar[str] = "HeadRequest"


class HeadResponse(msgspec.Struct, tag=3, array_like=True, frozen=True, forbid_unknown_fields=True):
    """The head that a validator follows, and its final block, if it has one."""

    traced_name: ClassVar[str] = "HeadResponse"
    head: SealedHeader
    final: Burial | None


LongestChainMessage: TypeAlias = Announcement | HeadRequest | HeadResponse
JournalRecord: TypeAlias = Announcement | Burial

RECORD_PREFIXES: Final = dict.fromkeys(get_args(JournalRecord), b"")
"""The bytes before the array of a journal record, by its kind: none, because the array begins with a tag."""

_RECORDS: Final[msgspec.msgpack.Decoder[JournalRecord]] = msgspec.msgpack.Decoder(JournalRecord)


def encode_record(record: JournalRecord) -> bytes:
    """Return the journal entry of a record; for a proof, of the final block alone."""
    return msgspec.msgpack.encode(record.without_proof if isinstance(record, Burial) else record)


def decode_record(encoded: bytes) -> JournalRecord:
    """Return the record of a journal entry.

    Raises:
        CorruptRecordError: The bytes are no record, or contain no valid header.
    """
    try:
        record = _RECORDS.decode(encoded)
    except (msgspec.MsgspecError, ValueError) as error:
        raise CorruptRecordError(f"longest-chain: {error}") from error
    if facts_of(record) is None:
        raise CorruptRecordError(f"{record.traced_name}: its header cannot be read")
    return record


def facts_of(record: JournalRecord | SealedHeader) -> HeaderFacts | None:
    """Return the block of a record or a sealed header, None where the header cannot be read."""
    if isinstance(record, Burial):
        return read_facts(record.chain[0].header)
    return read_facts(record.block.header if isinstance(record, Announcement) else record.header)


def view_of(record: JournalRecord) -> int:
    """Return the slot of a record's block."""
    facts = facts_of(record)
    assert facts is not None, "records are decoded with their headers"
    return facts.view
