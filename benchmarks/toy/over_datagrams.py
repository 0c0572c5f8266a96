"""A validator of the toy as an asyncio datagram protocol, for simulators that have a loop with a network."""

import asyncio
from collections.abc import Callable
from typing import Any

from benchmarks.toy.protocol import RESEND_US, Voter

PORT = 9000
_SECOND_US = 1_000_000


class DatagramVoter(asyncio.DatagramProtocol):
    """One incarnation of a validator.

    Args:
        me: its number.
        nodes: how many validators there are.
        address: gives the address of a validator by its number.
        heard: is called with the number of the validator after each message.
    """

    def __init__(
        self, me: int, nodes: int, address: Callable[[int], tuple[str, int]], heard: Callable[["DatagramVoter"], object]
    ) -> None:
        self.me = me
        self._peers = [address(node) for node in range(nodes) if node != me]
        self._numbers: dict[str, int] = {}
        self._heard = heard
        self._timer: asyncio.TimerHandle | None = None
        self.voter = Voter(me, nodes, self._broadcast, self._arm)
        self._number_of = {address(node)[0]: node for node in range(nodes)}

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin when the endpoint is there."""
        assert isinstance(transport, asyncio.DatagramTransport)
        self._send = transport.sendto
        # Behind the caller, who opens the endpoints of the others first.
        asyncio.get_running_loop().call_soon(self.voter.start)

    def datagram_received(self, data: bytes, address: tuple[str | Any, int]) -> None:
        """Take one message."""
        self.voter.hear(self._number_of[address[0]], data)
        self._heard(self)

    def stop(self) -> None:
        """Let no timer fire any more."""
        if self._timer is not None:
            self._timer.cancel()

    def _broadcast(self, message: bytes) -> None:
        send = self._send
        for peer in self._peers:
            send(message, peer)

    def _arm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(RESEND_US / _SECOND_US, self.voter.expire)
