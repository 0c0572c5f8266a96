"""Bids of a workload for its timers in the timer lane: fees, tips, tiers, and agents that bid in its name."""

from typing import Annotated, Final, Literal

import msgspec

from cluster.scenario.fields import NotNegative, TenThousand, means
from cluster.workloads.submission import Site, WorkloadKind
from validators.actors import FeedRiskOrder, FeeTerms, RiskOrder
from validators.execution import GenesisActor

DEBTS: Final = {"calm": 5, "alarmed": 8, "desperate": 10}
"""Debts against a value of 10 that a risk agent finds harmless, alarming, and beyond the limit."""

FEED_DEBT: Final = 9_450
"""A debt against a collateral of 10: beyond the limit if a feed's value is below 1,050, otherwise alarming."""

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
"""A risk agent with a position of this kind, an address without an agent, or a chaos agent in this mode.

The mode `low` bids a fee of L, and `nothing` a fee of 0. `sum` is a script actor: its bid depends on all of its input
numbers.
"""


class QuotingKind(WorkloadKind, kw_only=True, frozen=True):
    """A workload whose timers bid; fees are in units per cycle."""

    actors: Annotated[TenThousand, means("Actors with timers.")]
    max_fee: Annotated[
        NotNegative | None,
        means("The most that a timer pays a cycle.", left_out="open, as the agent or the policy has it"),
    ] = None
    tips: Annotated[tuple[NotNegative, ...], means("Actor i tips `tips[i modulo their number]`.")] = ()
    tier: Annotated[Tier | None, means("The priority tier that a timer asks for.", left_out="no tier")] = None
    agent: Annotated[Agent, means("The agent that bids for what the timers leave open.")] = ""
    feed: Annotated[
        str, means("Workload of `oracle-feeds`: an agent bids by the value of its first feed, instead of `agent`.")
    ] = ""
    bid: Annotated[
        NotNegative | None,
        means("Units that a timer bids in the bias auction; the lane refuses it.", left_out="no bid, or the agent's"),
    ] = None

    def problem(self, site: Site) -> str:
        """Return that the feed does not exist, or that another agent stands beside it."""
        if self.feed and self.agent:
            return "feed and agent both name who bids; leave one of the two out"
        feeds = [name for name, each in site.workloads.items() if type(each).__struct_config__.tag == "oracle-feeds"]
        if not self.feed or self.feed in feeds:
            return ""
        return f"feed: {self.feed!r} is no workload of oracle-feeds; there are {', '.join(feeds) or 'none'}"

    def firing_actors(self, site: Site) -> tuple[bytes, ...]:
        """Return the addresses of all its actors."""
        return tuple(site.actor(index) for index in range(self.actors))

    def terms(self, site: Site, index: int) -> FeeTerms:
        """Return the bid of an actor's timers."""
        return FeeTerms(
            max_fee_per_cycle=self.max_fee,
            max_priority_fee_per_cycle=self.tips[index % len(self.tips)] if self.tips else None,
            priority_tier_hint=self.tier,
            gba=self._address(site) if self.agent or self.feed else None,
            bid=self.bid,
        )

    def agents(self, site: Site) -> tuple[GenesisActor, ...]:
        """Return the agent of this workload, if there is one and it exists."""
        if self.feed:
            order = FeedRiskOrder(10, FEED_DEBT, site.actor(0, self.feed))
            program, key, value = "liquidation-agent", b"order", msgspec.msgpack.encode(order)
        elif self.agent in ("", "nobody"):
            return ()
        elif self.agent in DEBTS:
            program, key, value = "risk-agent", b"order", msgspec.msgpack.encode(RiskOrder(10, DEBTS[self.agent], 1))
        elif self.agent == "sum":
            program, key, value = "script-actor", b"script", msgspec.msgpack.encode([[], 0])
        else:
            program, key, value = "chaos-agent", b"mode", self.agent.encode()
        return (GenesisActor(self._address(site), program, bytes(20), 0, ((key, value),)),)

    def _address(self, site: Site) -> bytes:
        return site.actor(0, f"{site.name}/agent")
