"""The toy on seedloop: bytes by reference, a timeline of sends and deliveries.

seedloop's crash is for the rest of the run; the outage is a cut of the validator and a new `Voter` after it. The range
of its latencies is a constant of its module, set here to the toy's.
"""

import asyncio
from functools import partial

import seedloop  # type: ignore[import-not-found]  # in no requirement file
from seedloop import _net

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

_SECOND_US = 1_000_000
_NEVER = 1 << 62


class Node:
    """A validator: a task that receives, and a timer of the loop."""

    def __init__(self, me: int, nodes: int, world: seedloop.World) -> None:
        self.delivered = 0
        self._me = me
        self._nodes = nodes
        self._endpoint = world.net.bind(me, loss=LOSS_PERCENT / 100)
        self._outbox: list[bytes] = []
        self._timer: asyncio.TimerHandle | None = None
        self._awaited = _NEVER
        self._is_there = asyncio.Event()
        self.boot()

    def boot(self) -> None:
        """Begin with empty memory."""
        self.voter = Voter(self._me, self._nodes, self._outbox.append, self._arm)

    async def run(self) -> None:
        """Serve for ever."""
        endpoint, outbox = self._endpoint, self._outbox
        self.voter.start()
        await self._flush()
        while True:
            source, message = await endpoint.recv()
            self.delivered += 1
            self.voter.hear(source, message)
            if self.voter.view >= self._awaited:
                self._is_there.set()
            if outbox:
                await self._flush()

    async def wait_for(self, view: int) -> None:
        """Return when the validator is in this view."""
        self._awaited = view
        await self._is_there.wait()

    async def restart(self) -> None:
        """Begin anew while `run` goes on."""
        self.boot()
        self.voter.start()
        await self._flush()

    async def _flush(self) -> None:
        messages = self._outbox[:]
        self._outbox.clear()
        send, others = self._endpoint.send, [node for node in range(self._nodes) if node != self._me]
        for message in messages:
            for destination in others:
                await send(destination, message)

    def _arm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(RESEND_US / _SECOND_US, self._expire)

    def _expire(self) -> None:
        self.voter.expire()
        self._flushing = asyncio.get_running_loop().create_task(self._flush())


async def _scenario(nodes: int, views: int, delivered: list[int], world: seedloop.World) -> None:
    members = [Node(me, nodes, world) for me in range(nodes)]
    world.start(*members)
    loop = asyncio.get_running_loop()
    observed = members[OBSERVED]
    for at_us, action in (
        (CUT_US[0], partial(world.net.partition, {CUT_OFF}, set(range(nodes)) - {CUT_OFF})),
        (CUT_US[1], world.net.heal),
        (OFF_US[0], partial(world.net.partition, {SWITCHED_OFF}, set(range(nodes)) - {SWITCHED_OFF})),
        (OFF_US[1], world.net.heal),
        (OFF_US[1], lambda: loop.create_task(members[SWITCHED_OFF].restart())),
    ):
        loop.call_later(at_us / _SECOND_US, action)
    await observed.wait_for(views)
    delivered[0] = sum(node.delivered for node in members)


def run(nodes: int, views: int) -> int:
    """Run the toy; return the number of messages delivered."""
    _net._LAT_MIN, _net._LAT_MAX = (value / _SECOND_US for value in LATENCY_US)  # noqa: SLF001 - see above
    delivered = [0]
    seedloop.replay(partial(_scenario, nodes, views, delivered), seed=0)
    return delivered[0]
