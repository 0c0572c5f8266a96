"""Votes, certificates and journal entries of Simplex as plain data, and their encodings (docs/simplex.md)."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

NOTARIZE, NULLIFY, FINALIZE = range(3)
"""Kinds of votes, which are their tags on the wire; the tag of a kind's certificate is higher by 3."""
CERTIFICATE_TAG: Final = 3
REQUEST_TAG: Final = 6
RESPONSE_TAG: Final = 7

VOTE_NAMES: Final = ("Notarize", "Nullify", "Finalize")
JOURNAL_TAGS: Final = ((0, 1), (3, 4), (5, 6))
"""By kind the journal's tags of a vote and of a certificate."""
CERTIFICATION_TAG: Final = 2

Subject: TypeAlias = tuple[Any, ...]
"""The subject of a vote: (view,) of a nullify, else the proposal, (view, parent's view, digest)."""


class Vote(NamedTuple):
    """A vote."""

    kind: int
    signer: int
    subject: Subject
    signature: bytes


class Certificate(NamedTuple):
    """A quorum of votes of a kind for a subject."""

    kind: int
    subject: Subject
    bitmap: bytes
    signatures: tuple[bytes, ...]


class Certification(NamedTuple):
    """The result of a certification, of the view that is its subject."""

    subject: Subject
    is_good: bool


Entry: TypeAlias = Vote | Certificate | Certification
"""An entry of the journal."""


class Parent(NamedTuple):
    """A block to build on."""

    view: int
    digest: bytes


encode: Final = msgspec.msgpack.Encoder().encode


def view_of(content: Entry) -> int:
    """Return the view of a vote, certificate or result."""
    view: int = content.subject[0]
    return view


def block_of(proposal: Subject) -> Parent:
    """Return the block of a proposal."""
    return Parent(proposal[0], proposal[2])


def signers_of(certificate: Certificate) -> list[int]:
    """Return the validators whose bits are set in a bitmap, the lowest first."""
    bits = int.from_bytes(certificate.bitmap, "little")
    return [signer for signer in range(bits.bit_length()) if bits >> signer & 1]


def wire_subject(content: Vote | Certificate) -> Any:  # noqa: ANN401 - a view or a list
    """Return the encoded form of a subject: the view of a nullify, else the proposal."""
    return content.subject[0] if content.kind == NULLIFY else list(content.subject)


def as_subject(kind: int, encoded: Any) -> Subject:  # noqa: ANN401 - a view or a list
    """Return the subject of its encoding."""
    return (encoded,) if kind == NULLIFY else tuple(encoded)


def encode_vote(vote: Vote) -> bytes:
    """Return the message of a vote."""
    return encode([vote.kind, vote.signer, wire_subject(vote), vote.signature])


def decode_vote(message: Sequence[Any]) -> Vote:
    """Return the vote of a decoded message."""
    kind, signer, subject, signature = message
    return Vote(kind, signer, as_subject(kind, subject), signature)


def wire_certificate(certificate: Certificate) -> list[Any]:
    """Return the encoded form of a certificate."""
    tag = certificate.kind + CERTIFICATE_TAG
    return [tag, wire_subject(certificate), certificate.bitmap, list(certificate.signatures)]


def certificate_in(message: Sequence[Any]) -> Certificate:
    """Return the certificate of a decoded message or answer."""
    tag, subject, bitmap, signatures = message[2] if message[0] == RESPONSE_TAG else message
    kind = tag - CERTIFICATE_TAG
    return Certificate(kind, as_subject(kind, subject), bitmap, tuple(signatures))


def encode_certificate_record(certificate: Certificate) -> bytes:
    """Return the record of a certificate."""
    return bytes([JOURNAL_TAGS[certificate.kind][1]]) + encode(wire_certificate(certificate))


def decode_record(record: bytes) -> Entry:
    """Return the entry of a record: its tag in the journal, and then its message or result."""
    decoded = msgspec.msgpack.decode(record[1:])
    if record[0] == CERTIFICATION_TAG:
        return Certification((decoded[0],), decoded[1])
    return decode_vote(decoded) if decoded[0] < CERTIFICATE_TAG else certificate_in(decoded)


def as_certificate(entry: Entry) -> Certificate:
    """Return an entry that is a certificate, as a finality is."""
    assert isinstance(entry, Certificate), f"a finality is a certificate; got {entry}"
    return entry
