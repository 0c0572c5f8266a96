"""The ends of a run, good and bad: results and errors of the kernel, counters and errors of the bus."""

from dataclasses import dataclass

from network.types import Micros


class KernelError(Exception):
    """The kernel was used against its rules."""


class PostedInPastError(KernelError):
    """An event was posted for an instant that is over."""


class EventOrderError(KernelError):
    """Two events of one instant have the same key, so nothing can order them."""


class RunFailedError(Exception):
    """An action or a task raised; the cause is chained, the message says where in virtual time it happened."""


class StuckTaskError(Exception):
    """Is thrown into a task that goes on waiting, shielded, after its run was stopped."""


@dataclass(frozen=True, slots=True)
class KernelOutcome:
    """The end of a run: its reason, when, and after how many turns and steps.

    `reason` is "stopped", "deadlock", "step-limit", "time-limit" or what `Kernel.stop` was given; `detail` is a clause
    for people, with values.
    """

    reason: str
    detail: str
    now_us: Micros
    turns: int
    steps: int


@dataclass(frozen=True, slots=True)
class KernelStatistics:
    """Counters of one kernel, as of the moment they were asked for."""

    now_us: Micros
    turns: int
    steps: int
    events_posted: int
    events_queued: int


class BusError(Exception):
    """The bus was used against its rules."""


class UnknownLinkError(BusError, LookupError):
    """There is no such link in the topology."""


class ConditionError(BusError):
    """A condition's name is in use, or stands for none that is set."""


@dataclass(frozen=True, slots=True)
class BusStatistics:
    """Counts of messages sent, and of their fates; the rest is on its way."""

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

    @property
    def in_flight(self) -> int:
        """Messages sent, and copies of them, neither delivered nor dropped yet; held ones are among them."""
        dropped = self.dropped_cut + self.dropped_loss + self.dropped_rule + self.dropped_down + self.dropped_oversize
        lost = self.dropped_queue + self.dropped_reset
        return self.sent + self.duplicated - self.delivered - dropped - lost
