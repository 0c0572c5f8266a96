"""Trace events: typed values that their writer builds and their readers get back by type.

Each room owns the types of the events that it writes; the events of the bus and the port are here. A type's `kind` is a
constant, not the class's name: it is in every log and every digest. In the log an event is [at_us, node, kind,
values...], the fields of its type in order. So a field may be added at the end, with a default, and no field may move.

An event of a log is converted only when it is read (`read_event`): a log may have unknown kinds, and no reader asks for
all. Structs rather than named tuples: building a struct costs 35 ns, not 158 ns.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar, Final, TypeAlias, TypeVar, final

import msgspec

from network.types import Micros, NodeId

Value: TypeAlias = "int | str | bytes | bool | tuple[Value, ...] | list[Value] | None"
"""A value that an event may carry. Floats and sets have no place in a digest."""

_NATIVE_TYPES: Final = (bytes,)
"""Bytes are bytes in a log; without this msgspec would take text for base64."""


class TraceEvent(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Base of the types of events; `kind` is the constant that the log has for the type."""

    kind: ClassVar[str]


AnyEvent = TypeVar("AnyEvent", bound=TraceEvent)


class LoggedValues(msgspec.Struct, frozen=True, gc=False):
    """The values of an event that was read from a log, before `read_event` gives them their type."""

    kind: str
    values: tuple[Value, ...]


class Event(msgspec.Struct, frozen=True, gc=False):
    """An event of a run: its time, its node, and its typed values, which `read_event` returns."""

    at_us: Micros
    node: NodeId
    body: TraceEvent | LoggedValues

    @property
    def kind(self) -> str:
        """The constant that the log has for this kind of event."""
        return self.body.kind

    @property
    def values(self) -> tuple[Value, ...]:
        """All values in the log's form, for readers that show or copy events of any kind."""
        if isinstance(self.body, LoggedValues):
            return self.body.values
        return tuple(map(_as_logged, msgspec.structs.astuple(self.body)))


class MalformedEventError(ValueError):
    """The values of an event do not fit its kind."""


Handlers: TypeAlias = Mapping[type[TraceEvent], Callable[[Event, Any], None]]
"""By the type of an event, the function that is called with the event and its typed values."""


def read_event(event: Event, expected: type[AnyEvent]) -> AnyEvent | None:
    """Return the typed values of an event, or None if the event is of another kind.

    Raises:
        MalformedEventError: the event is of this kind and its values are not.
    """
    body = event.body
    if isinstance(body, expected):
        return body
    if body.kind != expected.kind:
        return None
    try:
        return msgspec.convert(event.values, expected, builtin_types=_NATIVE_TYPES)
    except msgspec.ValidationError as error:
        raise MalformedEventError(f"{event.kind!r} of node {event.node} at {event.at_us} us: {error}") from error


def events_of_type(events: Iterable[Event], expected: type[AnyEvent]) -> Iterator[tuple[Event, AnyEvent]]:
    """Yield the events of one type, each with its typed values.

    Raises:
        MalformedEventError: the values of an event do not fit its kind.
    """
    for event in events:
        body = read_event(event, expected)
        if body is not None:
            yield event, body


@final
class OfLabels:
    """A handler of sent or delivered messages with some labels; a router does not call it for other labels.

    Most messages are votes, and most handlers look for another kind.

    Args:
        is_wanted: Returns whether messages with a label are handled; always the same answer.
        handle: Is called with the event and its typed values.
    """

    __slots__ = ("handle", "is_wanted")

    def __init__(self, is_wanted: Callable[[str], object], handle: Callable[[Event, Any], None]) -> None:
        self.is_wanted = is_wanted
        self.handle = handle

    def __call__(self, event: Event, body: Any) -> None:  # noqa: ANN401 - any type of event that has a label
        """Handle an event that came without a router, if its label is wanted."""
        if self.is_wanted(body.label):
            self.handle(event, body)


class EventRouter:
    """Hands each event to the handlers of its type, in the order given; an event of another type costs a look-up."""

    def __init__(self, *handlers: Handlers) -> None:
        self._routes: dict[str, tuple[type[TraceEvent], list[Callable[[Event, Any], None]]]] = {}
        self._by_label: dict[str, dict[str, list[Callable[[Event, Any], None]]]] = {}
        for each in handlers:
            for expected, handler in each.items():
                self._routes.setdefault(expected.kind, (expected, []))[1].append(handler)
                if isinstance(handler, OfLabels):
                    self._by_label[expected.kind] = {}
        self.kinds: Final = frozenset(self._routes)
        """The kinds of events that have a handler; nearly all events of a run are sends, deliveries and work."""

    def route(self, event: Event) -> None:
        """Call the handlers of an event's type.

        Raises:
            MalformedEventError: its values do not fit its kind.
        """
        body: Any = event.body
        kind = body.kind
        found = self._routes.get(kind)
        if found is None:
            return
        expected, handlers = found
        if type(body) is not expected:
            body = read_event(event, expected)
        by_label = self._by_label.get(kind)
        if by_label is not None:
            chosen = by_label.get(body.label)
            handlers = self._choose(kind, body.label) if chosen is None else chosen
        for handler in handlers:
            handler(event, body)

    def _choose(self, kind: str, label: str) -> list[Callable[[Event, Any], None]]:
        """Return the handlers of messages with a label, and cache them."""
        chosen: list[Callable[[Event, Any], None]] = []
        for handler in self._routes[kind][1]:
            if not isinstance(handler, OfLabels):
                chosen.append(handler)
            elif handler.is_wanted(label):
                chosen.append(handler.handle)
        self._by_label[kind][label] = chosen
        return chosen


def _as_logged(value: Value) -> Value:
    """Return a tuple as a list, as it is when read back from a log."""
    return [_as_logged(item) for item in value] if isinstance(value, tuple | list) else value


class Reseeded(TraceEvent, frozen=True):
    """All draws have another seed from this turn of the kernel on, whose first event this is."""

    kind: ClassVar[str] = "reseed"
    turn: int
    seed: int


class Sent(TraceEvent, frozen=True):
    """A node sent a message, the `ordinal`-th of its link to `destination`, about a view and a height if it says so."""

    kind: ClassVar[str] = "send"
    destination: NodeId
    ordinal: int
    label: str
    length: int
    checksum: bytes
    view: int | None = None
    height: int | None = None


class Delivered(TraceEvent, frozen=True):
    """A node got a message; copies of it have other ordinals."""

    kind: ClassVar[str] = "deliver"
    source: NodeId
    ordinal: int
    label: str
    length: int
    checksum: bytes


class Dropped(TraceEvent, frozen=True):
    """A message of this sender will not arrive: the reason, and the condition that dropped it, if any."""

    kind: ClassVar[str] = "drop"
    destination: NodeId
    ordinal: int
    reason: str
    condition: str


class Lost(TraceEvent, frozen=True):
    """A message to this receiver was lost on its way, by the reset of a condition's links."""

    kind: ClassVar[str] = "lost"
    source: NodeId
    ordinal: int
    condition: str


class HeldBack(TraceEvent, frozen=True):
    """A condition keeps a message of this sender back."""

    kind: ClassVar[str] = "hold"
    destination: NodeId
    ordinal: int
    condition: str


class Released(TraceEvent, frozen=True):
    """A condition lets a message of this sender go on."""

    kind: ClassVar[str] = "release"
    destination: NodeId
    ordinal: int
    condition: str


class TimerElapsed(TraceEvent, frozen=True):
    """A timer of a node is due: the time it was set to, how much longer it took, and the wall clock's lead then."""

    kind: ClassVar[str] = "timer"
    key: str | tuple[object, ...]
    asked_us: Micros = 0
    extra_us: Micros = 0
    lead_us: Micros = 0


class AlarmElapsed(TraceEvent, frozen=True):
    """An alarm of a node went off: the wall-clock time that it was set to, and the time that the clock shows."""

    kind: ClassVar[str] = "alarm"
    key: str | tuple[object, ...]
    at_wall_us: Micros
    wall_us: Micros


class WorkFinished(TraceEvent, frozen=True):
    """Work on a lane of a node's machine is over: its base length, and how much longer it took from its start on."""

    kind: ClassVar[str] = "work"
    lane: str
    ordinal: int
    base_us: Micros = 0
    extra_us: Micros = 0
