"""Situations of replicas, and the pairs of consecutive situations, by which a corpus of plans measures novelty.

A situation is the phase that a replica leaves, its role, and its surroundings: the waiting timers and the dead timers
not yet removed, in the newest final block; the blocks executed above the newest final block; the families of the
active faults; the apply mode. Numbers are put into classes, so that there are few situations. A run with a pair that
no earlier run had has tried something new. Situations decide nothing and are in no digest.
"""

from bisect import bisect_right
from collections.abc import Sequence
from typing import Final, NamedTuple

from faults.coverage.engine_phases import PhaseStatus
from faults.events import FaultEdge
from network.events import Event, Handlers
from network.types import NodeId
from validators.events import BlockExecuted, BlockFinalized, Booted, SnapshotJoined

BACKLOGS: Final = (1, 16)
"""The least number of waiting timers in each class; below the first number is the class without timers."""

DEBTS: Final = (1,)
"""The least number of dead timers in each class."""

DEPTHS: Final = (1, 2)
"""The least number of executed blocks above the newest final block in each class."""

CALM: Final = "calm"
"""The families of the active faults where no fault is active."""


class FaultTime(NamedTuple):
    """A fault, its family, and the time in which it is active; with an anchor, the time counts from its first edge."""

    name: str
    family: str
    start_us: int
    stop_us: int
    has_anchor: bool = False


class Situation(NamedTuple):
    """The surroundings of a replica in one phase; numbers are classes."""

    phase: str
    role: str
    backlog: int
    debt: int
    depth: int
    faults: str
    mode: str

    @property
    def label(self) -> str:
        """The situation as one word."""
        numbers = f"{self.backlog}.{self.debt}.{self.depth}"
        return f"{self.phase}/{self.role}/{numbers}/{self.faults}/{self.mode}"


class Situations:
    """Collects the situations of one run, in their order for each replica.

    Args:
        faults: The faults of the plan that are enabled.
        modes: The apply mode of each replica.
    """

    def __init__(self, faults: Sequence[FaultTime], modes: Sequence[str]) -> None:
        self._modes = modes
        self._anchored = {fault.name: fault for fault in faults if fault.has_anchor}
        self._faults = [fault for fault in faults if not fault.has_anchor]
        self._note_times()
        self._executed = [0] * len(modes)
        self._final = [0] * len(modes)
        self._waiting = (0, 0)
        self._last: list[Situation | None] = [None] * len(modes)
        self._pairs: dict[tuple[Situation, Situation], None] = {}
        self.handlers: Final[Handlers] = {
            BlockExecuted: self._execute,
            BlockFinalized: self._finalize,
            Booted: self._boot,
            SnapshotJoined: self._join,
            FaultEdge: self._begin,
        }

    def finalize(self, waiting_live: int, waiting_dead: int) -> None:
        """Note the timers that wait after a final block."""
        self._waiting = bisect_right(BACKLOGS, waiting_live), bisect_right(DEBTS, waiting_dead)

    def leave(self, at_us: int, node: NodeId, status: PhaseStatus) -> None:
        """Note that a replica is about to leave a phase."""
        depth = bisect_right(DEPTHS, self._executed[node] - self._final[node])
        at_work = self._at_work[bisect_right(self._edges, at_us)]
        situation = Situation(status.phase, status.role, *self._waiting, depth, at_work, self._modes[node])
        before = self._last[node]
        if before is not None and before != situation:
            self._pairs[before, situation] = None
        self._last[node] = situation

    def pairs(self) -> tuple[str, ...]:
        """Return the pairs of situations that followed each other at a replica, in ascending order."""
        return tuple(sorted(f"{before.label} {after.label}" for before, after in self._pairs))

    def _begin(self, event: Event, edge: FaultEdge) -> None:
        fault = self._anchored.pop(edge.fault, None)
        if fault is not None:
            start_us, stop_us = event.at_us + fault.start_us, event.at_us + fault.stop_us
            self._faults.append(fault._replace(start_us=start_us, stop_us=stop_us))
            self._note_times()

    def _note_times(self) -> None:
        times = dict.fromkeys(at_us for fault in self._faults for at_us in (fault.start_us, fault.stop_us))
        self._edges = sorted(times)
        self._at_work = [CALM, *(_families(self._faults, at_us) for at_us in self._edges)]

    def _execute(self, event: Event, executed: BlockExecuted) -> None:
        self._executed[event.node] = executed.height

    def _finalize(self, event: Event, finalized: BlockFinalized) -> None:
        self._final[event.node] = finalized.height

    def _boot(self, event: Event, booted: Booted) -> None:
        self._executed[event.node] = self._final[event.node] = booted.finalized_height

    def _join(self, event: Event, joined: SnapshotJoined) -> None:
        self._executed[event.node] = self._final[event.node] = joined.height


def _families(faults: Sequence[FaultTime], at_us: int) -> str:
    families = sorted(dict.fromkeys(fault.family for fault in faults if fault.start_us <= at_us < fault.stop_us))
    return "+".join(families) or CALM
