"""Mailboxes that are served with a handler: the kernel calls it, and no event, count or end shows that."""

import os
import signal
from dataclasses import replace
from functools import partial

import pytest

from network.events import Dropped
from network.kernel import EVENTS_PER_PASS
from network.latency import Latency
from network.outcome import RunFailedError
from network.port import Delivery, TimerDue
from network.types import SUPERVISOR, EventKind, Label
from tests.support.events import Mark
from tests.support.network_harness import build_rig, shuffled

DELIVERIES = ("direct", "direct, now and then in reverse", "by tasks")


def play(delivery, *, step_limit=100_000, ends_at=None, shuffle=0):
    """Let five nodes talk, two of them paused for a while and one switched off; return the rig and the outcome."""
    rig = build_rig(5, latency=Latency("uniform", 40, 30), step_limit=step_limit, delivery=delivery)
    ports = [rig.port(node) for node in range(5)]

    def handle(port, event):
        port.trace(Mark(repr(event)))
        if isinstance(event, TimerDue):
            port.broadcast(repr(event).encode(), Label("tick"))
            port.work(7, "done")
            port.set_timer("now", 0 if event.key == "tick" else 90)
            port.set_timer("tick", 50)
        if ends_at is not None and rig.kernel.now_us >= ends_at:
            rig.kernel.stop("enough")

    async def serve(port):
        port.set_timer("tick", 10)
        await port.serve(partial(handle, port))

    def pause(at_us, action, ordinal):
        rig.kernel.post(at_us, SUPERVISOR, EventKind.FAULT, SUPERVISOR, ordinal, action)

    pause(300, ports[1].pause, 0)
    pause(300, ports[2].pause, 1)
    pause(600, ports[2].resume, 0)
    pause(600, ports[1].resume, 1)
    pause(700, ports[3].revoke, 0)
    pause(2_000, rig.kernel.stop, 0)
    with shuffled(shuffle):
        return rig, rig.run(*(partial(serve, port) for port in ports))


@pytest.mark.parametrize("delivery", DELIVERIES)
@pytest.mark.parametrize("limits", [{}, {"step_limit": 150}, {"ends_at": 411}], ids=["whole", "step limit", "stopped"])
def test_nothing_shows_who_calls_a_handler(delivery, limits):
    """Events, turns, steps and the end are the same: pauses, work, timers for now and a node that is switched off."""
    rig, outcome = play(delivery, **limits)
    expected, outcome_of_tasks = play("by tasks", shuffle=5, **limits)

    assert len(expected.kinds(Mark.kind)) > 30
    assert bool(expected.kinds(Dropped.kind)) is not bool(limits)
    assert rig.trace.digest == expected.trace.digest
    # Steps after the end are passes in which tasks are cancelled.
    assert replace(outcome, steps=0) == replace(outcome_of_tasks, steps=0)
    assert outcome.steps == outcome_of_tasks.steps or limits


def test_a_handler_is_called_without_trio(monkeypatch):
    """Passes of trio's loop are what this saves."""
    passes = {}
    for delivery in ("direct", "by tasks"):
        rig = build_rig(delivery=delivery)
        count = rig.kernel.before_io_wait
        passes[delivery] = 0

        def before_io_wait(timeout, delivery=delivery, count=count):
            passes[delivery] += 1
            count(timeout)

        monkeypatch.setattr(rig.kernel, "before_io_wait", before_io_wait)
        port = rig.port(0)

        def handle(timer, rig=rig, port=port):
            if timer.key == "over":
                rig.kernel.stop()
            port.set_timer("tick", 1)

        async def tick(port=port, handle=handle):
            port.set_timer("tick", 1)
            port.set_timer("over", 3 * EVENTS_PER_PASS)
            await port.serve(handle)

        rig.run(tick)

    assert passes["by tasks"] > 3 * EVENTS_PER_PASS
    assert 3 < passes["direct"] < 20


@pytest.mark.parametrize("delivery", DELIVERIES)
def test_what_a_handler_raises_is_raised_in_its_task(delivery):
    """A crash in the midst of a step ends the incarnation, and an error ends the run with its time."""
    rig = build_rig(delivery=delivery)
    port = rig.port(0)

    def handle(event):
        raise ZeroDivisionError(event.key)

    async def serve():
        port.set_timer("a", 5)
        port.set_timer("b", 5)
        try:
            await port.serve(handle)
        except ZeroDivisionError as error:
            rig.record.append(str(error))
        await port.serve(handle)

    with pytest.raises(RunFailedError, match=r"a task raised at 5 us in turn \d: ZeroDivisionError\('b'\)"):
        rig.run(serve)
    assert rig.record == ["a"]


@pytest.mark.parametrize("delivery", DELIVERIES)
def test_an_interrupt_reaches_a_handler_that_computes(delivery):
    """At once, and not when trio is asked again."""
    rig = build_rig(delivery=delivery)
    port = rig.port(0)

    def handle(_event):
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(10**6):
            pass
        rig.record.append("went on")

    async def serve():
        port.set_timer("a", 5)
        await port.serve(handle)

    with pytest.raises(KeyboardInterrupt):
        rig.run(serve)
    assert rig.record == []


def test_a_message_for_a_task_without_a_handler_waits_for_trio():
    """Nodes of both kinds talk to each other."""
    rig = build_rig()
    first, second = rig.port(0), rig.port(1)

    async def serve():
        first.set_timer("go", 1)
        await first.serve(lambda event: first.send(1, b"ask") if isinstance(event, TimerDue) else rig.kernel.stop())

    async def receive():
        while True:
            rig.record.append(await second.receive())
            second.send(0, b"answer")

    rig.run(serve, receive)
    assert rig.record == [Delivery(0, b"ask")]
