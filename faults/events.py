"""The supervisor's events: faults and their end, machines, clients; and the tampering of adversaries.

The cluster writes the events of machines and clients. They are in this lower room because faults and checks read them.
"""

from typing import ClassVar

from network.events import TraceEvent
from network.types import Micros, NodeId


class FaultEdge(TraceEvent, frozen=True):
    """A fault of the plan came to one of its edges: its name, and the edge's."""

    kind: ClassVar[str] = "fault"
    fault: str
    edge: str


class Healed(TraceEvent, frozen=True):
    """No fault of the plan is at work any more."""

    kind: ClassVar[str] = "healed"


class Tampered(TraceEvent, frozen=True):
    """An adversary sent something else than its validator would have: by which behaviour, what, and to whom."""

    kind: ClassVar[str] = "tampering"
    behaviour: str
    label: str
    to: tuple[NodeId, ...]


class Crashed(TraceEvent, frozen=True):
    """A machine lost its power, and its disk this many bytes that were not synced."""

    kind: ClassVar[str] = "crash"
    machine: NodeId
    lost_bytes: int


class ApplicationLost(TraceEvent, frozen=True):
    """The application of a machine died, hung or broke the protocol at a request; the machine loses its power with it.

    The height is that of the block that the call was about, -1 where it was about none.
    """

    kind: ClassVar[str] = "application-lost"
    machine: NodeId
    request: int
    call: str
    reason: str
    height: int = -1


class ApplicationReplaced(TraceEvent, frozen=True):
    """A machine runs this build of its application from its next start on."""

    kind: ClassVar[str] = "application-replaced"
    machine: NodeId
    build: str


class Restarted(TraceEvent, frozen=True):
    """A machine got its power back."""

    kind: ClassVar[str] = "restart"
    machine: NodeId


class DiskFound(TraceEvent, frozen=True):
    """A machine was switched on, for its validator's life of this number, and its disk holds bytes of this checksum."""

    kind: ClassVar[str] = "disk"
    incarnation: int
    checksum: int


class DiskSynced(TraceEvent, frozen=True):
    """The bytes of a machine's disk that a loss of power spares have this checksum from now on."""

    kind: ClassVar[str] = "sync"
    checksum: int


class ClockSet(TraceEvent, frozen=True):
    """The clocks of a machine were set: how far the wall clock is ahead (None: as it is), and their rate.

    A wall clock that strobes shows `strobe_us` more for part of the time.
    """

    kind: ClassVar[str] = "clock"
    machine: NodeId
    offset_us: Micros | None
    ppm: int
    strobe_us: Micros


class ObserverSwitchedOff(TraceEvent, frozen=True):
    """An observer was switched off by its replica mode."""

    kind: ClassVar[str] = "replica-mode"
    machine: NodeId
    mode: str


class TransactionSubmitted(TraceEvent, frozen=True):
    """A client handed a transaction to a validator; `outcome` is `submitted`, or `refused` where it was down."""

    kind: ClassVar[str] = "workload"
    outcome: str
    validator: NodeId
    digest: bytes
