"""Switching policies at a height: a block goes by its own height alone, so a reorg may cross the switch (A-22)."""

from dataclasses import dataclass
from typing import final

from scheduler.policies.policy import Policy


@final
@dataclass(frozen=True, slots=True)
class Schedule:
    """Which policy holds when: `first` below `activated_at`, `then` from that block height on."""

    first: Policy
    then: Policy
    activated_at: int

    def policy_at(self, height: int) -> Policy:
        """Return the policy of a block; its transactions go by it too."""
        return self.then if height >= self.activated_at else self.first
