"""The toy on simloom: datagrams over its network, its event log, its crash and restart."""

import asyncio

import simloom  # type: ignore[import-not-found]  # in no requirement file

from benchmarks.toy.over_datagrams import PORT, DatagramVoter
from benchmarks.toy.protocol import CUT_OFF, CUT_US, LATENCY_US, LOSS_PERCENT, OBSERVED, OFF_US, SWITCHED_OFF

_SECOND_US = 1_000_000
_NEVER = 1 << 30


def run(nodes: int, views: int) -> int:
    """Run the toy; return the number of messages delivered."""
    delivered = [0]

    async def main(world: simloom.World) -> None:
        world.net.set_latency(LATENCY_US[0] / _SECOND_US, LATENCY_US[1] / _SECOND_US)
        world.net.set_datagram_loss(LOSS_PERCENT)
        hosts = [world.host(f"n{node}") for node in range(nodes)]
        ended = asyncio.get_running_loop().create_future()

        def heard(member: DatagramVoter) -> None:
            delivered[0] += 1
            if member.me == OBSERVED and member.voter.view >= views and not ended.done():
                ended.set_result(None)

        def address(node: int) -> tuple[str, int]:
            return (world.net.dns.register(f"n{node}"), PORT)

        async def serve(node: int) -> None:
            await asyncio.get_running_loop().create_datagram_endpoint(
                lambda: DatagramVoter(node, nodes, address, heard), local_addr=(f"n{node}", PORT)
            )
            await world.sleep(_NEVER)

        for node, host in enumerate(hosts):
            host.spawn(lambda node=node: serve(node))
        loop = asyncio.get_running_loop()
        others = [host for host in hosts if host is not hosts[CUT_OFF]]
        for at_us, action in (
            (CUT_US[0], lambda: world.net.partition([hosts[CUT_OFF]], others)),
            (CUT_US[1], world.net.heal),
            (OFF_US[0], hosts[SWITCHED_OFF].crash),
            (OFF_US[1], hosts[SWITCHED_OFF].restart),
        ):
            loop.call_later(at_us / _SECOND_US, action)
        await ended

    simloom.run(main, seed=0)
    return delivered[0]
