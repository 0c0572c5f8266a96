"""All drawn policies with parameters of their own, by name."""

from collections.abc import Mapping
from typing import Final

from cluster.swarm.policies import aptos, bias_auction, gba_auction
from cluster.swarm.policies.policy import DrawnPolicy
from network.draw import Draw

DRAWN_POLICIES: Final[Mapping[str, DrawnPolicy]] = {
    "gba-auction": DrawnPolicy(3, gba_auction.draw_auction, gba_auction.fit_to_auction),
    "bias-auction": DrawnPolicy(
        3,
        bias_auction.draw_bias,
        bias_auction.fit_to_bias,
        timers=bias_auction.TIMERS,
        changes=bias_auction.CHANGES,
    ),
    "aptos": DrawnPolicy(
        3,
        aptos.draw_queue,
        aptos.fit_to_queue,
        timers=aptos.TIMERS,
        changes=aptos.CHANGES,
        actions=aptos.draw_service,
        # Nobody else stops the service and starts it.
        council_percent=90,
        knows_identifiers=aptos.knows_identifiers,
        may_be_narrow=False,
    ),
}
"""By name, in the order of the deck."""

DECK: Final = (
    *["eip1559"] * 7,
    *["fifo"] * 3,
    "fifo-free",
    *(name for name, own in DRAWN_POLICIES.items() for _ in range(own.cards)),
)
"""A card a seed, like those of the engines."""


def draw_policy(draw: Draw) -> str:
    """Return the policy of a seed."""
    return draw.dealt("policy", DECK)
