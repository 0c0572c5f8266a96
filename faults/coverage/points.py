"""Coverage points of the faults of a run: the kind of a fault, and the phase and role of a validator that it hit.

Each fault counts its hits for each validator (``Injector.count_at``). When a validator leaves a phase, `Coverage` reads
the counts and adds their growth to that phase. This is exact to a turn of the kernel, independent of the order of
trio's tasks, and free while no fault hits. A fault without effect reaches no point. The attribute `cells` of a kind
names the points that a campaign has to reach.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from faults.coverage.engine_phases import EnginePhases, Phase, PhaseStatus, Role
from faults.coverage.phases import Phases
from faults.events import FaultEdge
from network.events import Event, Handlers


class FaultPoint(NamedTuple):
    """The hits of a kind of fault on validators of this role in this phase.

    ``hits`` is in the fault's own count: messages, crashes, pieces of work.
    """

    kind: str
    phase: str
    role: str
    hits: int


class Coverage:
    """The coverage points of a run.

    Args:
        kinds: The kind of each fault of the plan, by its name.
        validators: The number of validators.
        count_at: The number of hits of a fault that has begun on a validator so far.
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

    def points(self, effective: Iterable[str]) -> tuple[FaultPoint, ...]:
        """Return the points of the faults with these names, in ascending order; called at the end of the run."""
        for node in self._nodes:
            self._settle(node)
        names = tuple(effective)
        sums: dict[tuple[str, Phase, Role], int] = {}
        for (name, phase, role), hits in self._hits.items():
            if name in names:
                key = self._kinds[name], phase, role
                sums[key] = sums.get(key, 0) + hits
        return tuple(FaultPoint(*key, hits) for key, hits in sorted(sums.items()))

    def _leave(self, node: int) -> None:
        self.on_leave(node, self._phases.of(node))
        self._settle(node)

    def _settle(self, node: int) -> None:
        """Add the hits on a validator since the last call to its present phase."""
        for name, counted in self._counted.items():
            count = self._count_at(name, node)
            if count != counted[node]:
                status = self._phases.of(node)
                key = name, status.phase, status.role
                self._hits[key] = self._hits.get(key, 0) + count - counted[node]
                counted[node] = count
