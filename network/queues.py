"""Narrow links and messages lost on the way: a rate, a bounded queue, a connection that is reset.

A `Line` belongs to one condition on one wire, or to the uplink of one node. Only the sender changes it, so its state is
in the order of sending. `Losses` marks messages in the kernel's queue that will not arrive. Taking an event out of that
queue was rejected: it would slow every run for the sake of a few faults.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from network.types import Micros

SECOND_US: Final = 1_000_000

COPY_SHIFT: Final = 48
"""A copy's ordinal is the message's with the copy's number above this bit: keys in the queue stay unique."""

_ORDINAL_MASK: Final = (1 << COPY_SHIFT) - 1


@dataclass(slots=True)
class Line:
    """The load of a link under a condition.

    Attributes:
        free_us: when the last byte of all messages so far is on its way.
        arrivals_us: when each message under way arrives, by ordinal.
    """

    free_us: Micros = 0
    arrivals_us: dict[int, Micros] = field(default_factory=dict)

    def pass_through(self, at_us: Micros, length: int, bytes_per_second: int) -> Micros:
        """Return when a message that comes at this time is through; it occupies the line for length / rate, rounded up.

        A message without bytes occupies nothing.
        """
        self.free_us = max(at_us, self.free_us) - (-length * SECOND_US // bytes_per_second)
        return self.free_us

    def under_way(self, now_us: Micros) -> list[int]:
        """Forget the messages that have arrived by now, and return the ordinals of the rest, in sending order."""
        self.arrivals_us = {ordinal: at_us for ordinal, at_us in self.arrivals_us.items() if at_us > now_us}
        return list(self.arrivals_us)


class UplinkClass(NamedTuple):
    """Kinds of messages that wait for each other in an uplink, and their rate."""

    kinds: tuple[str, ...]
    bytes_per_second: int


class Uplink:
    """The outgoing line of a node, shared by all its links: a broadcast passes it once for each receiver.

    Each class has its own line, so that a flood of one class never delays another. The last class carries the messages
    of every kind that no class names.

    Attributes:
        waited: The number of messages that found their line occupied.
    """

    def __init__(self, classes: Sequence[UplinkClass]) -> None:
        lines = [(Line(), each.bytes_per_second) for each in classes]
        self._by_kind = {kind: line for each, line in zip(classes, lines, strict=True) for kind in each.kinds}
        self._rest = lines[-1]
        self.waited = 0

    def pass_through(self, now_us: Micros, kind: str, length: int) -> Micros:
        """Return when a message that is sent now is through."""
        line, bytes_per_second = self._by_kind.get(kind, self._rest)
        self.waited += line.free_us > now_us
        return line.pass_through(now_us, length, bytes_per_second)


@dataclass(slots=True)
class Losses:
    """Messages that were sent on a link, have not arrived, and never will.

    Attributes:
        below: every earlier message is lost, if it has not arrived yet; `reset_by` names the condition.
        evicted: single messages, which were counted when they were chosen.
    """

    below: int = 0
    reset_by: str = ""
    evicted: dict[int, None] = field(default_factory=dict)

    def is_evicted(self, ordinal: int) -> bool:
        """Return whether the message was evicted from a queue; asked once, when it would have arrived."""
        if ordinal not in self.evicted:
            return False
        del self.evicted[ordinal]
        return True

    def is_reset(self, ordinal: int) -> bool:
        """Return whether the message, or the original of a copy, was sent before the last reset."""
        return ordinal & _ORDINAL_MASK < self.below
