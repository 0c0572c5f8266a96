"""A small run for the tests of the network: nodes that talk, optionally under another shuffle of trio's tasks."""

import random  # noqa: TID251  # trio's own shuffle is one, and is what the tests vary
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import MappingProxyType

import pytest
import trio

from network.bus import Bus
from network.chance import Chance
from network.events import Event
from network.kernel import Delivery, Kernel
from network.latency import Latency
from network.outcome import KernelOutcome
from network.port import Inbound, Port
from network.queues import UplinkClass
from network.topology import LinkSpec, build_topology
from network.trace import Sink, Trace
from network.types import MILLISECOND_US


@dataclass
class Rig:
    """Kernel, bus and trace of one run, and what its tasks wrote down."""

    trace: Trace
    kernel: Kernel
    bus: Bus
    events: list[Event] = field(default_factory=list)
    record: list[object] = field(default_factory=list)

    def port(self, node: int, incarnation: int = 0) -> Port:
        return Port(self.kernel, self.bus, self.trace.chain(node), node, incarnation=incarnation)

    def run(self, *tasks: Callable[[], Awaitable[None]]) -> KernelOutcome:
        """Run these tasks side by side until the run ends."""

        async def main() -> None:
            async with trio.open_nursery() as nursery:
                for task in tasks:
                    nursery.start_soon(task)

        return self.kernel.run(main)

    def kinds(self, kind: str) -> list[Event]:
        return [event for event in self.events if event.kind == kind]


def build_rig(
    nodes: int = 2,
    *,
    latency: Latency | LinkSpec | None = None,
    seed: int = 0,
    step_limit: int = 100_000,
    time_limit_us: int = 10**12,
    size_limit: int = 1 << 20,
    sinks: tuple[Sink, ...] = (),
    delivery: Delivery = "direct",
    uplink: tuple[UplinkClass, ...] = (),
    twins: Mapping[int, int] = MappingProxyType({}),
) -> Rig:
    """Build a rig of fully linked nodes; latency is 1 ms, fixed, unless told."""
    events: list[Event] = []
    trace = Trace(range(nodes), [events.append, *sinks])
    kernel = Kernel(trace, step_limit=step_limit, time_limit_us=time_limit_us, delivery=delivery)
    topology = build_topology(nodes, latency or Latency("fixed", MILLISECOND_US), uplink=uplink, twins=twins)
    bus = Bus(kernel, topology, Chance(seed), trace, size_limit=size_limit)
    return Rig(trace, kernel, bus, events)


async def record_inbound(rig: Rig, port: Port, record: list[tuple[int, Inbound]]) -> None:
    """Write down whatever reaches a port, with its time, for ever."""
    while True:
        inbound = await port.receive()
        record.append((rig.kernel.now_us, inbound))


@contextmanager
def shuffled(seed: int | None) -> Iterator[None]:
    """Let trio run its tasks in the order of this seed; None leaves trio as it is.

    The one use of trio's private scheduler: where it is absent, the test says so.
    """
    run = trio._core._run
    if not hasattr(run, "_r") or not hasattr(run, "_ALLOW_DETERMINISTIC_SCHEDULING"):
        pytest.skip("this trio has no private scheduler seed")
    state, allowed = run._r.getstate(), run._ALLOW_DETERMINISTIC_SCHEDULING
    if seed is None:
        run._r.seed()
        run._ALLOW_DETERMINISTIC_SCHEDULING = False
    else:
        run._r.setstate(random.Random(seed).getstate())
        run._ALLOW_DETERMINISTIC_SCHEDULING = True
    try:
        yield
    finally:
        run._r.setstate(state)
        run._ALLOW_DETERMINISTIC_SCHEDULING = allowed
