"""Switches observers by their replica modes: off after some blocks, on again with the disk that the mode leaves.

An operator would do this, so it goes through the machine controller and as events of the supervisor. A plan's faults
may hit an observer meanwhile: the part that switched it off switches it on again, and the other part's edge has no
effect.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Final

from cluster.runtime.machines import MachineController
from cluster.scenario.sections.replicas import ColdReplayMode, Observer, Rounds
from cluster.scenario.shape import tag_of
from faults.events import ObserverSwitchedOff
from network.events import Event, read_event
from network.kernel import Kernel
from network.trace import EventChain
from network.types import SUPERVISOR, EventKind
from validators.events import BlockFinalized, Booted, Halted
from validators.storage import Disk, DiskError, FinalizedLog

_ORDINAL_SHIFT: Final = 32
"""Ordinals stand above the ordinals of the observer's crashes at boundaries, which are numbered by incarnation."""


@dataclass(slots=True)
class _Status:
    """The progress of an observer in its mode.

    Attributes:
        since: The height from which on it has continued.
        target: While it is off or on its way back, its earlier height; None otherwise.
        is_bare: Whether it has come back without a state since it was switched off.
        rounds: How often it was off, came back by its mode, and continued.
        edges: How often it has been switched.
    """

    since: int = 0
    target: int | None = None
    is_bare: bool = False
    rounds: int = 0
    edges: int = 0


class ObserverController:
    """Switches observers off and on.

    Args:
        observers: By number.
        kernel: Takes the edges.
        machines: Has the power.
        chain: The supervisor's.
        provision: Begins the journal of a replica on an empty disk.
    """

    def __init__(
        self,
        observers: Mapping[int, Observer],
        *,
        kernel: Kernel,
        machines: MachineController,
        chain: EventChain,
        provision: Callable[[int, Disk], None],
    ) -> None:
        self._kernel = kernel
        self._machines = machines
        self._chain = chain
        self._provision = provision
        self._modes = {node: mode for node, mode in observers.items() if isinstance(mode, Rounds)}
        self._statuses = {node: _Status() for node in self._modes}

    @property
    def is_under_way(self) -> bool:
        """Return whether an observer is off by its mode, or not yet back at its earlier height."""
        return any(status.target is not None for status in self._statuses.values())

    def rounds(self, node: int) -> int:
        """Return how often an observer was off, came back by its mode, and continued."""
        return self._statuses[node].rounds if node in self._statuses else 0

    def observe(self, event: Event, *, is_wanted: bool) -> None:
        """See an event of the run; ``is_wanted`` says whether the run still needs another round."""
        status = self._statuses.get(event.node)
        if status is None:
            return
        if (booted := read_event(event, Booted)) is not None:
            status.is_bare = status.is_bare or not booted.finalized_height
        elif read_event(event, Halted) is not None:
            status.target = None
        elif (block := read_event(event, BlockFinalized)) is not None:
            self._go_on(event.node, block.height, is_wanted=is_wanted)

    def _go_on(self, node: int, height: int, *, is_wanted: bool) -> None:
        mode, status = self._modes[node], self._statuses[node]
        if status.target is not None:
            if height > status.target:
                status.rounds += status.is_bare or not mode.loses_state
                status.since, status.target = height - 1, None
            return
        is_due = height >= status.since + mode.every_blocks
        if is_due and is_wanted and not 0 < mode.times <= status.rounds:
            status.target, status.is_bare = height, False
            self._post(node, self._kernel.now_us, partial(self._switch_off, node))

    def _switch_off(self, node: int) -> None:
        mode, status = self._modes[node], self._statuses[node]
        if not self._machines.crash(node):
            # A fault of the plan came first; the observer is switched another time.
            status.target = None
            return
        self._chain.add(self._kernel.now_us, ObserverSwitchedOff(node, tag_of(type(mode))))
        # If a disk fault leaves this undone, the observer finds it when it comes back.
        with suppress(DiskError):
            self._take_state(node, mode)
        self._post(node, self._kernel.now_us + mode.down_ms * 1_000, partial(self._switch_on, node))

    def _switch_on(self, node: int) -> None:
        self._machines.restart(node)

    def _take_state(self, node: int, mode: Rounds) -> None:
        disk = self._machines.slots[node].disk
        if isinstance(mode, ColdReplayMode) and mode.blocks == "own":
            FinalizedLog(disk).erase()
        elif mode.loses_state:
            self._machines.wipe(node)
            self._provision(node, disk)

    def _post(self, node: int, at_us: int, action: Callable[[], None]) -> None:
        status = self._statuses[node]
        status.edges += 1
        ordinal = status.edges << _ORDINAL_SHIFT
        self._kernel.post(at_us, SUPERVISOR, EventKind.FAULT, node, ordinal, action)
