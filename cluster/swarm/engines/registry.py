"""All drawn engines by name."""

from collections.abc import Mapping
from typing import Final

from cluster.swarm.engines.engine import DrawnEngine
from cluster.swarm.engines.hotstuff import DRAWN_HOTSTUFF
from cluster.swarm.engines.longest_chain import DRAWN_LONGEST_CHAIN
from cluster.swarm.engines.simplex import DRAWN_SIMPLEX
from network.draw import Draw

DRAWN_ENGINES: Final[Mapping[str, DrawnEngine]] = {
    each.name: each for each in (DRAWN_SIMPLEX, DRAWN_HOTSTUFF, DRAWN_LONGEST_CHAIN)
}
"""By name, in the order in which they are drawn: the first one has the seeds that no other takes."""


def draw_engine(draw: Draw, stated: str = "") -> DrawnEngine:
    """Return the engine of a seed, or the one that is stated."""
    if stated:
        return DRAWN_ENGINES[stated]
    return next((each for each in DRAWN_ENGINES.values() if draw.chance(each.purpose, each.percent)), DRAWN_SIMPLEX)
