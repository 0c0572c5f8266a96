"""The toy on simloop: datagrams over its network, its trace, its crash and restart."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from simloop import SimLoop  # type: ignore[import-not-found]  # in no requirement file

from benchmarks.toy.over_datagrams import PORT, DatagramVoter
from benchmarks.toy.protocol import CUT_OFF, CUT_US, LATENCY_US, LOSS_PERCENT, OBSERVED, OFF_US, SWITCHED_OFF

_SECOND_US = 1_000_000


def run(nodes: int, views: int) -> int:
    """Run the toy; return the number of messages delivered."""
    loop = SimLoop(seed=0)
    net = loop.net
    net.set_defaults(latency=(LATENCY_US[0] / _SECOND_US, LATENCY_US[1] / _SECOND_US), drop=LOSS_PERCENT / 100)
    hosts = [net.host(f"n{node}") for node in range(nodes)]
    delivered = [0]

    async def main() -> None:
        ended = loop.create_future()

        def heard(member: DatagramVoter) -> None:
            delivered[0] += 1
            if member.me == OBSERVED and member.voter.view >= views and not ended.done():
                ended.set_result(None)

        def address(node: int) -> tuple[str, int]:
            return (f"n{node}", PORT)

        async def serve(node: int) -> None:
            await asyncio.get_running_loop().create_datagram_endpoint(
                lambda: DatagramVoter(node, nodes, address, heard), local_addr=address(node)
            )
            await loop.create_future()

        async def disturb() -> None:
            names = [host.name for host in hosts]
            others = [name for name in names if name != names[CUT_OFF]]
            await asyncio.sleep(CUT_US[0] / _SECOND_US)
            net.partition([names[CUT_OFF]], others)
            await asyncio.sleep((CUT_US[1] - CUT_US[0]) / _SECOND_US)
            net.heal()
            await asyncio.sleep((OFF_US[0] - CUT_US[1]) / _SECOND_US)
            hosts[SWITCHED_OFF].crash()
            await asyncio.sleep((OFF_US[1] - OFF_US[0]) / _SECOND_US)
            hosts[SWITCHED_OFF].restart()
            hosts[SWITCHED_OFF].create_task(serve(SWITCHED_OFF))

        tasks: list[Coroutine[Any, Any, None]] = [serve(node) for node in range(nodes)]
        for host, task in zip(hosts, tasks, strict=True):
            host.create_task(task)
        loop.create_task(disturb())
        await ended

    try:
        loop.run_until_complete(main())
    finally:
        loop.close()
    return delivered[0]
