"""The toy: a chain of votes. What it sends, when, and under what disturbances, the same for every simulator.

Views are numbered; the leader of view v is validator v modulo n. It broadcasts a proposal; whoever has it in its view
broadcasts a vote; a quorum of n - f votes ends the view. After 60 ms without the end of a view a validator sends
again what it sent in it and in the one before. Messages are bytes: kind and view in front, 120 bytes of payload
behind. A message counts when it has been delivered to a running validator.

The conditions: latency uniform in 8 to 12 ms, 2 % of messages lost, validator 0 cut off from 1.0 s to 1.5 s,
validator 1 switched off from 2.0 s to 2.3 s and back with empty memory; the run ends when validator 2 reaches `views`.
"""

import struct
from collections.abc import Callable
from typing import Final

LATENCY_US: Final = (8_000, 12_000)
LOSS_PERCENT: Final = 2
RESEND_US: Final = 60_000
CUT_US: Final = (1_000_000, 1_500_000)
CUT_OFF: Final = 0
OFF_US: Final = (2_000_000, 2_300_000)
SWITCHED_OFF: Final = 1
OBSERVED: Final = 2
PAYLOAD: Final = bytes(120)

_HEAD: Final = struct.Struct(">BI")
_PROPOSAL: Final = 1
_VOTE: Final = 2


class Voter:
    """One validator: it hears bytes, and broadcasts bytes.

    Args:
        me: its number.
        nodes: how many validators there are.
        broadcast: sends bytes to all others.
        arm: starts the timer anew; `expire` is to be called 60 ms later.
    """

    __slots__ = (
        "_arm",
        "_broadcast",
        "_me",
        "_nodes",
        "_proposed",
        "_quorum",
        "_sent",
        "_sent_before",
        "_votes",
        "heard",
        "view",
    )

    def __init__(self, me: int, nodes: int, broadcast: Callable[[bytes], object], arm: Callable[[], object]) -> None:
        self.view = -1
        self.heard = 0
        self._me = me
        self._nodes = nodes
        self._quorum = nodes - (nodes - 1) // 3
        self._broadcast = broadcast
        self._arm = arm
        self._votes: dict[int, dict[int, None]] = {}
        self._proposed: dict[int, None] = {}
        self._sent: list[bytes] = []
        self._sent_before: list[bytes] = []

    def start(self) -> None:
        """Enter the first view."""
        self._enter(0)

    def hear(self, source: int, message: bytes) -> None:
        """Take one message."""
        self.heard += 1
        kind, view = _HEAD.unpack_from(message)
        if view < self.view:
            return
        if kind == _PROPOSAL:
            self._proposed[view] = None
            if view == self.view:
                self._vote()
        else:
            self._count(source, view)

    def expire(self) -> None:
        """Send again what was sent in this view and, for those a view behind, in the one before."""
        for message in (*self._sent_before, *self._sent):
            self._broadcast(message)
        self._arm()

    def _enter(self, view: int) -> None:
        self.view = view
        self._sent_before, self._sent = self._sent, []
        for past in [known for known in self._votes if known < view]:
            del self._votes[past]
        for past in [known for known in self._proposed if known < view]:
            del self._proposed[past]
        self._arm()
        if view % self._nodes == self._me:
            self._send(_PROPOSAL)
            self._vote()
        elif view in self._proposed:
            self._vote()

    def _vote(self) -> None:
        view = self.view
        if self._me not in self._votes.get(view, {}):
            self._send(_VOTE)
            self._count(self._me, view)

    def _count(self, source: int, view: int) -> None:
        votes = self._votes.setdefault(view, {})
        votes[source] = None
        if len(votes) == self._quorum:
            self._enter(view + 1)

    def _send(self, kind: int) -> None:
        message = _HEAD.pack(kind, self.view) + PAYLOAD
        self._sent.append(message)
        self._broadcast(message)
