"""Entries of a validator's journal, and the state that they lead to.

Everything that a validator must not forget is written before a message that relies on it leaves. These are its votes
and the views it gave up (the last voted view), the certificates that raised its highest certificate, its lock, the
timeout certificates with which it entered views, and proofs of final blocks. A vote is written with the view of its
block's parent, so that a reader of the journal can judge it by the entries before.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, TypeAlias

import msgspec

from network.types import NodeId
from validators.consensus.hotstuff.finality import Commit
from validators.consensus.hotstuff.messages import (
    BlockDigest,
    BlockVote,
    QuorumCertificate,
    TimeoutCertificate,
    View,
    ViewTimeout,
)
from validators.consensus.interface import BlockRef, CorruptRecordError


class CastVote(msgspec.Struct, array_like=True, frozen=True, forbid_unknown_fields=True):
    """A vote of our own, and the view of the parent of its block."""

    traced_name: ClassVar[str] = "CastVote"
    vote: BlockVote
    parent_view: View


class Lock(msgspec.Struct, array_like=True, frozen=True, forbid_unknown_fields=True):
    """The block that is locked from now on."""

    traced_name: ClassVar[str] = "Lock"
    view: View
    digest: BlockDigest

    @property
    def ref(self) -> BlockRef:
        """The locked block."""
        return BlockRef(self.view, self.digest)


HotStuffRecord: TypeAlias = CastVote | ViewTimeout | QuorumCertificate | TimeoutCertificate | Lock | Commit

RECORD_KINDS: Final = (CastVote, ViewTimeout, QuorumCertificate, TimeoutCertificate, Lock, Commit)
"""The kinds of records; a kind's place is its tag."""

RECORD_PREFIXES: Final[Mapping[type[Any], bytes]] = {kind: bytes([tag]) for tag, kind in enumerate(RECORD_KINDS)}
_DECODERS: Final[tuple[msgspec.msgpack.Decoder[HotStuffRecord], ...]] = tuple(
    msgspec.msgpack.Decoder(kind) for kind in RECORD_KINDS
)


def encode_record(record: HotStuffRecord) -> bytes:
    """Return the journal record of an entry."""
    return RECORD_PREFIXES[type(record)] + msgspec.msgpack.encode(record)


def decode_record(encoded: bytes) -> HotStuffRecord:
    """Return the entry of a journal record; raises CorruptRecordError."""
    if not encoded or encoded[0] >= len(RECORD_KINDS):
        raise CorruptRecordError(f"record tag {encoded[:1].hex() or 'missing'}, known are 0..{len(RECORD_KINDS) - 1}")
    tag = encoded[0]
    try:
        return _DECODERS[tag].decode(encoded[1:])
    except (msgspec.MsgspecError, ValueError) as error:
        raise CorruptRecordError(f"{RECORD_KINDS[tag].traced_name}: {error}") from error


def view_of(record: HotStuffRecord) -> int:
    """Return the view that an entry belongs to."""
    return record.vote.view if isinstance(record, CastVote) else record.view


@dataclass(slots=True)
class Memory:
    """The state that a journal leads to.

    Attributes:
        view: The view in which to continue.
        last_voted: No vote is cast in this view or below.
        vote: The last vote.
        timeout: The last TIMEOUT.
        high: The highest certificate of a block.
        locked: The locked block; genesis before the first lock.
        entry: The last timeout certificate.
        commit: The proof of the highest final block; None while that is genesis.
    """

    high: QuorumCertificate
    locked: BlockRef
    view: int = 1
    last_voted: int = 0
    vote: BlockVote | None = None
    timeout: ViewTimeout | None = None
    entry: TimeoutCertificate | None = None
    commit: Commit | None = None

    def take(self, record: HotStuffRecord) -> None:
        """Process an entry, from the journal or new; the machine itself tracks the current view."""
        match record:
            case CastVote(vote):
                self.vote = vote
                self.last_voted = max(self.last_voted, vote.view)
            case ViewTimeout(view=view):
                self.timeout = record
                self.last_voted = max(self.last_voted, view)
            case QuorumCertificate():
                self._raise_high(record)
            case TimeoutCertificate():
                self.entry = record
            case Lock():
                self.locked = record.ref
            case Commit(certificate=certificate):
                self.commit = record
                self._raise_high(certificate)

    def _raise_high(self, certificate: QuorumCertificate) -> None:
        if certificate.view > self.high.view:
            self.high = certificate


def _view_after(record: HotStuffRecord) -> int:
    """Return the view that an entry leads to: the view after a certificate, or that of a vote or a timeout."""
    if isinstance(record, Commit):
        return record.certificate.view + 1
    is_certificate = isinstance(record, QuorumCertificate | TimeoutCertificate)
    return view_of(record) + 1 if is_certificate else view_of(record)


def restore(memory: Memory, records: Sequence[HotStuffRecord], me: NodeId, floor: Commit | None) -> None:
    """Bring a fresh memory to the state of the journal; raises CorruptRecordError for another validator's entry."""
    for record in (*([] if floor is None else [floor]), *records):
        own = record.vote if isinstance(record, CastVote) else record
        if isinstance(own, BlockVote | ViewTimeout) and own.signer != me:
            raise CorruptRecordError(f"{record.traced_name} of view {view_of(record)} is by {own.signer}, not by {me}")
        memory.take(record)
        memory.view = max(memory.view, _view_after(record))
