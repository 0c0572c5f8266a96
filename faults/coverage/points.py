"""Cells of a run: the kind of a fault, and the phase and role of the validators that it hit.

A cell is (kind, phase, role). Each fault counts for itself whom it touched (``Injector.count_at``); here those counts
are read off whenever a validator leaves a phase, and what was added since goes to the phase that it leaves. That is
exact to a turn of the kernel, the same under every order of trio's tasks, and costs nothing while nothing is touched.
A fault that had no effect in the end fills no cell. Cells that a campaign has to reach are a kind's `cells`.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from faults.coverage.engine_phases import EnginePhases, Phase, PhaseStatus, Role
from faults.coverage.phases import Phases
from faults.events import FaultEdge
from network.events import Event, Handlers


class Cell(NamedTuple):
    """The hits of a kind of fault on validators of this role in this phase.

    ``hits`` is in the fault's own count: messages, crashes, pieces of work.
    """

    kind: str
    phase: str
    role: str
    hits: int


class Coverage:
    """Collects the cells of one run.

    Args:
        kinds: The kind of each fault of the plan, by its name.
        validators: How many validators there are.
        count_at: How often a fault, which has begun, has touched a validator so far.
        engine: The phases of the consensus engine.

    Attributes:
        on_leave: Called with a validator and its status before that changes.
    """

    def __init__(
        self,
        kinds: Mapping[str, str],
        validators: int,
        count_at: Callable[[str, int], int],
        engine: EnginePhases,
    ) -> None:
        self.on_leave: Callable[[int, PhaseStatus], None] = lambda _node, _status: None
        self._kinds = kinds
        self._count_at = count_at
        self._phases = Phases(validators, self._leave, engine)
        self.handlers: Final[Handlers] = {FaultEdge: self._begin, **self._phases.handlers}
        self._counted: dict[str, list[int]] = {}
        self._nodes = range(validators)
        self._hits: dict[tuple[str, Phase, Role], int] = {}

    def _begin(self, _event: Event, edge: FaultEdge) -> None:
        if edge.fault not in self._counted:
            self._counted[edge.fault] = [0 for _ in self._nodes]

    def restart(self, node: int) -> None:
        """Note that a validator is about to get power."""
        self._phases.restart(node)

    def cells(self, effective: Iterable[str]) -> tuple[Cell, ...]:
        """Return what the faults of these names came to, in ascending order; asked when the run is over."""
        for node in self._nodes:
            self._settle(node)
        names = tuple(effective)
        sums: dict[tuple[str, Phase, Role], int] = {}
        for (name, phase, role), hits in self._hits.items():
            if name in names:
                key = self._kinds[name], phase, role
                sums[key] = sums.get(key, 0) + hits
        return tuple(Cell(*key, hits) for key, hits in sorted(sums.items()))

    def _leave(self, node: int) -> None:
        self.on_leave(node, self._phases.of(node))
        self._settle(node)

    def _settle(self, node: int) -> None:
        """Put down what touched a validator since it was looked at last to the phase that it is in."""
        for name, counted in self._counted.items():
            count = self._count_at(name, node)
            if count != counted[node]:
                status = self._phases.of(node)
                key = name, status.phase, status.role
                self._hits[key] = self._hits.get(key, 0) + count - counted[node]
                counted[node] = count
