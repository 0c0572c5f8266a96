"""Short runs of the bus alone."""

from collections.abc import Callable
from functools import partial

from network.conditions import Condition, MessageRule
from network.latency import Latency
from network.types import SUPERVISOR, EventKind, Label
from tests.support.network_harness import Rig, record_inbound

JITTERED = Latency("normal", 10_000, 3_000)


def run_bus(rig: Rig, *steps: tuple[int, Callable[..., None], object]) -> dict[int, list[tuple[int, object]]]:
    """Perform (at_us, call, *arguments) as the supervisor, and return what each node received."""
    for ordinal, (at_us, call, *arguments) in enumerate(steps):
        rig.kernel.post(at_us, SUPERVISOR, EventKind.FAULT, SUPERVISOR, ordinal, call, *arguments)
    heard: dict[int, list[tuple[int, object]]] = {}
    tasks = []
    for node in range(len(rig.bus._receivers)):
        heard[node] = []
        tasks.append(partial(record_inbound, rig, rig.port(node), heard[node]))
    rig.run(*tasks)
    return heard


VOTE = Label("Notarize", view=5, height=3)


def degrade(rig, name, links=((0, 1),), **rates):
    return partial(rig.bus.impose, Condition(name=name, **rates), links)


def impose(rig, name, action, links=((0, 1),), **matching):
    return partial(rig.bus.impose, Condition(name=name, rule=MessageRule(action, **matching)), links)


def cut(rig, name, links=((0, 1),)):
    return partial(rig.bus.impose, Condition(name=name, is_cut=True), links)
