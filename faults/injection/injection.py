"""Puts a fault plan to work on a running cluster, and keeps count of what really took effect.

Invariant: every edge of a fault is one event of the supervisor in the kernel's queue, so it comes
before anything that a validator does in the same instant, and alone. A fault has taken effect only
when something that would have happened did not: a message it touched, a running validator that it
stopped and that later came back, an event it held back, work that took longer, a clock that was read and was wrong.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Final, NamedTuple

from faults.byzantine.adversary import Liar
from faults.byzantine.injection import Lies
from faults.coverage.cells import Cell, Coverage
from faults.events import FaultEdge, Healed
from faults.injection.clocks import ClockFaults
from faults.injection.disks import DiskFaults
from faults.injection.edges import MILLISECOND_US, Edge, window
from faults.injection.links import LinkFaults
from faults.injection.power import Power, Watch
from faults.kinds import Fault, cut_windows_ms, kind_of, named_validators, span_ms
from faults.kinds.byzantine import Dishonest
from faults.kinds.clock import ClockFault
from faults.kinds.disk import DiskFault
from faults.kinds.drawn import storm_outages
from faults.kinds.machine import Blackout, Crash, CrashAtBoundary, MachineFault, Pause, RestartStorm, Slow, Wipe
from faults.kinds.network import NetworkFault
from faults.plan import all_over_ms
from network.bus import Bus
from network.chance import Chance
from network.events import Event, TraceEvent, read_event
from network.kernel import Kernel
from network.trace import EventChain
from network.types import SUPERVISOR, EventKind
from validators.events import Entered
from validators.storage import Boundary


@dataclass(frozen=True, slots=True)
class FaultEffect:
    """What one fault of the plan came to.

    ``count`` is messages touched, validators stopped and restarted, events held back, work that took longer, or times
    and timers that were not true; what earlier processes recorded is in it. ``is_past``: it was over before this one.
    """

    name: str
    kind: str
    is_enabled: bool
    may_be_idle: bool
    count: int
    is_past: bool = False

    @property
    def took_effect(self) -> bool:
        """Whether the run saw this fault at all."""
        return self.is_enabled and self.count > 0


class Touched(NamedTuple):
    """The touches of a fault so far, and the number of validators that it has stopped and that are not back yet."""

    done: int
    pending: int


_UNTOUCHED: Final = Touched(0, 0)


class Injector:
    """Schedules a plan's edges on the kernel and reports what each fault came to.

    ``validators`` is how many the bus links; the last ``observers`` of them have no vote. ``earlier`` is what earlier
    processes recorded of a run that goes on: a fault that was over by then is not put to work again, and one that was
    in its midst resumes.
    """

    def __init__(
        self,
        plan: Mapping[str, Fault],
        *,
        kernel: Kernel,
        bus: Bus,
        power: Power,
        chain: EventChain,
        chance: Chance,
        validators: int,
        liars: Mapping[int, Liar] = MappingProxyType({}),
        observers: int = 0,
        earlier: Mapping[str, Touched] = MappingProxyType({}),
    ) -> None:
        self._plan = plan
        self._begin_us = kernel.now_us
        self._earlier = dict(earlier)
        self._begun: dict[str, None] = {}
        self._kernel = kernel
        self._power = power
        self._chain = chain
        self._chance = chance
        self._validators = validators
        self._links = LinkFaults(bus, chance, validators, post_now=lambda action: self._post(kernel.now_us, action))
        self._voters = validators - observers
        self._disks = DiskFaults(power)
        self._lies = Lies(power, liars)
        self._clocks = ClockFaults(power)
        self._ordinal = 0
        self._stopped: dict[str, dict[int, None]] = {}
        self._hits: dict[str, dict[int, int]] = {}
        self._counts: dict[str, int] = {}
        self._coverage = Coverage({name: kind_of(fault) for name, fault in plan.items()}, validators, self.count_at)
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
                    at_us = edge.at_us(self._begin_us)
                    if at_us is not None:
                        self._post(at_us, partial(self._fire, name, edge))
        self._last_edge_us = all_over_ms(self._plan, self._voters) * MILLISECOND_US
        self._post(max(self._last_edge_us, self._kernel.now_us), lambda: self._trace(Healed()))

    def observe(self, event: Event) -> None:
        """See an event of the run: who leads the greatest view decides whom ``isolate-leader`` cuts off."""
        self._coverage.observe(event)
        entered = read_event(event, Entered)
        if entered is not None:
            self._links.follow(entered.view, entered.leader)

    def effects(self) -> Iterator[FaultEffect]:
        """Yield what each fault of the plan came to, in the plan's order."""
        for name, fault in self._plan.items():
            touched, is_past = self._touched(name, fault), self._is_past(fault)
            # Where the process ended before they were back, the next one started them.
            count = touched.done + touched.pending if is_past else touched.done
            yield FaultEffect(name, kind_of(fault), fault.enabled, fault.may_be_idle, count, is_past)

    def touched(self) -> Iterator[tuple[str, Touched]]:
        """Yield what each fault that has begun has come to so far."""
        return ((name, self._touched(name, self._plan[name])) for name in self._begun)

    def _touched(self, name: str, fault: Fault) -> Touched:
        earlier = self._earlier.get(name, _UNTOUCHED)
        if self._is_past(fault):
            return earlier
        count, pending = self._count(name, fault), len(self._stopped.get(name, ()))
        if isinstance(fault, Slow) and name in self._begun and name not in self._counts:
            count = self._power.slowed(fault.validator)
        return Touched(earlier.done + count, pending)

    def _is_past(self, fault: Fault) -> bool:
        return fault.enabled and span_ms(fault)[1] * MILLISECOND_US < self._begin_us

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
            return self._links.count_at(name, node)
        if isinstance(fault, MachineFault) and not isinstance(fault, Slow):
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
        if isinstance(fault, Dishonest):
            return self._lies.count(name, fault)
        if isinstance(fault, ClockFault):
            return self._clocks.count(name, fault)
        return self._links.count(name)

    def _post(self, at_us: int, action: Callable[[], None]) -> None:
        self._kernel.post(at_us, SUPERVISOR, EventKind.FAULT, SUPERVISOR, self._ordinal, action)
        self._ordinal += 1

    def _trace(self, body: TraceEvent) -> None:
        self._chain.add(self._kernel.now_us, body)

    def _fire(self, name: str, edge: Edge) -> None:
        self._begun[name] = None
        self._trace(FaultEdge(name, edge.name))
        edge.act()

    def _edges(self, name: str, fault: Fault) -> Iterator[Edge]:
        if isinstance(fault, NetworkFault):
            yield from self._links.edges(name, fault)
        elif isinstance(fault, MachineFault):
            yield from self._machine_edges(name, fault)
        elif isinstance(fault, Dishonest):
            yield from self._lies.edges(name, fault)
        elif isinstance(fault, ClockFault):
            yield from self._clocks.edges(name, fault, self._begin_us)
        else:
            begin, end = partial(self._disks.begin, name, fault), partial(self._disks.end, name, fault)
            yield from window(fault.start_ms, fault.stop_ms, begin, end)

    def _machine_edges(self, name: str, fault: MachineFault) -> Iterator[Edge]:
        match fault:
            case CrashAtBoundary():
                if fault.every or name not in self._earlier:
                    begin, end = partial(self._watch, name, fault), partial(self._power.watch, fault.validator, None)
                    yield from window(fault.start_ms, fault.stop_ms, begin, end)
            case Pause():
                begin, end = partial(self._pause, fault.validators), partial(self._resume, name, fault.validators)
                for pause_ms, resume_ms in cut_windows_ms(fault):
                    yield from window(pause_ms, resume_ms, begin, end)
            case Slow():
                begin = partial(self._power.slow_down, fault.validator, fault.factor)
                end = partial(self._speed_up, name, fault.validator)
                yield from window(fault.start_ms, fault.stop_ms, begin, end)
            case _:
                yield from self._outage_edges(name, fault)

    def _outage_edges(self, name: str, fault: Crash | Blackout | Wipe | RestartStorm) -> Iterator[Edge]:
        match fault:
            case Blackout():
                # Whoever was back before this run began stays on.
                off = tuple(node for node, back_ms in fault.restarts_ms() if back_ms * MILLISECOND_US >= self._begin_us)
                begin, end = partial(self._switch_off, name, off), partial(self._switch_on, name, fault.validators)
                if not fault.restart_every_ms:
                    yield from window(fault.at_ms, fault.restart_ms, begin, end)
                    return
                yield Edge(fault.at_ms, span_ms(fault)[1], "start", begin)
                for node, restart_ms in fault.restarts_ms():
                    yield Edge(restart_ms, restart_ms, "stop", partial(self._switch_on, name, (node,)))
            case RestartStorm():
                for node, at_ms, back_ms in storm_outages(fault, name, self._chance, self._validators):
                    begin, end = partial(self._switch_off, name, (node,)), partial(self._switch_on, name, (node,))
                    yield from window(at_ms, back_ms, begin, end)
            case Crash() | Wipe():
                switch_off = self._wipe if isinstance(fault, Wipe) else self._switch_off
                nodes = (fault.validator,)
                begin, end = partial(switch_off, name, nodes), partial(self._switch_on, name, nodes)
                yield from window(fault.at_ms, fault.restart_ms, begin, end)

    # -- machines ------------------------------------------------------------------------------

    def _switch_off(self, name: str, nodes: tuple[int, ...]) -> None:
        # One instant: every named validator is down before any of them could notice another's absence.
        crashed = [node for node in nodes if self._power.crash(node)]
        self._note_stop(name, crashed)

    def _note_stop(self, name: str, nodes: Iterable[int]) -> None:
        for node in nodes:
            self._stopped.setdefault(name, {})[node] = None
            self._note_hits(name, node, 1)

    def _note_hits(self, name: str, node: int, count: int) -> None:
        hits = self._hits.setdefault(name, {})
        hits[node] = hits.get(node, 0) + count

    def _switch_on(self, name: str, nodes: tuple[int, ...]) -> None:
        off = self._stopped.get(name, {})
        stopped = [node for node in nodes if node in off]
        for node in stopped:
            del off[node]
            self._coverage.restart(node)
        restarted = [node for node in stopped if self._power.restart(node)]
        self._counts[name] = self._counts.get(name, 0) + len(restarted)

    def _wipe(self, name: str, nodes: tuple[int, ...]) -> None:
        self._switch_off(name, nodes)
        for node in self._stopped.get(name, {}):
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
            self._trace(FaultEdge(name, fault.boundary))
            self._note_stop(name, [fault.validator])
            self._switch_off(name, fault.also)
            back_us = self._kernel.now_us + fault.restart_after_ms * MILLISECOND_US
            back_ms = back_us // MILLISECOND_US
            back = Edge(back_ms, back_ms, "restart", partial(self._switch_on, name, fault.validators))
            self._post(back_us, partial(self._fire, name, back))

        self._power.watch(fault.validator, Watch(is_struck, note))

    def _pause(self, nodes: tuple[int, ...]) -> None:
        for node in nodes:
            self._power.pause(node)

    def _resume(self, name: str, nodes: tuple[int, ...]) -> None:
        for node in nodes:
            held = self._power.resume(node)
            self._counts[name] = self._counts.get(name, 0) + held
            self._note_hits(name, node, held)

    def _speed_up(self, name: str, node: int) -> None:
        self._counts[name] = self._power.speed_up(node)
