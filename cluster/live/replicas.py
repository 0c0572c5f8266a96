"""The state of each replica as the live view shows it, kept up by the events of the run."""

from dataclasses import dataclass, field
from typing import Final

from cluster.scenario.model import Scenario
from cluster.scenario.sections.replicas import ValidatorSection
from cluster.scenario.shape import tag_of
from faults.events import ApplicationLost, Crashed, FaultEdge, Restarted
from network.events import Dropped, Event, Handlers
from validators.consensus.registry import ENGINES
from validators.events import BlockExecuted, BlockFinalized, Booted, Entered, Halted, SnapshotJoined, StoppedVoting

START: Final = "start"
STOP: Final = "stop"
PAUSED: Final = "paused"
APPLICATION_LOST: Final = "app lost"


@dataclass(slots=True)
class ReplicaState:
    """A replica; `group` is the number of other roots that replicas got from the same block before its root."""

    node: int
    mode: str
    view: int = 0
    height: int = 0
    final_height: int = 0
    root: bytes = b""
    group: int = 0
    waiting: int = 0
    dead: int = 0
    is_down: bool = False
    has_lost: bool = False
    """Whether it is down because its application is lost, until it starts again."""
    is_following: bool = False
    halted: str = ""


@dataclass(slots=True)
class Replicas:
    """All replicas of a run, the active faults, and the links that they cut.

    Attributes:
        scenario: The run's scenario.
        states: The state of each replica, by number.
        active: The active faults by name, with the times of their starts.
        handlers: The functions for the events that change the state.
    """

    scenario: Scenario
    states: list[ReplicaState] = field(init=False)
    active: dict[str, int] = field(init=False, default_factory=dict)
    handlers: Handlers = field(init=False)
    _paused: dict[str, tuple[int, ...]] = field(init=False, default_factory=dict)
    _cut: dict[str, dict[tuple[int, int], None]] = field(init=False, default_factory=dict)
    _roots: dict[tuple[int, bytes], list[bytes]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.states = [ReplicaState(node, mode_of(self.scenario, node)) for node in range(self.scenario.replicas)]
        self.handlers = {
            Booted: self._boot,
            Entered: self._enter,
            BlockExecuted: self._execute,
            BlockFinalized: self._finalize,
            SnapshotJoined: self._join,
            StoppedVoting: self._follow,
            Halted: self._halt,
            ApplicationLost: self._lose,
            Crashed: self._crash,
            Restarted: self._restart,
            FaultEdge: self._edge,
            Dropped: self._drop,
        }

    @property
    def view_word(self) -> str:
        """The engine's word for a view."""
        return ENGINES[self.scenario.consensus.engine].view_word

    @property
    def groups(self) -> int:
        """The number of different roots that replicas hold of one block; 1 where all agree."""
        return 1 + max((state.group for state in self.states), default=0)

    def applied(self, node: int, waiting: int, dead: int) -> None:
        """See how many live timers a replica's newest final block held back, and how many dead timers it left."""
        self.states[node].waiting, self.states[node].dead = waiting, dead

    def state_of(self, state: ReplicaState) -> str:
        """Return what a replica is doing, in a word or two."""
        if state.halted:
            return "halted"
        if state.is_down:
            return APPLICATION_LOST if state.has_lost else "down"
        if any(state.node in nodes for nodes in self._paused.values()):
            return PAUSED
        if self._is_cut_off(state.node):
            return "cut off"
        return "no vote" if state.is_following else "up"

    def group_of(self, place: int, block: bytes, root: bytes) -> int:
        """Return the number of the group that has this root of this block, in the order in which groups came up."""
        known = self._roots.setdefault((place, block), [])
        if root not in known:
            known.append(root)
        return known.index(root)

    def _is_cut_off(self, node: int) -> bool:
        """Whether it hears, or reaches, fewer validators than a quorum needs, as far as lost messages have shown."""
        validators = self.scenario.cluster.validators
        links = {link for cut in self._cut.values() for link in cut}
        reached = sum((node, other) not in links and other != node for other in range(validators))
        heard = sum((other, node) not in links and other != node for other in range(validators))
        quorum = validators - (validators - 1) // 3
        return min(reached, heard) + (node < validators) < quorum

    def _boot(self, event: Event, booted: Booted) -> None:
        state = self.states[event.node]
        state.is_down, state.halted, state.view = False, "", booted.view
        state.final_height = booted.finalized_height
        state.height = max(state.height, booted.finalized_height)

    def _enter(self, event: Event, entered: Entered) -> None:
        self.states[event.node].view = entered.view

    def _execute(self, event: Event, executed: BlockExecuted) -> None:
        state = self.states[event.node]
        state.height = executed.height
        self._hold(state, executed.height, executed.digest, executed.root)

    def _finalize(self, event: Event, final: BlockFinalized) -> None:
        state = self.states[event.node]
        state.final_height, state.height = final.height, max(state.height, final.height)
        self._hold(state, final.height, final.digest, final.root)

    def _join(self, event: Event, joined: SnapshotJoined) -> None:
        state = self.states[event.node]
        state.final_height = state.height = joined.height
        self._hold(state, joined.height, joined.digest, joined.root)

    def _hold(self, state: ReplicaState, height: int, digest: bytes, root: bytes) -> None:
        state.root, state.group = root, self.group_of(height, digest, root)

    def _follow(self, event: Event, _stopped: StoppedVoting) -> None:
        self.states[event.node].is_following = True

    def _halt(self, event: Event, halted: Halted) -> None:
        self.states[event.node].halted = halted.reason

    def _lose(self, _event: Event, lost: ApplicationLost) -> None:
        self.states[lost.machine].has_lost = True

    def _crash(self, _event: Event, crashed: Crashed) -> None:
        self.states[crashed.machine].is_down = True

    def _restart(self, _event: Event, restarted: Restarted) -> None:
        state = self.states[restarted.machine]
        state.is_down = state.has_lost = False

    def _edge(self, event: Event, edge: FaultEdge) -> None:
        if edge.edge == STOP:
            self.active.pop(edge.fault, None)
            self._paused.pop(edge.fault, None)
            self._cut.pop(edge.fault, None)
            return
        if edge.edge != START:
            return
        self.active[edge.fault] = event.at_us
        fault = self.scenario.faults.get(edge.fault)
        occupied = None if fault is None else fault.occupies()
        if fault is not None and occupied is not None and occupied.state == PAUSED:
            self._paused[edge.fault] = fault.targets()

    def _drop(self, event: Event, dropped: Dropped) -> None:
        # The name of a condition begins with its fault's; of a fault that is over nothing is cut.
        if dropped.reason == "cut" and (fault := self._fault_behind(dropped.condition)) is not None:
            self._cut.setdefault(fault, {})[event.node, dropped.destination] = None

    def _fault_behind(self, condition: str) -> str | None:
        if condition in self.active:
            return condition
        return next((name for name in self.active if condition.startswith(name)), None)


def mode_of(scenario: Scenario, node: int) -> str:
    """Return how a replica comes to its state, and whether it runs a known bug or is Byzantine."""
    observer = scenario.observers_by_number.get(node)
    if observer is not None:
        return tag_of(type(observer))
    if node in scenario.twins:
        return "twin"
    if any(fault.is_byzantine and fault.enabled and node in fault.targets() for fault in scenario.faults.values()):
        return "byzantine"
    mode: str = scenario.validators.get(str(node), ValidatorSection()).apply
    return f"{mode}, bug" if any(node in held for held in scenario.mutants.values()) else mode


def short_root(root: bytes) -> str:
    """Return the beginning of a root that a person compares."""
    return root.hex()[:6]
