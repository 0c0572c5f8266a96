"""Leaders of views, and whether a view's leader is worth waiting for.

Leaders take turns (RoundRobin; docs/simplex.md): leader = (epoch + term) mod n, where a term is one view and genesis is
term 0. The leader depends on the view alone, so that every certificate that can unlock a view names the same leader.

Activity is counted in ticks of a quarter of skip_timeout, because the state machine has no clock: the shell fires one
timer per tick. A validator that was last heard in tick t counts as silent from tick t + 5 on, thus after between 1 and
1.25 times skip_timeout. A timer per participant and message would be exact and cost n timers a view.
"""

from typing import Final

from network.types import NodeId
from validators.consensus.simplex.messages import EPOCH

TICKS_PER_SKIP: Final = 4
"""LeaderActivity ticks in one skip_timeout."""


def leader_of(view: int, validators: int) -> NodeId:
    """Return the leader of a view, which must be 1 or more."""
    assert view >= 1, f"view {view} has no leader"
    return (EPOCH + view) % validators


class LeaderActivity:
    """The tick in which each validator was last heard; at the start all count as just heard."""

    def __init__(self, validators: int) -> None:
        self.tick = 0
        self._last_heard = [0] * validators

    def hear(self, validator: NodeId) -> None:
        """Note that a vote or certificate of `validator` has just come."""
        self._last_heard[validator] = self.tick

    def advance(self) -> None:
        """Note that a quarter of skip_timeout has passed."""
        self.tick += 1

    def is_active(self, validator: NodeId) -> bool:
        """Whether the validator was heard within skip_timeout."""
        # Four whole ticks must pass, because the vote may have come right before the end of its own tick.
        return self.tick - self._last_heard[validator] <= TICKS_PER_SKIP

    def is_skippable(self, leader: NodeId, me: NodeId, quorum: int) -> bool:
        """Whether the leader is silent although a quorum of validators is active.

        A network that is quiet as a whole skips no leader: then the silence says nothing about the leader.
        """
        if leader == me or self.is_active(leader):
            return False
        others = (node for node in range(len(self._last_heard)) if node not in (me, leader))
        # One less than a quorum, because this validator is active itself and not counted among its peers.
        return sum(1 for node in others if self.is_active(node)) >= quorum - 1
