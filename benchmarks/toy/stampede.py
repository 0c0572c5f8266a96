"""The toy on Stampede's kernel and bus: bytes on the wire, every event in the trace, faults of the bus itself."""

from collections.abc import Callable
from functools import partial
from typing import Final

import trio

from benchmarks.toy.protocol import (
    CUT_OFF,
    CUT_US,
    LATENCY_US,
    LOSS_PERCENT,
    OBSERVED,
    OFF_US,
    RESEND_US,
    SWITCHED_OFF,
    Voter,
)
from network.bus import Bus
from network.chance import Chance
from network.conditions import Condition
from network.inbox import Inbox
from network.kernel import Kernel
from network.latency import Latency
from network.port import Delivery, Inbound, Port, TimerDue
from network.topology import LinkSpec, build_topology
from network.trace import Trace
from network.types import SUPERVISOR, EventKind, Label

_LABELS: Final = {1: Label("proposal"), 2: Label("vote")}


class Toy:
    """One run of the toy.

    Args:
        nodes: how many validators.
        views: the run ends when validator 2 has reached this view.
        recording: whether events are encoded and hashed.
    """

    def __init__(self, nodes: int, views: int, *, recording: bool) -> None:
        self._views = views
        trace = Trace(range(nodes), recording=recording)
        self._trace = trace
        self._kernel = Kernel(trace, step_limit=1 << 40, time_limit_us=1_000_000 * views)
        low, high = LATENCY_US
        latency = Latency("uniform", (low + high) // 2, (high - low) // 2)
        spec = LinkSpec(latency, loss_ppm=LOSS_PERCENT * 10_000)
        self._bus = Bus(self._kernel, build_topology(nodes, spec), Chance(0), trace, size_limit=1 << 20)
        self._nodes = nodes
        self._incarnations = 0
        self._commands: Inbox[Callable[[], object]] = Inbox()

    def run(self) -> int:
        """Run it; return the number of messages delivered."""
        others = [node for node in range(self._nodes) if node != CUT_OFF]
        links = [link for node in others for link in ((CUT_OFF, node), (node, CUT_OFF))]
        cut = Condition(name="cut", is_cut=True)
        actions: tuple[tuple[int, Callable[[], None]], ...] = (
            (CUT_US[0], lambda: self._bus.impose(cut, links)),
            (CUT_US[1], lambda: self._bus.lift("cut")),
            (OFF_US[0], lambda: self._commands.put(self._off)),
            (OFF_US[1], lambda: self._commands.put(self._on)),
        )
        for ordinal, (at_us, action) in enumerate(actions):
            self._kernel.post(at_us, SUPERVISOR, EventKind.FAULT, SUPERVISOR, ordinal, action)
        outcome = self._kernel.run(self._main)
        assert outcome.reason == "stopped", outcome
        assert self._trace.digest, "what the trace has left is hashed in the time that is measured"
        return self._bus.statistics().delivered

    async def _main(self) -> None:
        async with trio.open_nursery() as nursery:
            for node in range(self._nodes):
                port, scope = self._boot(nursery, node)
                if node == SWITCHED_OFF:
                    self._port, self._scope = port, scope
            self._nursery = nursery
            while True:
                (await self._commands.receive())()

    def _boot(self, nursery: trio.Nursery, node: int) -> tuple[Port, trio.CancelScope]:
        port = Port(self._kernel, self._bus, self._trace.chain(node), node, incarnation=self._incarnations)
        scope = trio.CancelScope()
        nursery.start_soon(self._serve, port, scope)
        return port, scope

    def _off(self) -> None:
        self._port.revoke()
        self._scope.cancel()

    def _on(self) -> None:
        self._incarnations += 1
        self._boot(self._nursery, SWITCHED_OFF)

    async def _serve(self, port: Port, scope: trio.CancelScope) -> None:
        voter = Voter(port.node, self._nodes, partial(_broadcast, port), partial(port.set_timer, "resend", RESEND_US))
        is_observed = port.node == OBSERVED

        def handle(event: Inbound) -> None:
            if isinstance(event, Delivery):
                voter.hear(event.source, event.payload)
                if is_observed and voter.view >= self._views:
                    self._kernel.stop()
            elif isinstance(event, TimerDue):
                voter.expire()

        with scope:
            voter.start()
            await port.serve(handle)


def _broadcast(port: Port, message: bytes) -> None:
    port.broadcast(message, _LABELS[message[0]])


def run(nodes: int, views: int, *, recording: bool = True) -> int:
    """Run the toy; return the number of messages delivered."""
    return Toy(nodes, views, recording=recording).run()
