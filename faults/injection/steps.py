"""The moments of a fault: each is an event of the supervisor."""

from collections.abc import Callable
from dataclasses import dataclass

from network.types import MILLISECOND_US


@dataclass(frozen=True, slots=True)
class Edge:
    """A moment of a fault: its time, its name in the trace, its action.

    ``until_ms`` is the end of the edge's window of the fault, or the moment itself. A run that begins after that end
    leaves the edge out. A run that begins within the window carries out the action at its start.
    """

    at_ms: int
    until_ms: int
    name: str
    act: Callable[[], None]

    def at_us(self, begin_us: int, origin_us: int = 0) -> int | None:
        """Return the virtual time of this edge in a run that begins at ``begin_us``, None if the edge is past.

        Its own times count from ``origin_us``.
        """
        if origin_us + self.until_ms * MILLISECOND_US < begin_us:
            return None
        return max(origin_us + self.at_ms * MILLISECOND_US, begin_us)


def window(start_ms: int, stop_ms: int, begin: Callable[[], None], end: Callable[[], None]) -> tuple[Edge, Edge]:
    """Return the two edges of a window in which a fault is active."""
    return Edge(start_ms, stop_ms, "start", begin), Edge(stop_ms, stop_ms, "stop", end)
