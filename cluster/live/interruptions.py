"""The times at which replicas were paused or cut off, as far as the log shows it: for the lanes of the page."""

from collections import Counter
from typing import Final, NamedTuple

from cluster.scenario.model import Scenario
from faults.events import FaultEdge
from network.events import Dropped, Event, Handlers

PAUSED: Final = "paused"
CUT_OFF: Final = "cut off"


class Apart(NamedTuple):
    """One replica's time apart: since when, until when, and in which way."""

    node: int
    since_us: int
    until_us: int
    word: str


class TimesApart:
    """The interruptions of replicas, collected while the log is read.

    A replica is cut off from the first lost message that shows it hears or reaches fewer validators than a quorum. The
    interruption ends when the end of a fault restores the quorum. Random loss cuts no replica off.

    Attributes:
        handlers: The functions for the events that it reads.
    """

    def __init__(self, scenario: Scenario) -> None:
        self._scenario: Final = scenario
        self._validators: Final = scenario.cluster.validators
        self._quorum: Final = self._validators - (self._validators - 1) // 3
        self._found: Final[list[Apart]] = []
        self._active: Final[dict[str, int]] = {}
        self._links: Final[dict[str, dict[tuple[int, int], None]]] = {}
        self._cuts: Final[Counter[tuple[int, int]]] = Counter()
        self._unreached: Final[Counter[int]] = Counter()
        self._unheard: Final[Counter[int]] = Counter()
        self._since: Final[dict[int, int]] = {}
        self.handlers: Final[Handlers] = {FaultEdge: self._edge, Dropped: self._drop}

    def times(self, end_us: int) -> tuple[Apart, ...]:
        """Return all interruptions; an open interruption ends with the run."""
        for fault in list(self._active):
            self._stop(fault, end_us)
        return tuple(sorted(self._found))

    def _edge(self, event: Event, edge: FaultEdge) -> None:
        if edge.edge == "start":
            self._active.setdefault(edge.fault, event.at_us)
        elif edge.edge == "stop" and edge.fault in self._active:
            self._stop(edge.fault, event.at_us)

    def _stop(self, name: str, at_us: int) -> None:
        since_us, fault = self._active.pop(name), self._scenario.faults.get(name)
        occupied = None if fault is None else fault.occupies()
        if fault is not None and occupied is not None and occupied.state == PAUSED:
            self._found.extend(Apart(node, since_us, at_us, PAUSED) for node in fault.targets())
        links = self._links.pop(name, {})
        for link in links:
            self._count(link, -1)
        for node in sorted(self._since):
            self._look(node, at_us)

    def _drop(self, event: Event, dropped: Dropped) -> None:
        if dropped.reason != "cut":
            return
        # The name of a condition begins with its fault's.
        fault = next((name for name in self._active if dropped.condition.startswith(name)), None)
        link = (event.node, dropped.destination)
        if fault is None or link in self._links.setdefault(fault, {}):
            return
        self._links[fault][link] = None
        self._count(link, 1)
        for node in link:
            self._look(node, event.at_us)

    def _count(self, link: tuple[int, int], by: int) -> None:
        """Add a cut to a link, or remove a cut; several faults may cut the same link."""
        was_cut = self._cuts[link] > 0
        self._cuts[link] += by
        if was_cut == (self._cuts[link] > 0):
            return
        source, destination = link
        self._unreached[source] += by * (destination < self._validators)
        self._unheard[destination] += by * (source < self._validators)

    def _look(self, node: int, at_us: int) -> None:
        most = max(self._unreached[node], self._unheard[node])
        if self._validators - most < self._quorum:
            self._since.setdefault(node, at_us)
        elif (since_us := self._since.pop(node, None)) is not None:
            self._found.append(Apart(node, since_us, at_us, CUT_OFF))
