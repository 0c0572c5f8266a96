"""Puts a fault plan to work on a running cluster, and keeps count of what really took effect.

Invariant: every edge of a fault is one event of the supervisor in the kernel's queue, so it comes
before anything that a validator does in the same instant, and alone. A fault has taken effect only
when something that would have happened did not: a message it touched, or a running validator that
it stopped and that later came back.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from faults.plan import Blackout, Crash, Fault, Links, Partition, crossing_links, span_ms
from network.bus import Bus
from network.kernel import Kernel
from network.latency import Latency
from network.trace import EventChain
from network.types import SUPERVISOR, EventKind

MILLISECOND_US = 1_000


class Power(Protocol):
    """What a plan may do to validators' processes."""

    def crash(self, node: int) -> bool:
        """Stop ``node`` in this instant; False where it was not running."""

    def restart(self, node: int) -> bool:
        """Start ``node`` on its old disk; False where it is running already."""


@dataclass(frozen=True, slots=True)
class FaultEffect:
    """What one fault of the plan came to. ``count`` is messages touched, or validators stopped and restarted."""

    name: str
    kind: str
    is_enabled: bool
    count: int

    @property
    def took_effect(self) -> bool:
        """Whether the run saw this fault at all."""
        return self.is_enabled and self.count > 0


class Injector:
    """Schedules a plan's edges on the kernel and reports what each fault came to."""

    def __init__(
        self, plan: Mapping[str, Fault], *, kernel: Kernel, bus: Bus, power: Power, chain: EventChain, validators: int
    ) -> None:
        self._plan = plan
        self._kernel = kernel
        self._bus = bus
        self._power = power
        self._chain = chain
        self._validators = validators
        self._ordinal = 0
        self._stopped_by: dict[str, list[int]] = {}
        self._power_cycles: dict[str, int] = {}
        self._begun: list[str] = []
        self._last_edge_us = 0

    @property
    def last_edge_us(self) -> int:
        """Virtual time from which no enabled fault is at work any more."""
        return self._last_edge_us

    def schedule(self) -> None:
        """Post both edges of every enabled fault, and the moment when the cluster is whole again."""
        for name, fault in self._plan.items():
            if fault.enabled:
                start_ms, stop_ms = span_ms(fault)
                self._post(start_ms * MILLISECOND_US, self._edge(name, fault, self._start, "start"))
                self._post(stop_ms * MILLISECOND_US, self._edge(name, fault, self._stop, "stop"))
                self._last_edge_us = max(self._last_edge_us, stop_ms * MILLISECOND_US)
        self._post(self._last_edge_us, lambda: self._chain.add(self._kernel.now_us, "healed"))

    def effects(self) -> Iterator[FaultEffect]:
        """Yield what each fault of the plan came to, in the plan's order."""
        for name, fault in self._plan.items():
            kind = str(type(fault).__struct_config__.tag)
            yield FaultEffect(name, kind, fault.enabled, self._count(name, fault))

    def _count(self, name: str, fault: Fault) -> int:
        if isinstance(fault, Crash | Blackout):
            return self._power_cycles.get(name, 0)
        # A fault that never began, because it is disabled or the run ended before it, touched nothing.
        return self._bus.touched(name) if name in self._begun else 0

    def _post(self, at_us: int, action: Callable[[], None]) -> None:
        self._kernel.post(at_us, SUPERVISOR, EventKind.FAULT, SUPERVISOR, self._ordinal, action)
        self._ordinal += 1

    def _edge(self, name: str, fault: Fault, act: Callable[[str, Fault], None], edge: str) -> Callable[[], None]:
        def fire() -> None:
            self._chain.add(self._kernel.now_us, "fault", name, edge)
            act(name, fault)

        return fire

    def _start(self, name: str, fault: Fault) -> None:
        self._begun.append(name)
        if isinstance(fault, Partition):
            self._bus.cut(name, crossing_links(fault.groups, self._validators))
        elif isinstance(fault, Links):
            self._degrade(name, fault)
        else:
            nodes = fault.validators if isinstance(fault, Blackout) else (fault.validator,)
            # One instant: every named validator is down before any of them could notice another's absence.
            self._stopped_by[name] = [node for node in nodes if self._power.crash(node)]

    def _stop(self, name: str, fault: Fault) -> None:
        if isinstance(fault, Partition):
            self._bus.mend(name)
        elif isinstance(fault, Links):
            self._bus.restore(name)
        else:
            restarted = [node for node in self._stopped_by.pop(name, []) if self._power.restart(node)]
            self._power_cycles[name] = len(restarted)

    def _degrade(self, name: str, fault: Links) -> None:
        nodes = range(self._validators)
        links = [pair for first, second in fault.between for pair in ((first, second), (second, first))] or [
            (source, destination) for source in nodes for destination in nodes if source != destination
        ]
        latency = None
        if fault.latency_ms is not None:
            latency = Latency(
                kind="normal", mean_us=fault.latency_ms * MILLISECOND_US, jitter_us=fault.jitter_ms * MILLISECOND_US
            )
        self._bus.degrade(
            name,
            links,
            latency=latency,
            loss_ppm=fault.loss_ppm,
            reorder_ppm=fault.reorder_ppm,
            reorder_extra_us=fault.reorder_extra_ms * MILLISECOND_US,
        )
