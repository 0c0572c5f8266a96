"""A run as a Perfetto trace (TrackEvent): a process a replica, its views, blocks, messages, timers, and the faults.

The numbers of fields come from Perfetto's protos/perfetto/trace: trace.proto, trace_packet.proto and track_event/*.
Times are virtual: a microsecond of the run is 1,000 ns of the trace. A delivered message is a flow from the sender's
instant to the receiver's instant. A flow without an end is a message that did not arrive.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from cluster.exports.protobuf import Field, Fixed64, message
from cluster.exports.window import EVERYTHING, ExportWindow
from faults.events import ApplicationLost, Crashed, FaultEdge, Healed, Restarted
from network.events import Delivered, Dropped, Event, EventRouter, Handlers, Lost, Sent
from validators.events import (
    BlockExecuted,
    BlockFinalized,
    BlockRolledBack,
    BlockUndone,
    DamageFound,
    DamageRepaired,
    Entered,
    Halted,
    Reported,
    SnapshotJoined,
)
from validators.execution import BlockSummary

EVENTS_MAX: Final = 200_000
"""The most events of a trace: the viewer is a web page."""

NANOSECONDS: Final = 1_000

PACKET: Final = 1
TIMESTAMP, SEQUENCE, TRACK_EVENT, DESCRIPTOR = 8, 10, 11, 60
UUID, NAME, PROCESS, PARENT, COUNTER = 1, 2, 3, 5, 8
PID, PROCESS_NAME = 1, 6
TYPE, TRACK, TITLE, VALUE, FLOW, ENDING_FLOW = 9, 11, 23, 30, 47, 48
BEGIN, END, INSTANT, COUNT = 1, 2, 3, 4

CONSENSUS, EXECUTION, MESSAGES, DISK, WAITING, DEAD = range(1, 7)
TRACKS: Final = {
    CONSENSUS: "consensus",
    EXECUTION: "execution",
    MESSAGES: "messages",
    DISK: "disk and machine",
    WAITING: "timers waiting",
    DEAD: "clean-up debt",
}
COUNTERS: Final = (WAITING, DEAD)
SUPERVISOR_PROCESS: Final = 1_000_000

INSTANTS: Final[dict[type, tuple[int, Callable[[Any], str]]]] = {
    BlockExecuted: (EXECUTION, lambda body: f"executed {body.height} {body.root.hex()[:6]}"),
    BlockFinalized: (EXECUTION, lambda body: f"final {body.height} {body.root.hex()[:6]}"),
    BlockRolledBack: (EXECUTION, lambda body: f"dropped {body.height}"),
    BlockUndone: (EXECUTION, lambda body: f"took back {body.height}"),
    SnapshotJoined: (EXECUTION, lambda body: f"snapshot {body.height}"),
    Reported: (CONSENSUS, lambda body: f"{body.activity} {body.detail}"),
    Halted: (DISK, lambda body: f"halted: {body.reason}"),
    DamageFound: (DISK, lambda body: f"damage {body.file}: {body.what}"),
    DamageRepaired: (DISK, lambda body: f"repaired {body.file}"),
}
"""By the type of an event, the track and the name of its instant."""


@dataclass(slots=True)
class PerfettoTrace:
    """The packets of a trace, and what is open in it.

    Attributes:
        replicas: The names of the replicas.
        summaries: The numbers of the final blocks, lowest first.
        window: The virtual time that is wanted.
        view_word: The engine's word for a view.
        events_max: Packets of events after which the rest is left out.
        left_out: Events that found no room.
    """

    replicas: Sequence[str]
    summaries: Sequence[BlockSummary]
    window: ExportWindow = EVERYTHING
    events_max: int = EVENTS_MAX
    left_out: int = 0
    view_word: str = "view"
    _packets: bytearray = field(default_factory=bytearray)
    _count: int = 0
    _open: dict[int, None] = field(default_factory=dict)
    _flows: dict[tuple[int, int, int], int] = field(default_factory=dict)
    _faults: dict[str, int] = field(default_factory=dict)
    _end_us: int = 0

    @property
    def handlers(self) -> Handlers:
        """By the type of an event, the function that adds it."""
        return {
            Entered: self._enter,
            Sent: self._send,
            Delivered: self._deliver,
            Dropped: self._drop,
            Lost: self._lose,
            FaultEdge: self._edge,
            Healed: self._heal,
            ApplicationLost: self._lose_application,
            Crashed: self._crash,
            Restarted: self._restart,
            **dict.fromkeys(INSTANTS, self._mark),
        }

    def encode(self, events: Iterable[Event]) -> bytes:
        """Return the trace of a log."""
        for node, name in enumerate(self.replicas):
            self._describe_process(node + 1, name)
            for track, title in TRACKS.items():
                self._describe((node + 1) * 16 + track, title, (node + 1) * 16, is_counter=track in COUNTERS)
        self._describe_process(SUPERVISOR_PROCESS, "faults")
        router = EventRouter(self.handlers)
        for event in events:
            if self.window.holds(event.at_us):
                self._end_us = event.at_us
                router.route(event)
        for track in list(self._open):
            self._event(self._end_us, (TYPE, END), (TRACK, track), is_end=True)
        return bytes(self._packets)

    def _mark(self, event: Event, body: Any) -> None:  # noqa: ANN401 - of any of the types of INSTANTS
        track, name = INSTANTS[type(body)]
        self._instant(event.at_us, _track(event.node, track), name(body))
        if type(body) is BlockFinalized and 0 < body.height <= len(self.summaries):
            summary = self.summaries[body.height - 1]
            for counter, value in ((WAITING, summary.waiting_live), (DEAD, summary.waiting_dead)):
                self._event(event.at_us, (TYPE, COUNT), (TRACK, _track(event.node, counter)), (VALUE, value))

    def _heal(self, event: Event, _healed: Healed) -> None:
        self._instant(event.at_us, SUPERVISOR_PROCESS * 16, "healed")

    def _lose_application(self, event: Event, body: ApplicationLost) -> None:
        self._instant(event.at_us, _track(body.machine, DISK), f"application lost: {body.call}: {body.reason}")

    def _crash(self, event: Event, body: Crashed) -> None:
        self._instant(event.at_us, _track(body.machine, DISK), "power lost")

    def _restart(self, event: Event, body: Restarted) -> None:
        self._instant(event.at_us, _track(body.machine, DISK), "power back")

    def _enter(self, event: Event, body: Entered) -> None:
        leads = ", leads" if body.leader == event.node else ""
        self._begin(event.at_us, _track(event.node, CONSENSUS), f"{self.view_word} {body.view}{leads}")

    def _begin(self, at_us: int, track: int, name: str) -> None:
        """Begin a slice at the end of the last slice of its track."""
        self._finish(at_us, track)
        if self._event(at_us, (TYPE, BEGIN), (TRACK, track), (TITLE, name)):
            self._open[track] = None

    def _finish(self, at_us: int, track: int) -> None:
        if track in self._open:
            del self._open[track]
            self._event(at_us, (TYPE, END), (TRACK, track), is_end=True)

    def _send(self, event: Event, body: Sent) -> None:
        flow = len(self._flows) + 1
        if self._instant(
            event.at_us, _track(event.node, MESSAGES), f"send {body.label} to {body.destination}", (FLOW, Fixed64(flow))
        ):
            self._flows[event.node, body.destination, body.ordinal] = flow

    def _deliver(self, event: Event, body: Delivered) -> None:
        flow = self._flows.get((body.source, event.node, body.ordinal))
        ending: list[Field] = [] if flow is None else [(ENDING_FLOW, Fixed64(flow))]
        self._instant(event.at_us, _track(event.node, MESSAGES), f"get {body.label} from {body.source}", *ending)

    def _drop(self, event: Event, body: Dropped) -> None:
        self._instant(event.at_us, _track(event.node, MESSAGES), f"lost to {body.destination}: {body.reason}")

    def _lose(self, event: Event, body: Lost) -> None:
        self._instant(event.at_us, _track(event.node, MESSAGES), f"lost from {body.source}: {body.condition}")

    def _edge(self, event: Event, body: FaultEdge) -> None:
        track = SUPERVISOR_PROCESS * 16 + 1 + self._faults.setdefault(body.fault, len(self._faults))
        if track == SUPERVISOR_PROCESS * 16 + len(self._faults):
            self._describe(track, body.fault, SUPERVISOR_PROCESS * 16)
        if body.edge == "start":
            self._begin(event.at_us, track, body.fault)
        elif body.edge == "stop":
            self._finish(event.at_us, track)
        else:
            self._instant(event.at_us, track, f"{body.fault} {body.edge}")

    def _instant(self, at_us: int, track: int, name: str, *others: Field) -> bool:
        return self._event(at_us, (TYPE, INSTANT), (TRACK, track), (TITLE, name), *others)

    def _event(self, at_us: int, *fields: Field, is_end: bool = False) -> bool:
        """Add an event, if there is room; the end of a slice that has begun always has."""
        if self._count >= self.events_max and not is_end:
            self.left_out += 1
            return False
        self._count += 1
        self._add((TIMESTAMP, at_us * NANOSECONDS), (SEQUENCE, 1), (TRACK_EVENT, message(*fields)))
        return True

    def _describe_process(self, pid: int, name: str) -> None:
        self._packets += _process_packet(pid, name)

    def _describe(self, uuid: int, name: str, parent: int, *, is_counter: bool = False) -> None:
        counter: list[Field] = [(COUNTER, b"")] if is_counter else []
        self._add((DESCRIPTOR, message((UUID, uuid), (NAME, name), (PARENT, parent), *counter)))

    def _add(self, *fields: Field) -> None:
        self._packets += message((PACKET, message(*fields)))


def _track(node: int, track: int) -> int:
    return (node + 1) * 16 + track


def _process_packet(pid: int, name: str) -> bytes:
    process = message((PID, pid), (PROCESS_NAME, name))
    descriptor = message((UUID, pid * 16), (NAME, name), (PROCESS, process))
    return message((PACKET, message((DESCRIPTOR, descriptor))))


def names_of(validators: int, observers: Iterable[str], twinned: Iterable[int] = ()) -> Iterator[str]:
    """Yield the names of the replicas, in the order of their numbers."""
    yield from (f"validator {node}" for node in range(validators))
    yield from (f"observer {name}" for name in observers)
    yield from (f"twin of validator {node}" for node in twinned)


BEGINNING: Final = _process_packet(1, "validator 0")
"""The first packet of every trace."""
