"""How a run ends, well or badly: the kernel's results and errors."""

from __future__ import annotations

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
class Outcome:
    """How a run ended.

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
