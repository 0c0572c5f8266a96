"""Puts a fault plan to work on a running cluster, and keeps count of what really took effect.

Invariant: every edge of a fault is one event of the supervisor in the kernel's queue, so it comes
before anything that a validator does in the same instant, and alone. A fault has taken effect only
when something that would have happened did not: a message it touched, a running validator that it
stopped and that later came back, an event it held back, work that took longer, a clock that was read and was wrong.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from faults.clock_kinds import ClockFault
from faults.clocks import ClockFaults, true_again_ms, turns_of
from faults.coverage import Cell, Coverage
from faults.disk_kinds import DiskFault
from faults.disks import DiskFaults
from faults.kinds import Fault, cut_windows_ms, kind_of, named_validators, span_ms
from faults.machine_kinds import Blackout, Crash, CrashAtBoundary, MachineFault, Pause, Slow, Wipe
from faults.network_kinds import Cut, Flapping, IsolateLeader, Links, NetworkFault, Partition, Rule
from faults.plan import crossing_links, links_of, rule_links
from faults.power import Power, Watch
from network.bus import Bus
from network.conditions import MessageRule
from network.kernel import Kernel
from network.latency import Latency
from network.trace import Event, EventChain
from network.types import SUPERVISOR, EventKind
from validators.storage import Boundary

MILLISECOND_US = 1_000

_NOBODY = -1


@dataclass(frozen=True, slots=True)
class FaultEffect:
    """What one fault of the plan came to.

    ``count`` is messages touched, validators stopped and restarted, events held back, work that took longer, or times
    and timers that were not true.
    """

    name: str
    kind: str
    is_enabled: bool
    count: int

    @property
    def took_effect(self) -> bool:
        """Whether the run saw this fault at all."""
        return self.is_enabled and self.count > 0


@dataclass(frozen=True, slots=True)
class _Edge:
    """One moment of a fault: when, what the trace calls it, what is done."""

    at_ms: int
    name: str
    act: Callable[[], None]


class Injector:
    """Schedules a plan's edges on the kernel and reports what each fault came to.

    ``validators`` is how many the bus links; the last ``observers`` of them have no vote.
    """

    def __init__(
        self,
        plan: Mapping[str, Fault],
        *,
        kernel: Kernel,
        bus: Bus,
        power: Power,
        chain: EventChain,
        validators: int,
        observers: int = 0,
    ) -> None:
        self._plan = plan
        self._kernel = kernel
        self._bus = bus
        self._power = power
        self._chain = chain
        self._validators = validators
        self._voters = validators - observers
        self._disks = DiskFaults(power)
        self._clocks = ClockFaults(power)
        self._ordinal = 0
        self._stopped: dict[str, list[int]] = {}
        self._hits: dict[str, dict[int, int]] = {}
        self._counts: dict[str, int] = {}
        self._coverage = Coverage({name: kind_of(fault) for name, fault in plan.items()}, validators, self.count_at)
        self._begun: list[str] = []
        self._view = 0
        self._leader = _NOBODY
        self._isolated_by: dict[str, int] = {}
        self._last_edge_us = 0

    @property
    def last_edge_us(self) -> int:
        """Virtual time from which no enabled fault is at work any more, nor what clocks that were ahead left behind."""
        return self._last_edge_us

    def schedule(self) -> None:
        """Post the edges of every enabled fault, and the moment when the cluster is whole again."""
        for name, fault in self._plan.items():
            if fault.enabled:
                for edge in self._edges(name, fault):
                    self._post(edge.at_ms * MILLISECOND_US, partial(self._fire, name, edge))
                self._last_edge_us = max(self._last_edge_us, span_ms(fault)[1] * MILLISECOND_US)
        clocks = [fault for fault in self._plan.values() if isinstance(fault, ClockFault)]
        self._last_edge_us = max(self._last_edge_us, true_again_ms(clocks, self._voters) * MILLISECOND_US)
        self._post(max(self._last_edge_us, self._kernel.now_us), lambda: self._chain.add(self._kernel.now_us, "healed"))

    def observe(self, event: Event) -> None:
        """See an event of the run: who leads the greatest view decides whom ``isolate-leader`` cuts off."""
        self._coverage.observe(event)
        if event.kind != "enter":
            return
        view, leader = event.values
        assert isinstance(view, int), f"a view is a number; got {view!r}"
        assert isinstance(leader, int), f"a leader is a validator's number; got {leader!r}"
        if view > self._view:
            self._view, self._leader = view, leader
            for name in self._isolated_by:
                self._post(self._kernel.now_us, partial(self._follow_leader, name))

    def effects(self) -> Iterator[FaultEffect]:
        """Yield what each fault of the plan came to, in the plan's order."""
        for name, fault in self._plan.items():
            yield FaultEffect(name, kind_of(fault), fault.enabled, self._count(name, fault))

    def cells(self) -> tuple[Cell, ...]:
        """Return whom the faults that took effect hit, and in which phase; asked when the run is over."""
        return self._coverage.cells(effect.name for effect in self.effects() if effect.took_effect)

    def count_at(self, name: str, node: int) -> int:
        """Return how often a fault that has begun has touched one validator so far.

        A kind without a branch of its own has touched each validator that it names, or everybody, as often as it says.
        """
        fault = self._plan[name]
        named = named_validators(fault)
        if isinstance(fault, NetworkFault):
            return self._bus.touched_at(name, node) if name in self._begun else 0
        if isinstance(fault, Crash | Blackout | Wipe | CrashAtBoundary):
            return self._hits.get(name, {}).get(node, 0)
        if named and node not in named:
            return 0
        if isinstance(fault, DiskFault):
            return self._disks.count_at(name, fault, node)
        if isinstance(fault, ClockFault):
            return self._clocks.count_at(name, node)
        is_under_way = isinstance(fault, Slow) and name not in self._counts
        return self._power.slowed(node) if is_under_way else self._count(name, fault)

    def _count(self, name: str, fault: Fault) -> int:
        if isinstance(fault, MachineFault):
            return self._counts.get(name, 0)
        if isinstance(fault, DiskFault):
            return self._disks.count(name, fault)
        if isinstance(fault, ClockFault):
            return self._clocks.count(name, fault)
        # A fault that never began, because it is disabled or the run ended before it, touched nothing.
        return self._bus.touched(name) if name in self._begun else 0

    def _post(self, at_us: int, action: Callable[[], None]) -> None:
        self._kernel.post(at_us, SUPERVISOR, EventKind.FAULT, SUPERVISOR, self._ordinal, action)
        self._ordinal += 1

    def _fire(self, name: str, edge: _Edge) -> None:
        self._chain.add(self._kernel.now_us, "fault", name, edge.name)
        edge.act()

    # -- edges, by kind ------------------------------------------------------------------------

    def _edges(self, name: str, fault: Fault) -> Iterator[_Edge]:
        if isinstance(fault, NetworkFault):
            yield from self._network_edges(name, fault)
        elif isinstance(fault, MachineFault):
            yield from self._machine_edges(name, fault)
        elif isinstance(fault, ClockFault):
            yield _Edge(fault.start_ms, "start", partial(self._clocks.begin, name, fault))
            for at_ms, ppm in turns_of(fault):
                yield _Edge(at_ms, "turn", partial(self._clocks.turn, fault, ppm))
            yield _Edge(fault.stop_ms, "stop", partial(self._clocks.end, name, fault))
        else:
            yield _Edge(fault.start_ms, "start", partial(self._disks.begin, name, fault))
            yield _Edge(fault.stop_ms, "stop", partial(self._disks.end, name, fault))

    def _network_edges(self, name: str, fault: NetworkFault) -> Iterator[_Edge]:
        start_ms, stop_ms = span_ms(fault)
        match fault:
            case Partition():
                yield _Edge(start_ms, "start", partial(self._cut, name, crossing_links(fault.groups, self._validators)))
                yield _Edge(stop_ms, "stop", partial(self._bus.mend, name))
            case Cut():
                yield _Edge(start_ms, "start", partial(self._cut, name, fault.links))
                yield _Edge(stop_ms, "stop", partial(self._bus.mend, name))
            case Flapping():
                links = crossing_links(fault.groups, self._validators)
                for cut_ms, open_ms in cut_windows_ms(fault):
                    yield _Edge(cut_ms, "start", partial(self._cut, name, links))
                    yield _Edge(open_ms, "stop", partial(self._bus.mend, name))
            case IsolateLeader():
                for cut_ms, open_ms in cut_windows_ms(fault):
                    yield _Edge(cut_ms, "start", partial(self._isolate, name))
                    yield _Edge(open_ms, "stop", partial(self._rejoin, name))
            case Links():
                yield _Edge(start_ms, "start", partial(self._degrade, name, fault))
                yield _Edge(stop_ms, "stop", partial(self._bus.restore, name))
            case Rule():
                yield from self._rule_edges(name, fault)

    def _rule_edges(self, name: str, fault: Rule) -> Iterator[_Edge]:
        yield _Edge(fault.start_ms, "start", partial(self._impose, name, fault))
        if fault.first_ms is not None:
            yield _Edge(fault.first_ms, "release", partial(self._release, name, fault, fault.first_to))
        yield _Edge(fault.stop_ms, "stop", partial(self._bus.lift, name))
        if fault.action == "hold":
            yield _Edge(fault.released_ms, "release", partial(self._release, name, fault, None))

    def _machine_edges(self, name: str, fault: MachineFault) -> Iterator[_Edge]:
        start_ms, stop_ms = span_ms(fault)
        match fault:
            case Crash():
                yield _Edge(start_ms, "start", partial(self._switch_off, name, (fault.validator,)))
                yield _Edge(stop_ms, "stop", partial(self._switch_on, name, (fault.validator,)))
            case Blackout(restart_every_ms=0):
                yield _Edge(start_ms, "start", partial(self._switch_off, name, fault.validators))
                yield _Edge(stop_ms, "stop", partial(self._switch_on, name, fault.validators))
            case Blackout():
                yield _Edge(start_ms, "start", partial(self._switch_off, name, fault.validators))
                for node, restart_ms in fault.restarts_ms():
                    yield _Edge(restart_ms, "stop", partial(self._switch_on, name, (node,)))
            case Wipe():
                yield _Edge(start_ms, "start", partial(self._wipe, name, fault.validator))
                yield _Edge(stop_ms, "stop", partial(self._switch_on, name, (fault.validator,)))
            case CrashAtBoundary():
                yield _Edge(start_ms, "start", partial(self._watch, name, fault))
                yield _Edge(fault.stop_ms, "stop", partial(self._power.watch, fault.validator, None))
            case Pause():
                yield _Edge(start_ms, "start", partial(self._power.pause, fault.validator))
                yield _Edge(stop_ms, "stop", partial(self._resume, name, fault.validator))
            case Slow():
                yield _Edge(start_ms, "start", partial(self._power.slow_down, fault.validator, fault.factor))
                yield _Edge(stop_ms, "stop", partial(self._speed_up, name, fault.validator))

    # -- links ---------------------------------------------------------------------------------

    def _cut(self, name: str, links: tuple[tuple[int, int], ...]) -> None:
        self._begun.append(name)
        self._bus.cut(name, links)

    def _isolate(self, name: str) -> None:
        self._isolated_by[name] = _NOBODY
        self._follow_leader(name)

    def _follow_leader(self, name: str) -> None:
        """Move the cut to the leader of now; the fault may be over since the move was asked for."""
        if self._isolated_by.get(name, self._leader) == self._leader:
            return
        if self._isolated_by[name] != _NOBODY:
            self._bus.mend(name)
        self._isolated_by[name] = self._leader
        self._cut(name, crossing_links(((self._leader,), self._others()), self._validators))

    def _others(self) -> tuple[int, ...]:
        return tuple(node for node in range(self._validators) if node != self._leader)

    def _rejoin(self, name: str) -> None:
        if self._isolated_by.pop(name) != _NOBODY:
            self._bus.mend(name)

    def _degrade(self, name: str, fault: Links) -> None:
        self._begun.append(name)
        latency = None
        if fault.latency_ms is not None:
            latency = Latency(
                kind="normal", mean_us=fault.latency_ms * MILLISECOND_US, jitter_us=fault.jitter_ms * MILLISECOND_US
            )
        self._bus.degrade(
            name,
            links_of(fault, self._validators),
            latency=latency,
            loss_ppm=fault.loss_ppm,
            reorder_ppm=fault.reorder_ppm,
            reorder_extra_us=fault.reorder_extra_ms * MILLISECOND_US,
            duplicate_ppm=fault.duplicate_ppm,
            corrupt_ppm=fault.corrupt_ppm,
        )

    def _impose(self, name: str, fault: Rule) -> None:
        self._begun.append(name)
        rule = MessageRule(fault.action, fault.kinds, fault.views, fault.heights, fault.delay_ms * MILLISECOND_US)
        self._bus.impose(name, rule_links(fault, self._validators), rule)

    def _release(self, name: str, fault: Rule, receivers: tuple[int, ...] | None) -> None:
        self._bus.release(name, receivers, gap_us=fault.release_gap_ms * MILLISECOND_US)

    # -- machines ------------------------------------------------------------------------------

    def _switch_off(self, name: str, nodes: tuple[int, ...]) -> None:
        # One instant: every named validator is down before any of them could notice another's absence.
        self._stopped[name] = [node for node in nodes if self._power.crash(node)]
        self._note_hits(name, self._stopped[name])

    def _note_hits(self, name: str, nodes: Iterable[int]) -> None:
        hits = self._hits.setdefault(name, {})
        for node in nodes:
            hits[node] = hits.get(node, 0) + 1

    def _switch_on(self, name: str, nodes: tuple[int, ...]) -> None:
        stopped = [node for node in nodes if node in self._stopped[name]]
        for node in stopped:
            self._coverage.restart(node)
        restarted = [node for node in stopped if self._power.restart(node)]
        self._counts[name] = self._counts.get(name, 0) + len(restarted)

    def _wipe(self, name: str, node: int) -> None:
        self._switch_off(name, (node,))
        if self._stopped[name]:
            self._power.wipe(node)

    def _watch(self, name: str, fault: CrashAtBoundary) -> None:
        """Crash the validator at the boundaries that the fault names, and bring it back each time."""
        reached = 0

        def is_struck(boundary: Boundary) -> bool:
            nonlocal reached
            if boundary != fault.boundary:
                return False
            reached += 1
            return reached % fault.every == 0 if fault.every else reached == fault.occurrence

        def note() -> None:
            self._chain.add(self._kernel.now_us, "fault", name, fault.boundary)
            self._stopped[name] = [fault.validator]
            self._note_hits(name, self._stopped[name])
            back_us = self._kernel.now_us + fault.restart_after_ms * MILLISECOND_US
            back = _Edge(back_us // MILLISECOND_US, "restart", partial(self._switch_on, name, (fault.validator,)))
            self._post(back_us, partial(self._fire, name, back))

        self._power.watch(fault.validator, Watch(is_struck, note))

    def _resume(self, name: str, node: int) -> None:
        self._counts[name] = self._power.resume(node)

    def _speed_up(self, name: str, node: int) -> None:
        self._counts[name] = self._power.speed_up(node)
