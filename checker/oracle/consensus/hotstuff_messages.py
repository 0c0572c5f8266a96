"""Messages, records and seals of HotStuff as arrays, and their encodings (docs/hotstuff.md)."""

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Annotated, Any, Final, Literal, NamedTuple, TypeAlias, TypeVar

import msgspec

from checker.oracle.consensus import calls

View: TypeAlias = Annotated[int, msgspec.Meta(ge=0, lt=2**62)]
Signer: TypeAlias = Annotated[int, msgspec.Meta(ge=0, lt=1024)]
Digest: TypeAlias = Annotated[bytes, msgspec.Meta(min_length=32, max_length=32)]
Bitmap: TypeAlias = Annotated[bytes, msgspec.Meta(max_length=128)]
Signature: TypeAlias = Annotated[bytes, msgspec.Meta(max_length=96)]
Signed: TypeAlias = Annotated[tuple[Signature, ...], msgspec.Meta(max_length=1024)]
Views: TypeAlias = Annotated[tuple[View, ...], msgspec.Meta(max_length=1024)]
T = TypeVar("T")


class Certificate(NamedTuple):
    """A quorum's votes for a block (HS-5)."""

    view: View
    digest: Digest
    signers: Bitmap
    signatures: Signed


class TimeoutCertificate(NamedTuple):
    """A quorum's TIMEOUTs of a view (HS-6)."""

    view: View
    signers: Bitmap
    views: Views
    signatures: Signed


class Vote(NamedTuple):
    """A vote (HS-3)."""

    tag: Literal[0]
    signer: Signer
    view: View
    digest: Digest
    signature: Signature


class Timeout(NamedTuple):
    """A TIMEOUT (HS-4)."""

    tag: Literal[1]
    signer: Signer
    view: View
    high: Certificate
    entry: TimeoutCertificate | None
    signature: Signature


class Seal(NamedTuple):
    """The seal of a block (HS-8)."""

    justify: Certificate
    vote: Signature
    timeout: TimeoutCertificate | None


class CastVote(NamedTuple):
    """A vote of this validator as its journal has it (HS-7)."""

    vote: Vote
    parent_view: View


class Lock(NamedTuple):
    """A locked block (HS-7)."""

    view: View
    digest: Digest


class Proof(NamedTuple):
    """A proof of finality (HS-20)."""

    headers: tuple[bytes, ...]
    certificate: Certificate


Record: TypeAlias = CastVote | Timeout | Certificate | TimeoutCertificate | Lock | Proof

RECORDS: Final[Sequence[type[Any]]] = (CastVote, Timeout, Certificate, TimeoutCertificate, Lock, Proof)
"""The kinds of records by their tags (HS-7)."""


def decode(encoded: bytes, kind: type[T]) -> T:
    """Return the array that bytes encode; raises msgspec's errors."""
    return msgspec.msgpack.decode(encoded, type=kind)


def encode(array: Any) -> bytes:  # noqa: ANN401 - any of the arrays above
    """Return the encoding of an array."""
    return msgspec.msgpack.encode(array)


def encode_record(record: Record) -> bytes:
    """HS-7: the encoding of a record in the journal."""
    return bytes([RECORDS.index(type(record))]) + encode(record)


def decode_record(encoded: bytes) -> Record:
    """HS-7: the record of these bytes of the journal."""
    record: Record = decode(encoded[1:], RECORDS[encoded[0]])
    return record


def decode_message(encoded: bytes) -> Vote | Timeout:
    """HS-3, HS-4: the message of these bytes."""
    return decode(encoded, Vote) if encoded[1] == 0 else decode(encoded, Timeout)


def decode_header(header: bytes) -> calls.Facts | None:
    """HS-9: the part of a header that consensus reads, None for an invalid header."""
    try:
        fields = decode(header, list[msgspec.Raw])
        decode(fields[0], int)
        decode(fields[2], int)
        parent, (height, view, proposer) = decode(fields[4], bytes), (decode(fields[at], int) for at in (1, 3, 5))
    except (msgspec.MsgspecError, ValueError, IndexError):
        return None
    return calls.Facts(view, sha256(header).digest(), parent, height, proposer, header)


def view_of(proof: Proof) -> int:
    """HS-20: the view of the block that a proof makes final."""
    final = decode_header(proof.headers[0])
    return 0 if final is None else final.view


def signers_of(bitmap: bytes) -> list[int]:
    """HS-5: the numbers of the bits that are set."""
    return [bit for bit in range(8 * len(bitmap)) if bitmap[bit // 8] >> bit % 8 & 1]


def bitmap_of(signers: Iterable[int], validators: int) -> bytes:
    """HS-5: the bitmap of signers."""
    return sum(1 << signer for signer in signers).to_bytes((validators + 7) // 8, "little")


def decode_seal(encoded: bytes) -> Seal | None:
    """HS-8: the seal of a canonical encoding, None for other bytes."""
    try:
        seal = decode(encoded, Seal)
    except (msgspec.MsgspecError, ValueError):
        return None
    return seal if encode(seal) == encoded else None
