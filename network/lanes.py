"""The events of the current instant: a queue in canonical order for each destination."""

from bisect import insort
from collections import deque
from collections.abc import Callable, Container, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, Final, TypeAlias

from network.outcome import EventOrderError
from network.types import SUPERVISOR, EventKind, Micros, NodeId

QueuedEvent: TypeAlias = tuple[NodeId, EventKind, NodeId, int, Callable[..., None], tuple[Any, ...]]
"""Destination, kind, source and ordinal, which are the canonical order, and the action with its arguments."""

DESTINATION: Final = itemgetter(0)


def has_one_each(events: Sequence[QueuedEvent], destinations: Container[NodeId]) -> bool:
    """Return whether every event is for one of these destinations, and no two events share a destination."""
    found = {event[0]: None for event in events}
    return len(found) == len(events) and all(destination in destinations for destination in found)


class Lanes:
    """The current instant's events that have not been handed out.

    Raises, from every method that puts events in order:
        EventOrderError: two events have the same key.
    """

    __slots__ = ("by_node", "joined")

    def __init__(self) -> None:
        self.by_node: dict[NodeId, deque[QueuedEvent]] = {}
        self.joined: list[QueuedEvent] = []

    def begin(self, at_us: Micros, events: list[QueuedEvent]) -> None:
        """Begin an instant with these events."""
        # Empty lanes of earlier instants would be sorted again in every turn.
        self.by_node.clear()
        try:
            # By (destination, kind, source, ordinal): the order of posting depends on trio's order of tasks.
            events.sort()
        except TypeError as error:
            raise EventOrderError(f"two events at {at_us} us share (destination, kind, source, ordinal)") from error
        for destination, lane in groupby(events, key=DESTINATION):
            self.by_node[destination] = deque(lane)

    def join(self, at_us: Micros, event: QueuedEvent) -> None:
        """Put an event into this instant."""
        # Only its own task puts events into a validator's lane while tasks run; all other events wait for the next
        # turn. Otherwise `pull` would see them or not depending on trio's order.
        if event[0] == event[2]:
            self._put(at_us, event)
        else:
            self.joined.append(event)

    def next_of_each(self, at_us: Micros) -> list[QueuedEvent]:
        """Take the next event of each validator, or the supervisor's alone."""
        for event in self.joined:
            self._put(at_us, event)
        self.joined.clear()
        supervisor = self.by_node.get(SUPERVISOR)
        if supervisor:
            # Alone in its turn: its effects on machines and links must be complete before any validator runs.
            return [supervisor.popleft()]
        # One event of each validator, by number: lanes are in the order of their first event.
        return [lane.popleft() for _, lane in sorted(self.by_node.items(), key=DESTINATION) if lane]

    def __len__(self) -> int:
        return len(self.joined) + sum(map(len, self.by_node.values()))

    def __bool__(self) -> bool:
        return bool(self.joined) or any(self.by_node.values())

    def _put(self, at_us: Micros, event: QueuedEvent) -> None:
        lane = self.by_node.setdefault(event[0], deque())
        try:
            insort(lane, event)
        except TypeError as error:
            raise EventOrderError(f"two events at {at_us} us share the key {event[:4]}") from error
