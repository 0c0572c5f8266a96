"""The injector of a fault plan into a running cluster; it counts the effects of each fault.

Invariant: every edge of a fault is a separate event of the supervisor in the kernel's queue. So it comes before every
step of a validator in the same instant.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Final

from faults.anchors.anchor import Anchor
from faults.anchors.catalogue import BlockFacts
from faults.anchors.watch import AnchorWatch
from faults.byzantine.adversary import Adversary
from faults.coverage.engine_phases import PhaseStatus
from faults.coverage.points import Coverage, FaultPoint
from faults.coverage.registry import phases_of
from faults.events import FaultEdge, Healed
from faults.injection.context import FaultContext, Machinery, Touched
from faults.injection.power import Power
from faults.injection.steps import Edge
from faults.kind_registry import kind_of
from faults.kinds.base import Fault
from faults.plan import all_over_ms
from network.bus import Bus
from network.chance import Chance
from network.events import Event, Handlers
from network.kernel import Kernel
from network.trace import EventChain
from network.types import MILLISECOND_US, SUPERVISOR, EventKind
from validators.events import Entered
from validators.execution import BlockSummary


@dataclass(frozen=True, slots=True)
class FaultEffect:
    """The effect of a fault of the plan.

    ``count`` is messages touched, validators stopped and restarted, events held back, slowed pieces of work, or wrong
    times and timers, in all processes of the run. ``is_past``: the fault was over before this process began.
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


ANCHORED: Final = "anchor"
"""The edge of a fault at its anchor; its other edges count from this time."""

_UNTOUCHED: Final = Touched(0, 0)
_NOBODY: Final = -1


class Injector:
    """Schedules a plan's edges on the kernel and reports the effect of each fault.

    ``validators`` is the number of replicas on the bus; the last ``observers`` of them have no vote. The adversary of a
    further machine, a twin, has the number of its validator. ``engine`` names their consensus engine. ``earlier`` is
    the record of earlier processes of a run that goes on: a fault that was over is not injected again, and an active
    fault resumes.
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
        engine: str,
        adversaries: Mapping[int, Adversary] = MappingProxyType({}),
        observers: int = 0,
        earlier: Mapping[str, Touched] = MappingProxyType({}),
    ) -> None:
        self._plan = plan
        self._begin_us = kernel.now_us
        self._earlier = dict(earlier)
        self._begun: dict[str, None] = {}
        self._kernel, self._chain = kernel, chain
        self._voters = validators - observers
        self._ordinal = self._view = self._last_edge_us = 0
        self._followers: dict[str, Callable[[], None]] = {}
        self._leader, self._is_healed = _NOBODY, False
        kinds = {name: kind_of(fault) for name, fault in plan.items()}
        twins = {each.node: machine for machine, each in adversaries.items() if each.node != machine}
        self._coverage = Coverage(kinds, validators + len(twins), self.count_at, phases_of(engine))
        self._anchors = AnchorWatch(self._awaited(), self._begin_anchored)
        self._origins_ms: dict[str, int | None] = {}
        self._origins_us: dict[str, int] = {}
        on_view: Handlers = {Entered: self._note_view}
        self.handlers: Final = (self._coverage.handlers, on_view, self._anchors.handlers)
        machinery = Machinery(
            bus=bus,
            power=power,
            chance=chance,
            adversaries=adversaries,
            nodes=validators,
            twins=twins,
            begin_us=self._begin_us,
            now_us=lambda: kernel.now_us,
            fire=lambda name, at_us, edge: self._post(at_us, partial(self._fire, name, edge)),
            trace=self._trace,
            on_restart=self._coverage.restart,
            leader=lambda: self._leader,
            followers=self._followers,
        )
        self._contexts = {name: FaultContext(name, machinery, is_resumed=name in self._earlier) for name in plan}
        self._drawn_again_us: list[int] = []
        chance.on_reseed(self._draw_again)

    def _awaited(self) -> dict[str, Anchor]:
        """Return the anchors to await, without anchors that came in an earlier process."""
        return {
            name: fault.anchor
            for name, fault in self._plan.items()
            if fault.anchor is not None and fault.enabled and name not in self._earlier
        }

    @property
    def last_edge_us(self) -> int:
        """The virtual time after which no enabled fault is active and no effect of clocks that were ahead is left."""
        return self._last_edge_us

    def schedule(self) -> None:
        """Post the edges of every enabled fault, and the moment when the cluster is whole again."""
        for name, fault in self._plan.items():
            if fault.enabled and fault.anchor is None:
                self._post_edges(name, 0)
        for name, anchor in self._anchors.awaited.items():
            self._post(max(anchor.by_ms * MILLISECOND_US, self._begin_us), partial(self._give_up, name))
        self._post_heal()

    def _post_edges(self, name: str, origin_us: int, after_us: int = -1) -> None:
        """Post the edges of a fault that are due after a time."""
        for edge in self._plan[name].inject(self._contexts[name]):
            at_us = edge.at_us(self._begin_us, origin_us)
            if at_us is not None and at_us > after_us:
                self._post(at_us, partial(self._fire_planned, name, edge, len(self._drawn_again_us)))
        self._origins_us[name] = origin_us

    def _fire_planned(self, name: str, edge: Edge, draws: int) -> None:
        """Come to an edge of a fault, unless its moment was drawn again since it was posted."""
        later = self._drawn_again_us[draws:] if self._plan[name].draws_ahead else ()
        if not later or self._kernel.now_us <= later[0]:
            self._fire(name, edge)

    def _draw_again(self) -> None:
        """Draw the moments again that are still to come, of faults that draw them ahead: chance has another seed."""
        # Edges that were posted for later are thrown away when they come.
        now_us = self._kernel.now_us
        self._drawn_again_us.append(now_us)
        for name, origin_us in self._origins_us.items():
            if self._plan[name].draws_ahead:
                self._post_edges(name, origin_us, now_us)

    def _post_heal(self) -> None:
        self._last_edge_us = all_over_ms(self._plan, self._voters, self._origins_ms) * MILLISECOND_US
        self._post(max(self._last_edge_us, self._kernel.now_us), partial(self._heal, self._last_edge_us))

    def note_block(self, height: int, summary: BlockSummary, events: Iterable[object]) -> None:
        """Take a block that an honest validator finalized, before its event, because anchors may name its effects."""
        if self._anchors.awaits_blocks:
            self._anchors.see_block(height, BlockFacts.of(summary, events))

    def _begin_anchored(self, name: str) -> None:
        """Count a fault's times from now: its anchor has come."""
        origin_us = self._kernel.now_us
        self._post(origin_us, partial(self._trace, name, ANCHORED))
        self._contexts[name].start_from(origin_us)
        self._post_edges(name, origin_us)
        self._origins_ms[name] = -(-origin_us // MILLISECOND_US)
        self._post_heal()

    def _give_up(self, name: str) -> None:
        """Await an anchor no longer: its fault has no effect."""
        if self._anchors.give_up(name):
            self._origins_ms[name] = None
            self._post_heal()

    def _note_view(self, _event: Event, entered: Entered) -> None:
        """Note the beginning of a view: `isolate-leader` cuts off the leader of the greatest view."""
        if entered.view > self._view:
            self._view, self._leader = entered.view, entered.leader
            for name in self._followers:
                self._post(self._kernel.now_us, partial(self._follow, name))

    def effects(self) -> Iterator[FaultEffect]:
        """Yield the effect of each fault, in the plan's order."""
        for name, fault in self._plan.items():
            touched, is_past = self._touched(name, fault), self._is_past(name, fault)
            # If the process ended before validators were back, the next process started them.
            count = touched.done + touched.pending if is_past else touched.done
            yield FaultEffect(name, kind_of(fault), fault.enabled, fault.may_be_idle, count, is_past)

    def touched(self) -> Iterator[tuple[str, Touched]]:
        """Yield the touches of each fault that has begun."""
        return ((name, self._touched(name, self._plan[name])) for name in self._begun)

    def points(self) -> tuple[FaultPoint, ...]:
        """Return the coverage points of the faults that took effect; called at the end of the run."""
        return self._coverage.points(effect.name for effect in self.effects() if effect.took_effect)

    def watch_phases(self, on_leave: Callable[[int, PhaseStatus], None]) -> None:
        """Register a function that is called with a validator and its status before the status changes."""
        self._coverage.on_leave = on_leave

    def count_at(self, name: str, node: int) -> int:
        """Return the number of a fault's touches of a validator so far."""
        return self._contexts[name].count_at(node)

    def _touched(self, name: str, fault: Fault) -> Touched:
        earlier = self._earlier.get(name, _UNTOUCHED)
        if self._is_past(name, fault):
            return earlier
        done, pending = self._contexts[name].touched()
        return Touched(earlier.done + done, pending)

    def _is_past(self, name: str, fault: Fault) -> bool:
        is_begun_before = fault.anchor is not None and name in self._earlier
        return fault.enabled and (is_begun_before or fault.bounds()[1] * MILLISECOND_US < self._begin_us)

    def _follow(self, name: str) -> None:
        # The fault may have ended since the move was scheduled.
        if name in self._followers:
            self._followers[name]()

    def _post(self, at_us: int, action: Callable[[], None]) -> None:
        self._kernel.post(at_us, SUPERVISOR, EventKind.FAULT, SUPERVISOR, self._ordinal, action)
        self._ordinal += 1

    def _fire(self, name: str, edge: Edge) -> None:
        self._begun[name] = None
        self._trace(name, edge.name)
        edge.act()

    def _trace(self, name: str, moment: str) -> None:
        self._chain.add(self._kernel.now_us, FaultEdge(name, moment))

    def _heal(self, planned_us: int) -> None:
        # Planned again whenever an anchor comes or is given up: the last plan counts.
        if planned_us == self._last_edge_us and not self._is_healed:
            self._is_healed = True
            self._chain.add(self._kernel.now_us, Healed())
