"""The moments of a fault: each is one event of the supervisor."""

from collections.abc import Callable
from dataclasses import dataclass

from network.types import MILLISECOND_US


@dataclass(frozen=True, slots=True)
class Edge:
    """One moment of a fault: when, what the trace calls it, what is done.

    ``until_ms`` is when nothing is left of what the edge belongs to: a window of the fault, or the moment itself. A run
    that begins later leaves the edge out; one that begins in between does at its start what was to be done before.
    """

    at_ms: int
    until_ms: int
    name: str
    act: Callable[[], None]

    def at_us(self, begin_us: int, origin_us: int = 0) -> int | None:
        """Return the virtual time of this edge in a run that begins at ``begin_us``; None: it is past.

        Its own times count from ``origin_us``.
        """
        if origin_us + self.until_ms * MILLISECOND_US < begin_us:
            return None
        return max(origin_us + self.at_ms * MILLISECOND_US, begin_us)


def window(start_ms: int, stop_ms: int, begin: Callable[[], None], end: Callable[[], None]) -> tuple[Edge, Edge]:
    """Return the two edges of a time in which a fault is at work."""
    return Edge(start_ms, stop_ms, "start", begin), Edge(stop_ms, stop_ms, "stop", end)
