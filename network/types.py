"""The types that every part of a run shares: nodes, times and kinds of events.

The members of `EventKind` have a fixed order. The kernel hands out the events of an instant by (destination, kind,
source, ordinal), so changing a value changes every run's digest.
"""

from enum import IntEnum
from typing import Final, NamedTuple, TypeAlias

NodeId: TypeAlias = int
"""A validator's index, 0..n-1, or `SUPERVISOR`."""

Micros: TypeAlias = int
"""A virtual time or duration in whole microseconds."""

MILLISECOND_US: Final[Micros] = 1_000
"""A millisecond in microseconds."""

Digest: TypeAlias = bytes
"""A SHA-256 digest, 32 bytes."""

SUPERVISOR: Final[NodeId] = -1
"""The run itself: faults, workload and checks. It sorts before every validator."""


class Label(NamedTuple):
    """The sender's description of a message, so that it need not be opened on its way.

    `view` and `height` are None where the message has none, or the sender does not know it.
    """

    kind: str
    view: int | None = None
    height: int | None = None


NO_LABEL: Final = Label("")


class EventKind(IntEnum):
    """The kinds of queued events; the value orders the events of one destination in an instant."""

    FAULT = 0
    WORKLOAD = 1
    SUBMISSION = 2
    TIMER = 3
    WORK = 4
    DELIVERY = 5
