"""Entries of a validator's journal: its own votes, certificates, and results of certification.

A record is a tag byte, in the public implementation's numbering of the seven kinds (docs/simplex.md), and the msgpack
array of the artifact. The tag stands outside because the wire numbers the same records differently and the journal
outlives it. The disk verifies checksums; this file only refuses intact bytes that are no artifact.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Final, TypeAlias

import msgspec

from validators.consensus.interface import CorruptRecordError
from validators.consensus.simplex.messages import (
    Finalization,
    Finalize,
    Notarization,
    Notarize,
    Nullification,
    Nullify,
    View,
)


class Certification(msgspec.Struct, array_like=True, frozen=True, forbid_unknown_fields=True):
    """The application's judgement of the notarized proposal of a view."""

    traced_name: ClassVar[str] = "Certification"
    view: View
    ok: bool


Artifact: TypeAlias = Notarize | Notarization | Certification | Nullify | Nullification | Finalize | Finalization

ARTIFACT_KINDS: Final = (Notarize, Notarization, Certification, Nullify, Nullification, Finalize, Finalization)
"""The kinds of artifacts; a kind's place is its tag."""

ARTIFACT_PREFIXES: Final[Mapping[type[Any], bytes]] = {kind: bytes([tag]) for tag, kind in enumerate(ARTIFACT_KINDS)}
_DECODERS: Final[tuple[msgspec.msgpack.Decoder[Artifact], ...]] = tuple(
    msgspec.msgpack.Decoder(kind) for kind in ARTIFACT_KINDS
)


def encode_artifact(artifact: Artifact) -> bytes:
    """Return the journal record of an artifact."""
    return ARTIFACT_PREFIXES[type(artifact)] + msgspec.msgpack.encode(artifact)


def decode_artifact(encoded: bytes) -> Artifact:
    """Return the artifact of a journal record.

    Raises:
        CorruptRecordError: the tag is unknown or the bytes are not that kind's.
    """
    if not encoded or encoded[0] >= len(ARTIFACT_KINDS):
        raise CorruptRecordError(
            f"artifact tag {encoded[:1].hex() or 'missing'}, known are 0..{len(ARTIFACT_KINDS) - 1}"
        )
    tag = encoded[0]
    try:
        return _DECODERS[tag].decode(encoded[1:])
    except (msgspec.MsgspecError, ValueError) as error:
        raise CorruptRecordError(f"{ARTIFACT_KINDS[tag].traced_name}: {error}") from error


def artifact_view(artifact: Artifact) -> int:
    """Return the view that an artifact belongs to."""
    if isinstance(artifact, Notarize | Finalize | Notarization | Finalization):
        return artifact.proposal.view
    return artifact.view
