"""Messages per second of kernel and bus, beside simpy on the same protocol in the same process.

The protocol: every node broadcasts; a node that has n-1 messages of a round starts the next. Latency is 1 ms, fixed,
as it is for simpy, which has no bus: a `simpy.Store` per node and a process per message that waits and puts.
"""

import gc
import time
from collections.abc import Callable, Generator
from functools import partial
from typing import Any, Final, TypeAlias

import simpy
import trio

from network.bus import Bus
from network.chance import Chance
from network.kernel import Kernel
from network.latency import Latency
from network.port import Delivery, Port
from network.topology import build_topology
from network.trace import Trace
from network.types import Label

Print: TypeAlias = Callable[[str], None]

_LATENCY_US: Final = 1_000
_MESSAGES: Final = 120_000
_REPEATS: Final = 3
_PAYLOAD: Final = bytes(120)
_ROUND: Final = Label("round")
_LATENCIES: Final = {
    "fixed": Latency("fixed", _LATENCY_US),
    "normal": Latency("normal", _LATENCY_US, _LATENCY_US // 10),
}


def run(print: Print = print) -> None:  # noqa: A002  # the caller hands in its own way of printing
    """Print messages per second at 4, 16 and 64 nodes: simpy, and kernel and bus without and with the trace."""
    print("bus, messages/s (best of 3)      simpy   kernel    ratio   +trace    ratio   +trace, normal latency")
    for nodes in (4, 16, 64):
        peer, plain, traced, jittered = _best_of_each(
            partial(run_simpy, nodes),
            partial(run_bus, nodes, recording=False),
            partial(run_bus, nodes, recording=True),
            partial(run_bus, nodes, recording=True, latency="normal"),
        )
        print(
            f"  {nodes:3d} nodes                  {peer:9,d}{plain:9,d}{plain / peer:8.2f}x{traced:9,d}"
            f"{traced / peer:8.2f}x{jittered:9,d}"
        )


def _best_of_each(*measures: Callable[[], int]) -> list[int]:
    # In turns, so that a slow moment of the machine does not fall on one of them alone.
    rounds = [[_per_second(measure) for measure in measures] for _ in range(_REPEATS)]
    return [max(figures) for figures in zip(*rounds, strict=True)]


def _per_second(measure: Callable[[], int]) -> int:
    gc.collect()
    start_ns = time.perf_counter_ns()
    messages = measure()
    return messages * 1_000_000_000 // (time.perf_counter_ns() - start_ns)


def _rounds(nodes: int) -> int:
    return max(2, _MESSAGES // (nodes * (nodes - 1)))


def run_bus(nodes: int, *, recording: bool, latency: str = "fixed") -> int:
    """Run the protocol on kernel and bus; return the number of messages delivered."""
    trace = Trace(range(nodes), recording=recording)
    kernel = Kernel(trace, step_limit=1 << 40, time_limit_us=1 << 50)
    bus = Bus(kernel, build_topology(nodes, _LATENCIES[latency]), Chance(0), trace, size_limit=1 << 20)

    async def play(port: Port, rounds: int) -> None:
        heard = [0] * (rounds + 1)
        for number in range(rounds):
            port.broadcast(number.to_bytes(4, "big") + _PAYLOAD, _ROUND)
            while heard[number] < nodes - 1:
                message = await port.receive()
                assert isinstance(message, Delivery)
                heard[int.from_bytes(message.payload[:4], "big")] += 1

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            for node in range(nodes):
                port = Port(kernel, bus, trace.chain(node), node, incarnation=0)
                nursery.start_soon(play, port, _rounds(nodes))

    kernel.run(main)
    return bus.statistics().delivered


def run_simpy(nodes: int) -> int:
    """Run the protocol on simpy; return the number of messages delivered."""
    environment = simpy.Environment()
    stores = [simpy.Store(environment) for _ in range(nodes)]
    delivered = [0] * nodes

    def carry(store: simpy.Store, payload: bytes) -> Generator[Any, Any, None]:
        yield environment.timeout(_LATENCY_US)
        store.put(payload)

    def play(me: int, rounds: int) -> Generator[Any, Any, None]:
        heard = [0] * (rounds + 1)
        for number in range(rounds):
            payload = number.to_bytes(4, "big") + _PAYLOAD
            for destination in range(nodes):
                if destination != me:
                    environment.process(carry(stores[destination], payload))
            while heard[number] < nodes - 1:
                received = yield stores[me].get()
                delivered[me] += 1
                heard[int.from_bytes(received[:4], "big")] += 1

    for node in range(nodes):
        environment.process(play(node, _rounds(nodes)))
    environment.run()
    return sum(delivered)


if __name__ == "__main__":
    run()
