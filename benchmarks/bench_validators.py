"""The price of many validators: a calm run beside the bus alone with the same messages.

The floor sends every message of the run again on a bare kernel and bus, with the same topology, seed, times and
lengths, to receivers that drop it; log and digest included. Processor time, least of several rounds in turns.

Of a block of 64 validators kernel, queue and bus take a quarter, reading and checking votes 28 %, and execution 11 %.
Checking a vote takes virtual time: a second event and a second turn of the kernel, which the bus alone has not.
"""

import gc
import time
from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple, TypeAlias

import trio

from benchmarks.figures import head_line
from cluster.runtime.cluster import Cluster
from cluster.runtime.hooks import RunHooks
from cluster.runtime.replicas import topology_of
from cluster.scenario.load import load_scenario
from cluster.scenario.model import Scenario
from network.bus import Bus
from network.chance import Chance
from network.events import Event, Sent, read_event
from network.kernel import Kernel
from network.port import Port
from network.trace import Trace
from network.types import EventKind, Label, Micros, NodeId
from validators.messages import BLOCK_BYTES_MAX

Show: TypeAlias = Callable[[str], None]

SIZES: Final = ((4, 40), (16, 12), (64, 3))
"""Validators, and the height that a run goes to."""

REPEATS: Final = 3
RATIO_MAX: Final = 5.0
_NANOSECONDS_PER_SECOND: Final = 1_000_000_000


class Message(NamedTuple):
    """A message of the run, or a broadcast to several receivers."""

    at_us: Micros
    source: NodeId
    payload: bytes
    label: Label
    destinations: list[NodeId]


def run(show: Show = print) -> None:
    """Print blocks per second of each size, and the cost of a block over that of its messages alone."""
    show("calm run                 blocks/s   messages   ms a block   bus alone   ratio")
    for validators, height in SIZES:
        settings = ("workload.payments.count=1", f"cluster.validators={validators}", f"run.until_height={height}")
        scenario = load_scenario("calm", settings)
        messages = list_messages(scenario)
        rounds = [(_run_ns(scenario), bus_ns(scenario, messages)) for _ in range(REPEATS)]
        whole_ns, alone_ns = (min(column) for column in zip(*rounds, strict=True))
        ratio = whole_ns / alone_ns
        missed = f"   MISSED: at most {RATIO_MAX:g}" if validators == SIZES[-1][0] and ratio > RATIO_MAX else ""
        count = sum(len(message.destinations) for message in messages)
        show(
            f"  {validators:3d} validators       {height * _NANOSECONDS_PER_SECOND / whole_ns:9.2f}{count:11,d}"
            f"{whole_ns / height / 1e6:13.1f}{alone_ns / height / 1e6:12.1f}{ratio:8.1f}{missed}"
        )
    show(head_line("validators", f"{ratio:.1f} times", is_missed=ratio > RATIO_MAX))


def list_messages(scenario: Scenario) -> list[Message]:
    """Return what a run sends, in its order; sends of one payload in one instant are one broadcast."""
    messages: list[Message] = []
    last: list[object] = []

    def note(event: Event) -> None:
        sent = read_event(event, Sent)
        if sent is None:
            return
        key = [event.at_us, event.node, sent.checksum, sent.label]
        if key == last:
            messages[-1].destinations.append(sent.destination)
            return
        last[:] = key
        label = Label(sent.label, sent.view, sent.height)
        messages.append(Message(event.at_us, event.node, bytes(sent.length), label, [sent.destination]))

    Cluster(scenario, 0, hooks=RunHooks(on_event=note)).run()
    return messages


def _run_ns(scenario: Scenario) -> int:
    cluster = Cluster(scenario, 0)
    gc.collect()
    started_ns = time.process_time_ns()
    cluster.run()
    return time.process_time_ns() - started_ns


def bus_ns(scenario: Scenario, messages: list[Message]) -> int:
    """Return the processor time of a bare kernel and bus with these messages, in nanoseconds."""
    nodes = range(scenario.cluster.validators)
    trace = Trace(nodes)
    kernel = Kernel(trace, step_limit=1 << 40, time_limit_us=messages[-1].at_us + 1_000_000)
    bus = Bus(kernel, topology_of(scenario), Chance(0), trace, size_limit=2 * BLOCK_BYTES_MAX)

    def send(message: Message) -> None:
        if len(message.destinations) == len(nodes) - 1:
            bus.broadcast(message.source, message.payload, message.label)
            return
        for destination in message.destinations:
            bus.send(message.source, destination, message.payload, message.label)

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            for node in nodes:
                port = Port(kernel, bus, trace.chain(node), node, incarnation=0)
                nursery.start_soon(port.serve, _throw_away)

    for ordinal, message in enumerate(messages):
        action = partial(send, message)
        kernel.post(message.at_us, message.source, EventKind.WORKLOAD, message.source, ordinal, action)
    gc.collect()
    started_ns = time.process_time_ns()
    kernel.run(main)
    assert trace.digest, "the log is hashed to its end in the time that is measured"
    return time.process_time_ns() - started_ns


def _throw_away(_inbound: object) -> None:
    pass


if __name__ == "__main__":
    run()
