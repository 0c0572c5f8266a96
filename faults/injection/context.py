"""The handle by which a fault of a plan acts on a running cluster, and the count of its effects.

A fault has an effect only if the run changes: it touched a message, stopped a running validator that later came back,
held back an event, slowed work, or a wrong clock was read. So the context counts the reports of bus and machines, never
the beginning of a fault.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from faults.byzantine.adversary import Adversary
from faults.injection.power import Power
from faults.injection.steps import Edge, window
from network.bus import Bus
from network.chance import Chance
from network.types import MILLISECOND_US

PART_MARK: Final = "@"
"""The separator between a fault's name and a part of the fault, in names of bus conditions; fault names lack it."""


class Touched(NamedTuple):
    """The touches of a fault so far, and the number of validators that it has stopped and not yet restarted."""

    done: int
    pending: int


@dataclass(frozen=True, slots=True)
class Machinery:
    """The parts of a cluster that faults act on.

    Attributes:
        nodes: The number of validators and observers on the bus.
        twins: The second machine of each validator that has one; further nodes of the bus.
        begin_us: The virtual time at which this process begins.
        now_us: Returns the virtual time.
        fire: Lets the supervisor reach an edge of the fault of this name, at a virtual time.
        trace: Notes an unplanned moment of the fault of this name.
        on_restart: Called before a validator gets power back.
        leader: Returns the leader of the greatest view that any validator has entered; -1 before the first view.
        followers: Functions by fault, called when the leader has changed.
    """

    bus: Bus
    power: Power
    chance: Chance
    adversaries: Mapping[int, Adversary]
    nodes: int
    twins: Mapping[int, int]
    begin_us: int
    now_us: Callable[[], int]
    fire: Callable[[str, int, Edge], None]
    trace: Callable[[str, str], None]
    on_restart: Callable[[int], None]
    leader: Callable[[], int]
    followers: dict[str, Callable[[], None]]


class FaultContext:
    """A fault of a plan in a run.

    Attributes:
        name: The fault's name.
        is_resumed: Whether an earlier process has recorded effects of it.
        begin_us: The beginning of this process, in the fault's own time.
        machinery: The parts of the cluster that it acts on.
        bus: The bus; conditions on it are named by `condition`.
        power: The validators' machines.
        chance: The run's chance; a fault with an anchor asks `Chance.at` in its own time.
        nodes: The number of validators and observers.
    """

    def __init__(self, name: str, machinery: Machinery, *, is_resumed: bool = False) -> None:
        self.name: Final = name
        self.is_resumed: Final = is_resumed
        self.begin_us = machinery.begin_us
        self.machinery: Final = machinery
        self.bus: Final = machinery.bus
        self.power: Final = machinery.power
        self.chance = machinery.chance
        self.nodes: Final = machinery.nodes
        self._count = 0
        self._hits: dict[int, int] = {}
        self._conditions: dict[str, None] = {}
        self._meters: list[_Meter] = []
        self._stopped: dict[int, None] = {}

    def start_from(self, origin_us: int) -> None:
        """Count the fault's times from an anchor that has come."""
        self.begin_us = max(self.machinery.begin_us - origin_us, 0)
        self.chance = self.machinery.chance.counted_from(origin_us)

    # -- counting ------------------------------------------------------------------------------

    def touch(self, node: int, count: int = 1) -> None:
        """Count effects on a validator."""
        self._count += count
        self._hit(node, count)

    def condition(self, part: str = "") -> str:
        """Return the name of a condition on the bus, whose touches count for this fault from now on."""
        condition = f"{self.name}{PART_MARK}{part}" if part else self.name
        self._conditions[condition] = None
        return condition

    def metered_window(
        self,
        span_ms: tuple[int, int],
        begin: Callable[[], object],
        end: Callable[[], object],
        *,
        meter: Callable[[int], int],
        nodes: Iterable[int],
    ) -> tuple[Edge, Edge]:
        """Return the edges of a window in which the fault counts the growth of the `meter` of each node."""
        measured = _Meter(meter, tuple(nodes))
        self._meters.append(measured)

        def start() -> None:
            begin()
            measured.open()

        def stop() -> None:
            end()
            measured.close()

        return window(*span_ms, start, stop)

    def touched(self) -> Touched:
        """Return the touches of the fault so far."""
        metered = sum(meter.at(node) for meter in self._meters for node in meter.nodes)
        messages = sum(self.bus.touched(condition) for condition in self._conditions)
        return Touched(self._count + metered + messages, len(self._stopped))

    def count_at(self, node: int) -> int:
        """Return the number of its touches of a validator so far; a message touches its sender and its receiver."""
        count = self._hits.get(node, 0)
        # Loops: most faults have neither, and every change of a phase asks all faults.
        for meter in self._meters:
            count += meter.at(node) if node in meter.nodes else 0
        for condition in self._conditions:
            count += self.bus.touched_at(condition, node)
        return count

    def _hit(self, node: int, count: int) -> None:
        self._hits[node] = self._hits.get(node, 0) + count

    # -- power ---------------------------------------------------------------------------------

    def outage(self, span_ms: tuple[int, int], nodes: tuple[int, ...]) -> Iterator[Edge]:
        """Yield the edges of a window in which validators have no power."""
        yield from window(*span_ms, lambda: self.switch_off(nodes), lambda: self.switch_on(nodes))

    def switch_off(self, nodes: Iterable[int]) -> None:
        """Cut the power of validators in one instant: all are down before any of them can notice an absence."""
        self.note_stopped([node for node in nodes if self.power.crash(node)])

    def note_stopped(self, nodes: Iterable[int]) -> None:
        """Note that the fault has stopped validators; it counts once they are back."""
        for node in nodes:
            self._stopped[node] = None
            self._hit(node, 1)

    def switch_on(self, nodes: Iterable[int]) -> None:
        """Restart the validators among these that this fault has stopped."""
        stopped = [node for node in nodes if node in self._stopped]
        for node in stopped:
            del self._stopped[node]
            self.machinery.on_restart(node)
        self._count += len([node for node in stopped if self.power.restart(node)])

    def wipe_stopped(self) -> None:
        """Put an empty disk into each validator that this fault has stopped."""
        for node in self._stopped:
            self.power.wipe(node)

    # -- leader and time -----------------------------------------------------------------------

    def follow_leader(self, action: Callable[[], None]) -> None:
        """Call `action` from now on whenever another validator leads."""
        self.machinery.followers[self.name] = action

    def unfollow_leader(self) -> None:
        """End `follow_leader`."""
        del self.machinery.followers[self.name]

    def fire_later(self, after_ms: int, name: str, action: Callable[[], None]) -> None:
        """Add a moment to the fault, `after_ms` from now, with this `name` in the trace."""
        at_us = self.machinery.now_us() + after_ms * MILLISECOND_US
        at_ms = at_us // MILLISECOND_US
        self.machinery.fire(self.name, at_us, Edge(at_ms, at_ms, name, action))


class _Meter:
    """The growth of a reading of each node between `open` and `close`, added up."""

    def __init__(self, read: Callable[[int], int], nodes: tuple[int, ...]) -> None:
        self.nodes = nodes
        self._read = read
        self._before: dict[int, int] = {}
        self._grown = dict.fromkeys(nodes, 0)

    def open(self) -> None:
        """Read the values at the beginning."""
        self._before = {node: self._read(node) for node in self.nodes}

    def close(self) -> None:
        """Add the growth since `open`."""
        self._grown = {node: self.at(node) for node in self.nodes}
        self._before = {}

    def at(self, node: int) -> int:
        """Return the growth at a node so far."""
        grown = self._grown[node]
        return grown + self._read(node) - self._before[node] if node in self._before else grown
