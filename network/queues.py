"""Narrow links and messages lost on the way: a rate, a bounded queue, a connection that is reset.

A `Line` belongs to one condition on one wire and only the wire's sender changes it, so its state is in the order of
sending. `Losses` marks messages in the kernel's queue that will not arrive. Taking an event out of that queue was
rejected: it would slow every run for the sake of a few faults.
"""

from dataclasses import dataclass, field
from typing import Final

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
