"""Verified votes and timeouts, our own and those of peers: counted until they make a certificate.

Each signer has room for its votes of the current views and for its latest TIMEOUT only. So no signer can displace
another signer's messages, and a timeout for a view far ahead takes only one place in a list.
"""

from dataclasses import dataclass, field
from enum import StrEnum

from network.types import NodeId
from validators.consensus.hotstuff.messages import BlockVote, ViewTimeout
from validators.consensus.interface import BlockRef


class GivenUp(StrEnum):
    """Reasons to give up a view."""

    EXPIRED = "ViewExpired"
    JOINED = "PeerTimeouts"


@dataclass(slots=True)
class VoteTally:
    """The first vote of each signer in each view; a second vote for another block is evidence, reported once."""

    _votes: dict[int, dict[NodeId, BlockVote]] = field(default_factory=dict)
    _convicted: dict[tuple[int, NodeId], None] = field(default_factory=dict)

    def __len__(self) -> int:
        """Return the number of votes and convictions."""
        return len(self._convicted) + sum(map(len, self._votes.values()))

    def is_news(self, vote: BlockVote) -> bool:
        """Whether a vote could still count or be evidence; checked before its signature is verified."""
        earlier = self._votes.get(vote.view, {}).get(vote.signer)
        if earlier is None:
            return True
        return earlier.digest != vote.digest and (vote.view, vote.signer) not in self._convicted

    def add(self, vote: BlockVote) -> tuple[BlockVote, BlockVote] | None:
        """Count a verified vote; return it with its signer's earlier vote for another block, the first time only."""
        earlier = self._votes.setdefault(vote.view, {}).setdefault(vote.signer, vote)
        if earlier.digest == vote.digest or (vote.view, vote.signer) in self._convicted:
            return None
        self._convicted[vote.view, vote.signer] = None
        return earlier, vote

    def like(self, vote: BlockVote) -> dict[NodeId, BlockVote]:
        """Return the votes for the same block, by signer."""
        votes = self._votes.get(vote.view, {})
        return {signer: each for signer, each in votes.items() if each.digest == vote.digest}

    def of_block(self, ref: BlockRef) -> list[BlockVote]:
        """Return the votes for a block."""
        return [each for each in self._votes.get(ref.view, {}).values() if each.digest == ref.digest]

    def prune(self, below: int) -> None:
        """Forget the votes of views below `below`."""
        self._votes = {view: votes for view, votes in self._votes.items() if view >= below}
        self._convicted = {key: None for key in self._convicted if key[0] >= below}


@dataclass(slots=True)
class TimeoutTally:
    """The latest TIMEOUT of each signer."""

    _latest: dict[NodeId, ViewTimeout] = field(default_factory=dict)

    def __len__(self) -> int:
        """Return the number of signers."""
        return len(self._latest)

    def is_news(self, message: ViewTimeout) -> bool:
        """Whether the message is of a later view than the signer's last message, or has a higher certificate."""
        earlier = self._latest.get(message.signer)
        return earlier is None or (message.view, message.high.view) > (earlier.view, earlier.high.view)

    def add(self, message: ViewTimeout) -> None:
        """Keep a message in place of the signer's older message."""
        if self.is_news(message):
            self._latest[message.signer] = message

    def of_view(self, view: int) -> dict[NodeId, ViewTimeout]:
        """Return the timeouts of a view by signer."""
        return {signer: each for signer, each in self._latest.items() if each.view == view}

    def view_of_others(self, me: NodeId, place: int) -> int:
        """Return the `place`-th highest view that the messages of peers name, 0 where there are fewer messages."""
        views = sorted((message.view for signer, message in self._latest.items() if signer != me), reverse=True)
        return views[place - 1] if len(views) >= place else 0
