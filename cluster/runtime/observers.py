"""Sends observers round their roads: off after so many blocks, and on again from what the road leaves of the disk.

This is what an operator does, so it is done through the power grid and as events of the supervisor. A plan's faults may
hit an observer meanwhile: whoever switched it off switches it on again, and the other one's edge is without effect.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Final, final

from cluster.runtime.machines import PowerGrid
from cluster.scenario.replicas_section import ColdReplayMode, Observer, Rounds, kind_of_observer, loses_its_state
from faults.events import ObserverSwitchedOff
from network.events import Event, read_event
from network.kernel import Kernel
from network.trace import EventChain
from network.types import SUPERVISOR, EventKind
from validators.events import BlockFinalized, Booted, Halted
from validators.storage import Disk, DiskError, FinalizedLog

_ORDINAL_SHIFT: Final = 32
"""Ordinals stand above those of the same observer's crashes at boundaries, which are numbered by incarnation."""


@dataclass(slots=True)
class _Standing:
    """Where one observer is on its road.

    Attributes:
        since: The height from which on it has gone on.
        target: While it is off or on its way back, the height that it had; None otherwise.
        is_bare: Whether it has come back without a state since it was switched off.
        rounds: How often it was off, came back by its road, and went on.
        edges: How often it has been switched.
    """

    since: int = 0
    target: int | None = None
    is_bare: bool = False
    rounds: int = 0
    edges: int = 0


@final
class RoadKeeper:
    """Switches observers off and on.

    Args:
        observers: By number.
        kernel: Takes the edges.
        grid: Has the power.
        chain: The supervisor's.
        provision: Begins the journal of a replica on an empty disk.
    """

    def __init__(
        self,
        observers: Mapping[int, Observer],
        *,
        kernel: Kernel,
        grid: PowerGrid,
        chain: EventChain,
        provision: Callable[[int, Disk], None],
    ) -> None:
        self._kernel = kernel
        self._grid = grid
        self._chain = chain
        self._provision = provision
        self._roads = {node: road for node, road in observers.items() if isinstance(road, Rounds)}
        self._standings = {node: _Standing() for node in self._roads}

    @property
    def is_under_way(self) -> bool:
        """Whether an observer is off, or not yet back where it was, by its road."""
        return any(standing.target is not None for standing in self._standings.values())

    def rounds(self, node: int) -> int:
        """Return how often an observer was off, came back by its road, and went on."""
        return self._standings[node].rounds if node in self._standings else 0

    def observe(self, event: Event, *, is_wanted: bool) -> None:
        """See an event of the run; ``is_wanted`` says whether the run still has a use for another round."""
        standing = self._standings.get(event.node)
        if standing is None:
            return
        if (booted := read_event(event, Booted)) is not None:
            standing.is_bare = standing.is_bare or not booted.finalized_height
        elif read_event(event, Halted) is not None:
            standing.target = None
        elif (block := read_event(event, BlockFinalized)) is not None:
            self._go_on(event.node, block.height, is_wanted=is_wanted)

    def _go_on(self, node: int, height: int, *, is_wanted: bool) -> None:
        road, standing = self._roads[node], self._standings[node]
        if standing.target is not None:
            if height > standing.target:
                standing.rounds += standing.is_bare or not loses_its_state(road)
                standing.since, standing.target = height - 1, None
            return
        is_due = height >= standing.since + road.every_blocks
        if is_due and is_wanted and not 0 < road.times <= standing.rounds:
            standing.target, standing.is_bare = height, False
            self._post(node, self._kernel.now_us, partial(self._switch_off, node))

    def _switch_off(self, node: int) -> None:
        road, standing = self._roads[node], self._standings[node]
        if not self._grid.crash(node):
            # A fault of the plan came first: another time.
            standing.target = None
            return
        self._chain.add(self._kernel.now_us, ObserverSwitchedOff(node, kind_of_observer(road)))
        # Whatever a fault of the disk leaves undone here the observer finds when it comes back.
        with suppress(DiskError):
            self._take_state(node, road)
        self._post(node, self._kernel.now_us + road.down_ms * 1_000, partial(self._switch_on, node))

    def _switch_on(self, node: int) -> None:
        self._grid.restart(node)

    def _take_state(self, node: int, road: Rounds) -> None:
        disk = self._grid.places[node].disk
        if isinstance(road, ColdReplayMode) and road.blocks == "own":
            FinalizedLog(disk).erase()
        elif loses_its_state(road):
            disk.wipe()
            self._provision(node, disk)

    def _post(self, node: int, at_us: int, action: Callable[[], None]) -> None:
        standing = self._standings[node]
        standing.edges += 1
        ordinal = standing.edges << _ORDINAL_SHIFT
        self._kernel.post(at_us, SUPERVISOR, EventKind.FAULT, node, ordinal, action)
