"""Peers that are cut off for a time because they sent what no honest validator sends; off unless a scenario asks.

A restart forgets them. The time is measured by the machine's monotonic clock.
"""

from typing import Final

from network.port import Port
from network.types import NodeId
from validators.events import PeerAdmitted, PeerBlocked
from validators.settings import ValidatorSettings

TIMER: Final = "peer"
"""The name of the timer at whose end a peer is heard again; its key has the peer too."""


class BlockedPeers:
    """The peers that one validator has cut off: it takes nothing from them, and its port sends them nothing."""

    def __init__(self, port: Port, settings: ValidatorSettings) -> None:
        self.blocked: Final = port.blocked_peers
        self._port = port
        self._node = settings.node
        self._blocks_us = settings.blocks_peers_us

    def blame(self, peer: NodeId, reason: str) -> None:
        """Cut off a peer for what it sent; its time does not grow if it is cut off already."""
        if self._blocks_us and peer != self._node and peer not in self.blocked:
            self.blocked[peer] = None
            self._port.trace(PeerBlocked(peer, self._blocks_us, reason))
            self._port.set_timer((TIMER, peer), self._blocks_us)

    def admit(self, peer: NodeId) -> None:
        """Take messages of a peer again, because its time is over."""
        del self.blocked[peer]
        self._port.trace(PeerAdmitted(peer))
