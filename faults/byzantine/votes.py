"""Tampering with votes in any engine with votes: two votes instead of one, old votes, or no vote."""

from collections import deque
from collections.abc import Iterable
from typing import Final

from faults.byzantine.adversary import Adversary, Behaviour, Orders, Outgoing
from network.types import Label, NodeId
from validators.messages import Message

VOTES_REPEATED: Final = 3
"""The number of old messages sent along with a new message."""

_MESSAGES_KEPT: Final = 64

_OF_A_QUORUM: Final = ("vote", "certificate")
"""Roles of the messages that form a quorum."""


def other_digest(digest: bytes) -> bytes:
    """Return a digest that belongs to no block."""
    return bytes(byte ^ 0xFF for byte in digest)


class ConflictingVotes(Behaviour):
    """Votes for two blocks of a view before everybody: a block that does not exist, then the true one."""

    def tamper(self, outgoing: Outgoing) -> Iterable[Outgoing]:
        """Send a vote for another block before a vote."""
        votes = self.adversary.votes
        digest = votes.block_of(outgoing.message)
        if digest is None or not self.is_time():
            return (outgoing,)
        self.note(outgoing.label.kind, outgoing.to)
        return (outgoing._replace(message=votes.vote_for(outgoing.message, other_digest(digest))), outgoing)


class Withhold(Behaviour):
    """Withholds kinds of messages from some or all receivers; by default votes and certificates from all."""

    def tamper(self, outgoing: Outgoing) -> Iterable[Outgoing]:
        """Drop the receivers that must not get the message."""
        if not self._is_meant(outgoing):
            return (outgoing,)
        deprived = tuple(node for node in outgoing.to if not self.fault.to or node in self.fault.to)
        if not deprived or not self.is_time():
            return (outgoing,)
        self.note(outgoing.label.kind, deprived)
        return (outgoing._replace(to=tuple(node for node in outgoing.to if node not in deprived)),)

    def _is_meant(self, outgoing: Outgoing) -> bool:
        if self.fault.kinds:
            return outgoing.label.kind in self.fault.kinds
        return self.adversary.role_of(outgoing.message) in _OF_A_QUORUM


class StaleVotes(Behaviour):
    """Sends its vote of an earlier view again instead of the new vote."""

    def __init__(self, adversary: Adversary, name: str, fault: Orders) -> None:
        super().__init__(adversary, name, fault)
        self._last: dict[str, Outgoing] = {}

    def tamper(self, outgoing: Outgoing) -> Iterable[Outgoing]:
        """Replace a vote by the last true vote of its kind."""
        if self.adversary.role_of(outgoing.message) != "vote":
            return (outgoing,)
        kind = outgoing.label.kind
        earlier = self._last.get(kind)
        self._last[kind] = outgoing
        if earlier is None or not self.is_time():
            return (outgoing,)
        self.note(kind, outgoing.to)
        return (earlier._replace(to=outgoing.to),)


class Replay(Behaviour):
    """Sends old messages again along with each vote: its own, and messages heard from other validators."""

    def __init__(self, adversary: Adversary, name: str, fault: Orders) -> None:
        super().__init__(adversary, name, fault)
        self._kept: deque[Message] = deque(maxlen=_MESSAGES_KEPT)

    def tamper(self, outgoing: Outgoing) -> Iterable[Outgoing]:
        """Add old messages to a vote."""
        message = outgoing.message
        if self.adversary.role_of(message) != "vote" or not self.is_time():
            return (outgoing,)
        old = [self._kept[self.draw(len(self._kept))] for _ in range(VOTES_REPEATED) if self._kept]
        self._kept.append(message)
        again = [Outgoing(outgoing.to, each, Label(each.traced_name)) for each in old]
        for each in again:
            self.note(each.label.kind, each.to)
        return (outgoing, *again)

    def hear(self, _source: NodeId, message: Message) -> None:
        """Keep votes and certificates of other validators."""
        if self.adversary.role_of(message) in _OF_A_QUORUM:
            self._kept.append(message)
