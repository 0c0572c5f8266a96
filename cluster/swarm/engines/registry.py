"""All drawn engines by name."""

from collections.abc import Mapping
from typing import Final

from cluster.swarm.engines.engine import DrawnEngine
from cluster.swarm.engines.hotstuff import DRAWN_HOTSTUFF
from cluster.swarm.engines.longest_chain import DRAWN_LONGEST_CHAIN
from cluster.swarm.engines.simplex import DRAWN_SIMPLEX
from network.draw import Draw, Hand

DRAWN_ENGINES: Final[Mapping[str, DrawnEngine]] = {
    each.name: each for each in (DRAWN_SIMPLEX, DRAWN_HOTSTUFF, DRAWN_LONGEST_CHAIN)
}
"""By name, in the order of the deck."""

DECK: Final = tuple(each for each in DRAWN_ENGINES.values() for _ in range(each.cards))
"""A card a seed. Dealt, and not drawn, so that even a few dozen seeds in a row have each engine at its share."""


def draw_engine(draw: Draw, stated: str = "") -> DrawnEngine:
    """Return the engine of a seed, or the one that is stated."""
    if stated:
        return DRAWN_ENGINES[stated]
    return draw.dealt("engine", DECK)


def draw_engine_hand(draw: Draw, stated: str = "") -> Hand:
    """Return the chance of a seed beside the others that are dealt its engine; one that is stated is in every seed."""
    is_dealt = stated in {"", draw_engine(draw).name}
    return draw.hand("engine", DECK) if is_dealt else Hand(draw.seed, draw.seed)
