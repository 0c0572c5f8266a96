"""The outcomes of a run: results and errors of the kernel, counters and errors of the bus."""

from dataclasses import dataclass

from network.types import Micros


class KernelError(Exception):
    """The kernel was used against its rules."""


class PostedInPastError(KernelError):
    """An event was posted for an instant that is over."""


class EventOrderError(KernelError):
    """Two events of one instant have the same key, so nothing can order them."""


class RunFailedError(Exception):
    """An action or a task raised; the cause is chained, and the message has its virtual time."""


class StuckTaskError(Exception):
    """Is thrown into a task that still waits, shielded, after its run was stopped."""


@dataclass(frozen=True, slots=True)
class KernelOutcome:
    """The end of a run: its reason, its time, and the number of turns and steps.

    `reason` is "stopped", "deadlock", "step-limit", "time-limit" or the argument of `Kernel.stop`; `detail` is a clause
    for people, with values.
    """

    reason: str
    detail: str
    now_us: Micros
    turns: int
    steps: int


@dataclass(frozen=True, slots=True)
class KernelStatistics:
    """Counters of one kernel at the time of the call."""

    now_us: Micros
    turns: int
    steps: int
    events_posted: int
    events_queued: int


class BusError(Exception):
    """The bus was used against its rules."""


class UnknownLinkError(BusError, LookupError):
    """The topology has no such link."""


class ConditionError(BusError):
    """A condition's name is in use, or no condition of this name is set."""


@dataclass(frozen=True, slots=True)
class BusStatistics:
    """Counts of messages sent, and of their fates; the rest are under way. Some had `waited` for their uplink."""

    sent: int
    delivered: int
    dropped_cut: int
    dropped_loss: int
    dropped_rule: int
    dropped_down: int
    dropped_oversize: int
    dropped_queue: int
    dropped_reset: int
    duplicated: int
    waited: int

    @property
    def in_flight(self) -> int:
        """Messages sent, and copies of them, neither delivered nor dropped yet; held messages are among them."""
        dropped = self.dropped_cut + self.dropped_loss + self.dropped_rule + self.dropped_down + self.dropped_oversize
        lost = self.dropped_queue + self.dropped_reset
        return self.sent + self.duplicated - self.delivered - dropped - lost
