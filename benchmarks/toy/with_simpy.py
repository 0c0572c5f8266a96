"""The toy on simpy, by callbacks of its events: no process per message, no trace, messages by reference.

simpy has no network: losses, the cut and the outage are asked in the callback that a message's timeout calls.
"""

import random  # noqa: TID251 - the load of a benchmark is no part of a run
from functools import partial

import simpy

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


class Toy:
    """One run of the toy.

    Args:
        nodes: how many validators.
        views: the run ends when validator 2 has reached this view.
    """

    def __init__(self, nodes: int, views: int) -> None:
        self._nodes = nodes
        self._views = views
        self._environment = simpy.Environment()
        self._random = random.Random(0)
        self._delivered = 0
        self._timers = [0] * nodes
        self._voters = [self._make(node) for node in range(nodes)]
        self._end = self._environment.event()

    def run(self) -> int:
        """Run it; return the number of messages delivered."""
        for voter in self._voters:
            voter.start()
        restart = self._environment.timeout(OFF_US[1])
        assert restart.callbacks is not None
        restart.callbacks.append(self._restart)
        self._environment.run(until=self._end)
        return self._delivered

    def _make(self, node: int) -> Voter:
        return Voter(node, self._nodes, partial(self._broadcast, node), partial(self._arm, node))

    def _restart(self, _event: simpy.Event) -> None:
        self._voters[SWITCHED_OFF] = self._make(SWITCHED_OFF)
        self._voters[SWITCHED_OFF].start()

    def _is_off(self, node: int) -> bool:
        return node == SWITCHED_OFF and OFF_US[0] <= self._environment.now < OFF_US[1]

    def _broadcast(self, source: int, message: bytes) -> None:
        environment, draw = self._environment, self._random.random
        low, width = LATENCY_US[0], LATENCY_US[1] - LATENCY_US[0] + 1
        loss = LOSS_PERCENT / 100
        is_cut = CUT_US[0] <= environment.now < CUT_US[1]
        for destination in range(self._nodes):
            if destination == source or draw() < loss or (is_cut and CUT_OFF in {source, destination}):
                continue
            event = environment.timeout(low + int(draw() * width), (source, destination, message))
            assert event.callbacks is not None
            event.callbacks.append(self._arrive)

    def _arrive(self, event: simpy.Event) -> None:
        assert event.value is not None
        source, destination, message = event.value
        if self._is_off(destination):
            return
        self._delivered += 1
        voter = self._voters[destination]
        voter.hear(source, message)
        if destination == OBSERVED and voter.view >= self._views and not self._end.triggered:
            self._end.succeed()

    def _arm(self, node: int) -> None:
        self._timers[node] += 1
        event = self._environment.timeout(RESEND_US, (node, self._timers[node]))
        assert event.callbacks is not None
        event.callbacks.append(self._expire)

    def _expire(self, event: simpy.Event) -> None:
        assert event.value is not None
        node, number = event.value
        if self._timers[node] == number and not self._is_off(node):
            self._voters[node].expire()


def run(nodes: int, views: int) -> int:
    """Run the toy; return the number of messages delivered."""
    return Toy(nodes, views).run()
