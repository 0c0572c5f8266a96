"""Snapshots and pieces that each break one rule, and requests for pieces that do not exist."""

from collections.abc import Iterable
from typing import Any, ClassVar, Final

from msgspec.structs import replace

from faults.byzantine.adversary import Adversary, Behaviour, Orders, Outgoing
from faults.byzantine.votes import other_digest
from network.types import Label, NodeId
from validators.consensus.interface import Finality
from validators.execution.blocks import decode_header, encode_header, header_digest
from validators.execution.errors import InvalidEncodingError
from validators.messages import (
    Message,
    SnapshotChunk,
    SnapshotChunkRequest,
    SnapshotOffer,
    SnapshotRequest,
    block_label,
)

_STALE: Final = "stale"

_OF_FINALITY: Final = "finality-"
"""The prefix of forms about an offer's finality; each engine has its own forms."""

_OF_PIECES: Final = "piece-"
"""The prefix of forms about a piece, whose offer is true."""


class _Curious(Behaviour):
    """Asks all validators for their snapshots along with its votes, without a need."""

    def tamper(self, outgoing: Outgoing) -> Iterable[Outgoing]:
        """Ask for a snapshot along with a vote."""
        if self.adversary.role_of(outgoing.message) != "vote" or not self.is_asking():
            return (outgoing,)
        others = tuple(node for node in range(self.adversary.validators) if node != self.adversary.node)
        request = SnapshotRequest(0)
        return (outgoing, Outgoing(others, request, Label(request.traced_name)))

    def is_asking(self) -> bool:
        """Whether snapshots are asked for now."""
        return self.is_time()


class ForgeSnapshot(_Curious):
    """Offers snapshots with one fault to joining peers; `what` selects the form, or all forms take turns.

    An offer has another header than its finality's (`header`), a part of a header (`header-cut`), or a true header
    older than the peer's (`stale`). Its witness is too short (`witness`) or of another root (`root`). Its outline has
    operations (`operations`), a start below 0 (`start`) or at its end (`size`), another floor (`floor`), a peak too
    many (`peak`) or a wrong peak (`peak-other`). It has no pieces (`no-pieces`), more pieces than operations
    (`pieces`), or a broken finality (`finality-...`). After a true offer, a piece has an operation too many
    (`piece-more`), too few (`piece-fewer`) or changed (`piece-other`), or no operation (`piece-empty`); it belongs to
    another snapshot (`piece-digest`), or comes out of turn (`piece-index`). If a form does not fit the request, the
    next form is taken.
    """

    FORMS: ClassVar[tuple[str, ...]] = (
        *("header", "header-cut", _STALE, "witness", "root", "operations", "start", "size", "floor", "peak"),
        *("peak-other", "no-pieces", "pieces"),
        *("piece-more", "piece-fewer", "piece-other", "piece-empty", "piece-digest", "piece-index"),
    )

    def __init__(self, adversary: Adversary, name: str, fault: Orders) -> None:
        super().__init__(adversary, name, fault)
        self._forms = forms_of_snapshots(adversary.votes.FINALITY_FORMS, is_foreign=adversary.is_foreign)
        self._form_of: dict[NodeId, str] = {}
        self._old: SnapshotOffer[Finality] | None = None
        self._pieces = 0

    def is_asking(self) -> bool:
        """Whether it still needs an old offer of another validator."""
        return self._old is None

    def hear(self, source: NodeId, message: Message) -> None:
        """Keep the first offer of another validator; when a peer asks, choose a form, or send the old offer."""
        if isinstance(message, SnapshotOffer) and self._old is None:
            self._old = message
        if not isinstance(message, SnapshotRequest) or not self.is_time():
            return
        old = self._readable_old()
        is_old = old is not None and decode_header(old.header).height <= message.above_height
        form = self._next_form()
        if form == _STALE and not is_old:
            form = self._next_form()
        self._form_of[source] = form
        if form == _STALE and old is not None and is_old:
            self.note(f"{old.traced_name} {form}", (source,))
            self.adversary.wire.send_all((Outgoing((source,), old, block_label(old, decode_header(old.header))),))

    def tamper(self, outgoing: Outgoing) -> Iterable[Outgoing]:
        """Forge an offer or a piece in the form chosen for its peer."""
        message = outgoing.message
        form = self._form_of.get(outgoing.to[0], "") if outgoing.to else ""
        if not form or not isinstance(message, SnapshotOffer | SnapshotChunk):
            return super().tamper(outgoing)
        if isinstance(message, SnapshotOffer) and not _is_readable(message):
            # Another forger has cut its header.
            return (outgoing,)
        forged: Message | None
        if isinstance(message, SnapshotOffer):
            self._pieces = message.chunks
            forged = self._forge_offer(form, message)
            while forged is None and form != _STALE and not form.startswith(_OF_PIECES) and not self.fault.what:
                form = self._form_of[outgoing.to[0]] = self._next_form()
                forged = self._forge_offer(form, message)
        else:
            forged = self._forge_piece(form, message)
        if forged is None:
            return (outgoing,)
        self.note(f"{outgoing.label.kind} {form}", outgoing.to)
        return (outgoing._replace(message=forged),)

    def _readable_old(self) -> SnapshotOffer[Finality] | None:
        """Return the old offer; an unreadable offer comes from another forger, and is requested again."""
        if self._old is not None and not _is_readable(self._old):
            self._old = None
        return self._old

    def _next_form(self) -> str:
        return self.fault.what or self._forms[self.take_turn("form", len(self._forms))]

    def _forge_offer(self, form: str, offer: SnapshotOffer[Finality]) -> SnapshotOffer[Finality] | None:
        if form.startswith(_OF_FINALITY):
            broken = self.adversary.votes.broken_finality(form.removeprefix(_OF_FINALITY), offer.certificate)
            return None if broken is None else replace(offer, certificate=broken)
        header, outline = decode_header(offer.header), offer.outline
        changes: dict[str, dict[str, Any]] = {
            "header": {"header": encode_header(replace(header, state_root=other_digest(header.state_root)))},
            "header-cut": {"header": offer.header[:-1]},
            "root": {"outline": replace(outline, root=other_digest(outline.root))},
            "floor": {"outline": replace(outline, floor=outline.floor + 1)},
            "peak": {"outline": replace(outline, peaks=(*outline.peaks, outline.root))},
            "operations": {"outline": replace(outline, operations=(b"one",))},
            "start": {"outline": replace(outline, start=-1)},
            "size": {"outline": replace(outline, start=outline.size)},
            "no-pieces": {"chunks": 0},
            "pieces": {"chunks": outline.size - outline.start + 1},
        }
        if outline.witness:
            changes["witness"] = {"outline": replace(outline, witness=outline.witness[:-1])}
        if outline.peaks:
            others = (other_digest(outline.peaks[0]), *outline.peaks[1:])
            changes["peak-other"] = {"outline": replace(outline, peaks=others)}
        return replace(offer, **changes[form]) if form in changes else None

    def _forge_piece(self, form: str, piece: SnapshotChunk) -> SnapshotChunk | None:
        operations, is_last = piece.operations, piece.index == self._pieces - 1
        changes: dict[str, dict[str, Any]] = {
            "piece-other": {"operations": (other_digest(operations[0]), *operations[1:])},
            "piece-empty": {"operations": ()},
            "piece-digest": {"digest": other_digest(piece.digest)},
            "piece-index": {"index": piece.index + 1},
        }
        if is_last:
            changes["piece-more"] = {"operations": (*operations, operations[-1])}
            changes["piece-fewer"] = {"operations": operations[:-1]}
        forged = replace(piece, **changes[form]) if form in changes else piece
        return None if forged == piece else forged


def _is_readable(offer: SnapshotOffer[Finality]) -> bool:
    """Whether the header of an offer is valid; another forger's header may be invalid."""
    try:
        decode_header(offer.header)
    except InvalidEncodingError:
        return False
    return True


def forms_of_snapshots(finality_forms: Iterable[str], *, is_foreign: bool = False) -> tuple[str, ...]:
    """Return the forms of forged snapshots in an engine with these forms of broken finality."""
    # An application's snapshot has pieces, but no operation log with a witness and peaks.
    own = (form for form in ForgeSnapshot.FORMS if not is_foreign or form not in ("witness", "peak-other"))
    return (*own, *(_OF_FINALITY + each for each in finality_forms))


class ProbeSnapshots(_Curious):
    """Asks for pieces that an offered snapshot does not have; `what` selects the form, or all forms take turns.

    A piece before the first (`before`), behind the last (`behind`), or of another snapshot (`digest`).
    """

    FORMS: ClassVar[tuple[str, ...]] = ("before", "behind", "digest")

    def hear(self, source: NodeId, message: Message) -> None:
        """Ask for a piece of an offered snapshot."""
        if not isinstance(message, SnapshotOffer) or not _is_readable(message):
            return
        form = self.fault.what or self.FORMS[self.take_turn("form", len(self.FORMS))]
        digest = header_digest(decode_header(message.header))
        requests = {
            "before": SnapshotChunkRequest(digest, -1),
            "behind": SnapshotChunkRequest(digest, message.chunks),
            "digest": SnapshotChunkRequest(other_digest(digest), 0),
        }
        request = requests[form]
        self.note(f"{request.traced_name} {form}", (source,))
        self.adversary.wire.send_all((Outgoing((source,), request, Label(request.traced_name)),))
