"""All drawn policies with parameters of their own, by name."""

from collections.abc import Mapping
from typing import Final

from cluster.swarm.policies import aptos, bias_auction, fifo_free, gba_auction
from cluster.swarm.policies.policy import DrawnPolicy
from network.draw import Draw, Stratum

DRAWN_POLICIES: Final[Mapping[str, DrawnPolicy]] = {
    "gba-auction": DrawnPolicy(
        4,
        gba_auction.draw_auction,
        gba_auction.fit_to_auction,
        changes=gba_auction.CHANGES,
        council_percent=75,
    ),
    "bias-auction": DrawnPolicy(
        4,
        bias_auction.draw_bias,
        bias_auction.fit_to_bias,
        timers=bias_auction.TIMERS,
        changes=bias_auction.CHANGES,
    ),
    "aptos": DrawnPolicy(
        4,
        aptos.draw_queue,
        aptos.fit_to_queue,
        timers=aptos.TIMERS,
        changes=aptos.CHANGES,
        actions=aptos.draw_service,
        # Only a council stops and starts the service.
        council_percent=90,
        knows_identifiers=aptos.knows_identifiers,
        may_be_narrow=False,
    ),
    "fifo-free": DrawnPolicy(
        1, fifo_free.draw_free, fifo_free.fit_to_free, changes=fifo_free.CHANGES, may_be_narrow=False
    ),
}
"""By name, in the order of the list."""

STRATA: Final = (
    *["eip1559"] * 5,
    *("bias-auction", "aptos"),
    *["fifo"] * 2,
    *("gba-auction", "fifo-free"),
    *(name for name, own in DRAWN_POLICIES.items() for _ in range(own.share - 1)),
)
"""One value a seed, like the engines' strata; the places of a policy's share decide which seeds have it."""


def draw_policy(draw: Draw) -> str:
    """Return the policy of a seed."""
    return draw.stratified("policy", STRATA)


def draw_stratum(draw: Draw, policy: str, stated: str = "") -> Draw:
    """Return the draw of a seed's chain and workloads, under its policy or the stated policy.

    A policy with parameters has few seeds, and hardly two of its rules meet in a seed: its draws are stratified.
    """
    if policy not in DRAWN_POLICIES and policy != "eip1559":
        return draw
    return Stratum(draw.seed, draw.seed) if stated else draw.stratum("policy", STRATA)
