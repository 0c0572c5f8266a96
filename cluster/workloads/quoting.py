"""What a workload offers for its timers in the timer lane: fees, tips, tiers, and agents that bid in its name."""

from typing import Annotated, Final, Literal

import msgspec

from cluster.workloads.submission import NotNegative, Site, WorkloadKind
from validators.actors import FeeTerms, RiskOrder
from validators.execution import GenesisActor

DEBTS: Final = {"calm": 5, "alarmed": 8, "desperate": 10}
"""Debts against a value of 10 that a risk agent finds harmless, alarming, and past the limit."""

Tier = Literal["economy", "standard", "fast", "urgent"]
"""The hints that the lane knows (docs/spec.md)."""

Agent = Literal[
    "",
    "calm",
    "alarmed",
    "desperate",
    "nobody",
    "revert",
    "spin",
    "crash",
    "write",
    "negative",
    "great",
    "garbage",
    "short",
    "low",
    "nothing",
    "sum",
]
"""A risk agent with a position of this kind, nobody, or a chaos agent in this mode (`low`: a fee of L; `nothing`: 0).

`sum` is a clerk, whose bid depends on all that it is told.
"""


class QuotingKind(WorkloadKind, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """A workload whose timers bid. Fees are in units per cycle; actor i tips ``tips[i modulo their number]``."""

    actors: Annotated[int, msgspec.Meta(ge=1, le=10_000)]
    max_fee: NotNegative | None = None
    tips: tuple[NotNegative, ...] = ()
    tier: Tier | None = None
    agent: Agent = ""
    bid: NotNegative | None = None

    def firing_actors(self, site: Site) -> tuple[bytes, ...]:
        """All of them."""
        return tuple(site.actor(index) for index in range(self.actors))

    def terms(self, site: Site, index: int) -> FeeTerms:
        """Return what the timers of an actor offer."""
        return FeeTerms(
            max_fee_per_cycle=self.max_fee,
            max_priority_fee_per_cycle=self.tips[index % len(self.tips)] if self.tips else None,
            priority_tier_hint=self.tier,
            gba=self._address(site) if self.agent else None,
            bid=self.bid,
        )

    def agents(self, site: Site) -> tuple[GenesisActor, ...]:
        """Return the agent of this workload, if there is one and it exists."""
        if self.agent in ("", "nobody"):
            return ()
        if self.agent in DEBTS:
            order = msgspec.msgpack.encode(RiskOrder(10, DEBTS[self.agent], 1))
            return (GenesisActor(self._address(site), "risk-agent", bytes(20), 0, ((b"order", order),)),)
        if self.agent == "sum":
            script = msgspec.msgpack.encode([[], 0])
            return (GenesisActor(self._address(site), "clerk", bytes(20), 0, ((b"script", script),)),)
        return (GenesisActor(self._address(site), "chaos-agent", bytes(20), 0, ((b"mode", self.agent.encode()),)),)

    def _address(self, site: Site) -> bytes:
        return site.actor(0, f"{site.name}/agent")
