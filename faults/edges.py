"""The moments of a fault: each is one event of the supervisor."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

MILLISECOND_US: Final = 1_000


@dataclass(frozen=True, slots=True)
class Edge:
    """One moment of a fault: when, what the trace calls it, what is done."""

    at_ms: int
    name: str
    act: Callable[[], None]
