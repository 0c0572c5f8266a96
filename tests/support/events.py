"""Events for tests: some of no room's own, and some as a log holds them."""

from typing import Any, ClassVar

from network.events import Event, LoggedValues, TraceEvent


class Mark(TraceEvent, frozen=True):
    """An event that only tests write."""

    kind: ClassVar[str] = "mark"
    value: Any = None


def logged(at_us: int, node: int, kind: str, *values: Any) -> Event:
    """Return an event as it is read from a log: its values have no type yet."""
    return Event(at_us, node, LoggedValues(kind, values))
