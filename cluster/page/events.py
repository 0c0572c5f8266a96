"""The events of a log as typed columns: what replicas did, which messages were sent, who was down when.

Thinning happens here, in one place, and is said in words. Marks are of at most `MARKS_MAX` events: what is rare
(faults, crashes, reorganizations, damage, refusals) stays, and of views, votes, certificates and blocks every k-th
view. Of messages every k-th stays, and all that were lost or are marked. Behind both lies a density of all events.
"""

from array import array
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias

from faults.events import ClockSet, Crashed, FaultEdge, Healed, ObserverSwitchedOff, Restarted, Tampered
from network.events import Delivered, Dropped, Event, EventRouter, Handlers, HeldBack, Lost, Reseeded, Sent
from report.page.rows import HELD, LOST, MARKED, MESSAGE_KINDS, NO_BLOCK, NO_TIME, Columns, Timeline
from validators.events import (
    BlockExecuted,
    BlockFinalized,
    BlockRolledBack,
    BlockUndone,
    Booted,
    CertificateHeld,
    DamageFound,
    DamageRepaired,
    Entered,
    Halted,
    MessageRefused,
    PeerAdmitted,
    PeerBlocked,
    Reported,
    SnapshotJoined,
    StoppedVoting,
    Uncertified,
    Voted,
)

MARKS_MAX: Final = 20_000
"""The most events that are drawn one by one."""

MESSAGES_MAX: Final = 12_000
"""The most messages that are drawn one by one."""

DENSITY_COLUMNS: Final = 512
"""Columns of the density of all events, over the whole run."""

SUPERVISOR: Final = 255
"""The row of events that are no replica's."""

UNKNOWN: Final = -1
"""Stands for a view or height that an event does not name."""

Link: TypeAlias = tuple[int, int, int]
"""The sender, the receiver and the ordinal of a message."""

ROUTINE: Final = ("enter", "vote", "certificate", "executed", "finalized")
"""Kinds of events that every view has."""


class Place(NamedTuple):
    """The facts that a mark has besides its kind: view, height, block and words."""

    view: int = UNKNOWN
    height: int = UNKNOWN
    digest: bytes = b""
    words: str = ""


Reader = Callable[[Any], Place]

READERS: Final[Mapping[type, Reader]] = {
    Booted: lambda body: Place(body.view, body.finalized_height, words=f"life {body.incarnation}"),
    Halted: lambda body: Place(words=body.reason),
    StoppedVoting: lambda body: Place(words=body.reason),
    Entered: lambda body: Place(body.view, words=f"led by {body.leader}" if body.leader >= 0 else "led by nobody"),
    Voted: lambda body: Place(body.view, digest=body.payload, words=body.vote),
    CertificateHeld: lambda body: Place(body.view, digest=body.payload, words=body.certificate),
    Reported: lambda body: Place(body.view, words=f"{body.activity} {body.detail} (validator {body.signer})"),
    Uncertified: lambda body: Place(body.view, digest=body.payload),
    BlockExecuted: lambda body: Place(body.view, body.height, body.digest, body.mode),
    BlockFinalized: lambda body: Place(body.view, body.height, body.digest),
    BlockRolledBack: lambda body: Place(height=body.height, digest=body.digest),
    BlockUndone: lambda body: Place(height=body.height, digest=body.digest),
    SnapshotJoined: lambda body: Place(height=body.height, digest=body.digest),
    DamageFound: lambda body: Place(words=f"{body.file} at {body.place}: {body.what}"),
    DamageRepaired: lambda body: Place(words=f"{body.file} at {body.place}: {body.how}"),
    MessageRefused: lambda body: Place(words=f"{body.message}: {body.reason}"),
    PeerBlocked: lambda body: Place(words=f"validator {body.peer} for {body.blocked_us // 1_000:,} ms: {body.reason}"),
    PeerAdmitted: lambda body: Place(words=f"validator {body.peer}"),
    Tampered: lambda body: Place(words=f"{body.behaviour}: {body.label} to {', '.join(map(str, body.to))}"),
    FaultEdge: lambda body: Place(words=f"{body.fault} {body.edge}"),
    Healed: lambda _body: Place(words="no fault is at work any more"),
    Reseeded: lambda body: Place(words=f"chance has seed {body.seed} from turn {body.turn:,} on"),
}
"""By the type of an event that a replica's row shows, what is said of it."""

MACHINES: Final[Mapping[type, Reader]] = {
    Crashed: lambda body: Place(words=f"{body.lost_bytes:,} unsynced bytes lost"),
    Restarted: lambda _body: Place(),
    ClockSet: lambda body: Place(words=f"clock {body.ppm} ppm, offset {body.offset_us} us"),
    ObserverSwitchedOff: lambda body: Place(words=body.mode),
}
"""The same for events of the supervisor that are about one machine."""


class Collector:
    """Collects the columns while the log is read.

    Args:
        replicas: The number of replicas.
        end_us: The end of the run, in virtual time.
        sent: The number of messages in the log.
        blocks: The number of each executed block by its digest.
        view_word: The engine's word for a view.
        marked: By its link, a sentence about each message that is marked.

    Attributes:
        windows: When each fault was at work, by its name; whole once `log` was asked.
    """

    def __init__(
        self,
        replicas: int,
        end_us: int,
        sent: int,
        blocks: Mapping[bytes, int],
        *,
        view_word: str = "view",
        marked: Mapping[Link, str] = MappingProxyType({}),
    ) -> None:
        self._marked = marked
        self._view_word = view_word
        self._replicas = replicas
        self._end_us = max(end_us, 1)
        self._blocks = blocks
        self._stride = max(1, -(-sent // MESSAGES_MAX))
        self._sent = 0
        self._words: dict[str, int] = {"": 0}
        self._kinds: dict[str, int] = {}
        self._marks: dict[str, array[Any]] = {
            name: array(code)
            for name, code in (("at", "d"), ("node", "B"), ("kind", "B"), ("view", "i"), ("height", "i"))
        }
        self._marks |= {"block": array("I"), "words": array("I")}
        self._messages: dict[str, array[Any]] = {
            name: array(code) for name, code in (("at", "d"), ("arrives", "d"), ("from", "B"), ("to", "B"))
        }
        self._messages |= {"label": array("I"), "fate": array("B")}
        self._way: dict[Link, int] = {}
        self._density = array("I", bytes(4 * replicas * DENSITY_COLUMNS))
        self._down: dict[int, int] = {}
        self._lives: list[tuple[int, int, int]] = []
        self._open: dict[str, int] = {}
        self.windows: dict[str, list[tuple[int, int]]] = {}
        self.handlers: Final[Handlers] = {
            **dict.fromkeys(READERS, self._mark),
            **dict.fromkeys(MACHINES, self._mark_machine),
            # A run has a hundred thousand messages, and most pages mark none.
            Sent: self._send_or_mark if marked else self._send,
            Delivered: self._deliver_and_tell if marked else self._deliver,
            Dropped: self._drop,
            Lost: self._lose,
            HeldBack: self._hold,
        }

    def log(self) -> Timeline:
        """Return the columns; asked once the log is read."""
        for machine, since_us in sorted(self._down.items()):
            self._lives.append((machine, since_us, self._end_us))
        for fault, since_us in self._open.items():
            self.windows.setdefault(fault, []).append((since_us, self._end_us))
        marks = _thinned(self._marks, tuple(self._kinds), self._view_word)
        note = (
            ""
            if self._stride == 1
            else (f"Of {self._sent:,} messages every {self._stride}th is drawn, and all of those that were lost.")
        )
        return Timeline(
            kinds=tuple(self._kinds),
            titles=tuple(self._words),
            marks=marks,
            messages=Columns(self._messages, note),
            lives=tuple(self._lives),
            density=self._density,
            end_us=self._end_us,
        )

    def _mark(self, event: Event, body: Any) -> None:  # noqa: ANN401 - of any of the types of READERS
        node = event.node if event.node >= 0 else SUPERVISOR
        self._add(event, node, READERS[type(body)](body))
        if type(body) is FaultEdge:
            self._edge(event.at_us, body)

    def _mark_machine(self, event: Event, body: Any) -> None:  # noqa: ANN401 - of any of the types of MACHINES
        self._add(event, body.machine, MACHINES[type(body)](body))
        if type(body) is Crashed:
            self._down.setdefault(body.machine, event.at_us)
        elif type(body) is Restarted and body.machine in self._down:
            self._lives.append((body.machine, self._down.pop(body.machine), event.at_us))

    def _add(self, event: Event, node: int, place: Place) -> None:
        marks = self._marks
        marks["at"].append(event.at_us)
        marks["node"].append(node)
        marks["kind"].append(self._kinds.setdefault(event.kind, len(self._kinds)))
        marks["view"].append(place.view)
        marks["height"].append(place.height)
        marks["block"].append(self._blocks.get(place.digest, NO_BLOCK))
        marks["words"].append(self._words.setdefault(place.words, len(self._words)))
        if node < self._replicas:
            column = min(event.at_us * DENSITY_COLUMNS // self._end_us, DENSITY_COLUMNS - 1)
            self._density[node * DENSITY_COLUMNS + column] += 1

    def _edge(self, at_us: int, edge: FaultEdge) -> None:
        if edge.edge == "stop":
            since_us = self._open.pop(edge.fault, at_us)
            self.windows.setdefault(edge.fault, []).append((since_us, at_us))
        elif edge.edge == "start":
            self._open.setdefault(edge.fault, at_us)
        elif edge.fault not in self._open and edge.fault not in self.windows:
            self.windows.setdefault(edge.fault, []).append((at_us, at_us))

    def _send(self, event: Event, body: Sent) -> None:
        self._sent += 1
        if self._sent % self._stride == 0:
            self._way[event.node, body.destination, body.ordinal] = len(self._messages["at"])
            self._note(event.at_us, event.node, body.destination, body.label)

    def _send_or_mark(self, event: Event, body: Sent) -> None:
        link = event.node, body.destination, body.ordinal
        told = self._marked.get(link)
        if told is None:
            self._send(event, body)
            return
        self._sent += 1
        self._way[link] = len(self._messages["at"])
        self._note(event.at_us, event.node, body.destination, told, fate=MARKED)
        self._add(event, event.node, Place(words=f"marked message: {told}"))

    def _note(self, at_us: int, source: int, destination: int, label: str, *, fate: int = 0) -> None:
        messages = self._messages
        messages["at"].append(at_us)
        messages["arrives"].append(NO_TIME)
        messages["from"].append(source)
        messages["to"].append(destination)
        messages["label"].append(self._words.setdefault(label, len(self._words)))
        messages["fate"].append(fate)

    def _deliver(self, event: Event, body: Delivered) -> None:
        index = self._way.pop((body.source, event.node, body.ordinal), None)
        if index is not None:
            self._messages["arrives"][index] = event.at_us

    def _deliver_and_tell(self, event: Event, body: Delivered) -> None:
        self._deliver(event, body)
        self._tell(event, (body.source, event.node, body.ordinal), "")

    def _drop(self, event: Event, body: Dropped) -> None:
        self._end(event, (event.node, body.destination, body.ordinal), f"{body.reason} {body.condition}".strip())

    def _lose(self, event: Event, body: Lost) -> None:
        self._end(event, (body.source, event.node, body.ordinal), f"lost {body.condition}".strip())

    def _end(self, event: Event, link: Link, why: str) -> None:
        index = self._way.pop(link, None)
        if index is not None:
            self._meet(index, LOST)
        elif len(self._messages["at"]) < 2 * MESSAGES_MAX:
            self._note(event.at_us, link[0], link[1], why, fate=LOST)
        self._tell(event, link, why)

    def _hold(self, event: Event, body: HeldBack) -> None:
        link = event.node, body.destination, body.ordinal
        index = self._way.get(link)
        if index is not None:
            self._meet(index, HELD)
        self._tell(event, link, body.condition)

    def _meet(self, index: int, fate: int) -> None:
        """Note the fate of a message, which stays marked."""
        fates = self._messages["fate"]
        fates[index] = fates[index] & MARKED | fate

    def _tell(self, event: Event, link: Link, why: str) -> None:
        """Mark the event at which a marked message arrives, is lost or is held back."""
        if link in self._marked:
            words = f"marked message from {link[0]} to {link[1]}"
            self._add(event, event.node, Place(words=f"{words}: {why}" if why else words))


def read_log(events: Iterable[Event], collector: Collector, *others: Handlers) -> Timeline:
    """Return a log as columns; `others` read it too."""
    router = EventRouter(collector.handlers, *others)
    for event in events:
        router.route(event)
    return collector.log()


def _thinned(marks: "dict[str, array[Any]]", kinds: tuple[str, ...], view_word: str) -> Columns:
    """Return the marks, of the routine ones those of every k-th view, so that at most MARKS_MAX stay."""
    routine = {number for number, kind in enumerate(kinds) if kind in ROUTINE}
    of_messages = {number for number, kind in enumerate(kinds) if kind in MESSAGE_KINDS}
    count = len(marks["at"])
    rare = sum(kind not in routine for kind in marks["kind"])
    room = max(MARKS_MAX - rare, MARKS_MAX // 10)
    stride = max(1, -(-(count - rare) // room))
    if stride == 1 and rare <= MARKS_MAX:
        return Columns(marks, "")
    rare_stride = max(1, -(-rare // MARKS_MAX))
    kept = []
    seen = 0
    for index, (kind, view) in enumerate(zip(marks["kind"], marks["view"], strict=True)):
        if kind in routine:
            is_kept = view % stride == 0
        else:
            seen += 1
            is_kept = kind in of_messages or seen % rare_stride == 0
        if is_kept:
            kept.append(index)
    thinned = {name: array(values.typecode, (values[index] for index in kept)) for name, values in marks.items()}
    said = f"Of {count:,} events {len(kept):,} are drawn one by one: of {view_word}s, votes, certificates and blocks "
    said += "those of "
    said += f"every {stride}th {view_word}" if stride > 1 else f"every {view_word}"
    said += f", of all others every {rare_stride}th." if rare_stride > 1 else ", and all others."
    return Columns(thinned, said + " The shade behind them counts all.")
