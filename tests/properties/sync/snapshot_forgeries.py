"""Peers of a joiner that forge one thing each: an offer or a piece, in every way that is refused for another reason.

In a run a forged snapshot needs a bad validator that is asked while somebody joins, and its behaviour has to be drawn
in this very form; of most limits no run comes as near as a unit.
"""

from collections.abc import Callable
from hashlib import sha256
from typing import Any, Final, NamedTuple

import msgspec

from tests.properties.draws import Draw
from tests.properties.sync.snapshot_stage import (
    CHUNK_BITS,
    Certificate,
    FinalState,
    Pieces,
    digest_of,
)
from validators.execution.blocks import Header, encode_header
from validators.messages import SnapshotOffer

UNANSWERED: Final = "unanswered"
"""The reason of a refusal of a peer that says nothing more."""

_CHUNKS_MAX: Final = 65_536
"""No snapshot has more pieces."""

_BYTES_MAX: Final = 1 << 30
"""No snapshot is longer."""

_TRUNCATED: Final = "truncated: a piece is empty or too long"
_OTHER_BLOCK: Final = "header: the certificate is of another block"
_WITNESS: Final = "witness: it does not lead to the header's state root"
_UPDATE: Final = 0xD2
"""The first byte of an operation whose last byte is one of a value."""


class Peer(NamedTuple):
    """A peer of a joiner, and what comes of it.

    Attributes:
        offer: Its offer, None from one that is silent.
        pieces: The pieces that it gives after that. It is refused with the last one; if it is silent from then on,
            after it; or before it, where there is none.
        reason: The beginning of the reason for which it is refused; empty for one that serves what it has.
        is_verified: Whether its certificate has to be verified.
        is_checked: Whether its fault shows only when everything is recomputed.
    """

    offer: SnapshotOffer[Certificate] | None
    pieces: Pieces
    reason: str
    is_verified: bool = True
    is_checked: bool = False


class Served(NamedTuple):
    """A snapshot as a peer would serve it, before it changes something."""

    state: FinalState
    offer: SnapshotOffer[Certificate]
    pieces: Pieces

    @property
    def header(self) -> Header:
        """The header that it stands at."""
        return self.state.header

    @property
    def operations(self) -> tuple[bytes, ...]:
        """All operations."""
        return tuple(operation for piece in self.pieces for operation in piece)

    def outlined(self, **changes: Any) -> SnapshotOffer[Certificate]:
        """Return the offer with another outline."""
        return msgspec.structs.replace(self.offer, outline=msgspec.structs.replace(self.offer.outline, **changes))

    def headed(self, **changes: Any) -> SnapshotOffer[Certificate]:
        """Return the offer with another header, and a certificate of that."""
        header = msgspec.structs.replace(self.header, **changes)
        certificate = Certificate(header.view, digest_of(header))
        return msgspec.structs.replace(self.offer, header=encode_header(header), certificate=certificate)

    def certified(self, **changes: Any) -> SnapshotOffer[Certificate]:
        """Return the offer with another certificate."""
        return msgspec.structs.replace(self.offer, certificate=self.offer.certificate._replace(**changes))


def draw_forger(served: Served, height: int, draw: Draw) -> Peer:
    """Return a peer that serves a joiner of this height otherwise than it should."""
    match draw(8):
        case 0:
            return Peer(None, (), UNANSWERED)
        case 1:
            return Peer(served.offer, served.pieces[: draw(len(served.pieces))], UNANSWERED)
        case 2 | 3 | 4:
            return _OFFERS[draw(len(_OFFERS))](served, height, draw)
    return _PIECES[draw(len(_PIECES))](served, draw)


# -- offers ------------------------------------------------------------------------------------


def _forge_bytes(served: Served, _height: int, draw: Draw) -> Peer:
    """Return one whose header is none, is followed by a byte, or has an integer that is longer than need be."""
    whole = served.offer.header
    # The version stands behind the first byte, and is short.
    header = (b"", b"\x00", whole + b"\x00", whole[:-1], whole[:1] + b"\xcc" + whole[1:])[draw(5)]
    reason = f"header: Header of {len(header)} bytes: "
    return Peer(msgspec.structs.replace(served.offer, header=header), (), reason, is_verified=False)


def _forge_certificate(served: Served, _height: int, draw: Draw) -> Peer:
    """Return one whose certificate is that of another block, or of another view of this one."""
    view, digest = served.offer.certificate[:2]
    changed = ({"digest": _flip(digest)}, {"view": view + 1}, {"view": view - 1})[draw(3)]
    return Peer(served.certified(**changed), (), _OTHER_BLOCK, is_verified=False)


def _forge_header(served: Served, _height: int, draw: Draw) -> Peer:
    """Return one with another header than its certificate's."""
    changed = ({"timestamp_ms": 100}, {"height": served.header.height + 1}, {"slot": 1})[draw(3)]
    offer = msgspec.structs.replace(served.headed(**changed), certificate=served.offer.certificate)
    return Peer(offer, (), _OTHER_BLOCK, is_verified=False)


def _forge_height(served: Served, height: int, draw: Draw) -> Peer:
    """Return one that is no further than the joiner."""
    found = height - min(height, draw(3))
    reason = f"header: height {found} is not above {height}"
    return Peer(served.headed(height=found), (), reason, is_verified=False)


def _forge_quorum(served: Served, _height: int, _draw: Draw) -> Peer:
    return Peer(served.certified(is_quorum=False), (), "certificate: it is not a quorum's")


def _forge_witness(served: Served, _height: int, draw: Draw) -> Peer:
    """Return one whose witness, operations' root or state root is another one."""
    outline = served.offer.outline
    match draw(4):
        case 0:
            offer = served.outlined(witness=_flip(outline.witness))
        case 1:
            offer = served.outlined(witness=outline.witness[:-1])
        case 2:
            offer = served.outlined(root=_flip(outline.root))
        case _:
            offer = served.headed(state_root=_flip(served.header.state_root))
    return Peer(offer, (), _WITNESS)


def _forge_outline(served: Served, _height: int, draw: Draw) -> Peer:
    """Return one whose numbers do not fit each other, or that has operations where none belong."""
    outline, chunks = served.offer.outline, served.offer.chunks
    start, size = outline.start, outline.size
    offer, chunks = (
        (served.outlined(operations=(b"",)), chunks),
        (served.outlined(start=-1 - draw(2)), chunks),
        (served.outlined(start=size + draw(2)), 1),
        (served.offer, -draw(2)),
        (served.offer, size - start + 1 + draw(2)),
        (served.outlined(size=start + _CHUNKS_MAX - 1), _CHUNKS_MAX),
        (served.outlined(size=start + 2 * _CHUNKS_MAX), _CHUNKS_MAX + 1),
    )[draw(7)]
    offer = msgspec.structs.replace(offer, chunks=chunks)
    start, size = offer.outline.start, offer.outline.size
    return Peer(offer, (), f"outline: {chunks} pieces for operations {start} to {size}")


_OFFERS: Final[tuple[Callable[[Served, int, Draw], Peer], ...]] = (
    _forge_bytes,
    _forge_certificate,
    _forge_header,
    _forge_height,
    _forge_quorum,
    _forge_witness,
    _forge_outline,
    _forge_outline,
)

# -- pieces ------------------------------------------------------------------------------------


class _Vast(bytes):
    """An operation that says of itself that it is longer than any memory."""

    length = 0

    def __len__(self) -> int:
        return self.length


def _forge_empty(served: Served, draw: Draw) -> Peer:
    """Return one with a piece without operations; its offer may have as many pieces as there can be at most."""
    offer = served.offer
    if draw(3) == 0:
        chunks, size = _CHUNKS_MAX, offer.outline.start + _CHUNKS_MAX + draw(2)
        offer = msgspec.structs.replace(served.outlined(size=size), chunks=chunks)
    return Peer(offer, (*served.pieces[: draw(len(served.pieces))], ()), _TRUNCATED)


def _forge_more(served: Served, draw: Draw) -> Peer:
    """Return one with an operation more than it has: in any of its pieces, or behind one that had them all."""
    operations = served.operations
    if draw(3) == 0:
        offer = msgspec.structs.replace(served.offer, chunks=2 + draw(len(operations) - 1))
        return Peer(offer, (operations, operations[:1]), _TRUNCATED)
    before = served.pieces[: draw(len(served.pieces))]
    left = len(operations) - sum(map(len, before))
    return Peer(served.offer, (*before, operations[:1] * (left + 1)), _TRUNCATED)


def _forge_fewer(served: Served, draw: Draw) -> Peer:
    """Return one with an operation less than its outline says."""
    count = len(served.operations)
    long = [number for number, piece in enumerate(served.pieces) if len(piece) > 1]
    if long and draw(2):
        place = long[draw(len(long))]
        pieces = [piece[number == place :] for number, piece in enumerate(served.pieces)]
        return Peer(served.offer, pieces, f"truncated: {count - 1} operations of {count}")
    offer = served.outlined(size=served.offer.outline.size + 1)
    return Peer(offer, served.pieces, f"truncated: {count} operations of {count + 1}")


def _forge_long(served: Served, draw: Draw) -> Peer:
    """Return one whose operations are a byte longer than may be; those of one piece may be just as long."""
    place = draw(len(served.pieces))
    before, piece, behind = served.pieces[:place], served.pieces[place], served.pieces[place + 1 :]
    is_full = len(behind) > 0 and draw(2) == 0
    vast = _Vast(piece[0])
    vast.length = _BYTES_MAX + (not is_full) - sum(len(each) for each in (*sum(before, ()), *piece[1:]))
    pieces = (*before, (vast, *piece[1:]), *(behind[:1] if is_full else ()))
    return Peer(served.offer, pieces, "its operations are longer than 1,073,741,824 bytes")


def _forge_operation(served: Served, draw: Draw) -> Peer:
    """Return one with an operation that is another one, or none at all."""
    places = [place for place, operation in enumerate(served.operations) if operation[0] == _UPDATE]
    place = places[draw(len(places))]
    operations = list(served.operations)
    if draw(2):
        operations[place] = operations[place][:-1] + _flip(operations[place][-1:])
        reason = "operations: they and the peaks lead to "
    else:
        operations[place] = b"\x00" + operations[place][1:]
        reason = "operations: not an operation"
    left = iter(operations)
    pieces = [tuple(next(left) for _ in piece) for piece in served.pieces]
    return Peer(served.offer, pieces, reason, is_checked=True)


def _forge_numbers(served: Served, draw: Draw) -> Peer:
    """Return one whose floor, start or peaks are others, or whose state has another bitmap."""
    outline = served.offer.outline
    match draw(5):
        case 0:
            offer, reason = served.outlined(floor=outline.floor + 1), "floor: "
        case 1:
            start, size = outline.start + CHUNK_BITS, outline.size + CHUNK_BITS
            offer, reason = served.outlined(start=start, size=size), "floor: "
        case 2:
            offer, reason = served.outlined(peaks=(*outline.peaks, bytes(32))), "peaks: "
        case 3 if outline.peaks:
            peaks = (_flip(outline.peaks[0]), *outline.peaks[1:])
            offer, reason = served.outlined(peaks=peaks), "operations: they and the peaks lead to "
        case _:
            witness = _flip(outline.witness)
            headed = served.headed(state_root=sha256(outline.root + witness).digest())
            outline = msgspec.structs.replace(outline, witness=witness)
            offer, reason = msgspec.structs.replace(headed, outline=outline), "bitmap: "
    return Peer(offer, served.pieces, reason, is_checked=True)


def _flip(data: bytes) -> bytes:
    return bytes([data[0] ^ 1]) + data[1:]


_PIECES: Final[tuple[Callable[[Served, Draw], Peer], ...]] = (
    _forge_empty,
    _forge_more,
    _forge_fewer,
    _forge_long,
    _forge_operation,
    _forge_numbers,
)
