"""All drawn policies with parameters of their own, by name."""

from collections.abc import Mapping
from typing import Final

from cluster.swarm.policies import aptos, bias_auction, gba_auction
from cluster.swarm.policies.policy import DrawnPolicy

DRAWN_POLICIES: Final[Mapping[str, DrawnPolicy]] = {
    "gba-auction": DrawnPolicy(14, "chain.is_auction", gba_auction.draw_auction, gba_auction.fit_to_auction),
    "bias-auction": DrawnPolicy(
        12,
        "chain.is_bias",
        bias_auction.draw_bias,
        bias_auction.fit_to_bias,
        timers=bias_auction.TIMERS,
        changes=bias_auction.CHANGES,
    ),
    "aptos": DrawnPolicy(
        14,
        "chain.is_queue",
        aptos.draw_queue,
        aptos.fit_to_queue,
        timers=aptos.TIMERS,
        changes=aptos.CHANGES,
        actions=aptos.draw_service,
        knows_identifiers=aptos.knows_identifiers,
        may_be_narrow=False,
    ),
}
"""By name, in the order in which they are drawn: a new one goes to the end."""
