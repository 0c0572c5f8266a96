"""All drawn engines by name."""

from collections.abc import Mapping
from typing import Final

from cluster.swarm.engines.engine import DrawnEngine
from cluster.swarm.engines.hotstuff import DRAWN_HOTSTUFF
from cluster.swarm.engines.longest_chain import DRAWN_LONGEST_CHAIN
from cluster.swarm.engines.simplex import DRAWN_SIMPLEX
from network.draw import Draw, Stratum

DRAWN_ENGINES: Final[Mapping[str, DrawnEngine]] = {
    each.name: each for each in (DRAWN_SIMPLEX, DRAWN_HOTSTUFF, DRAWN_LONGEST_CHAIN)
}
"""By name, in the order of the list."""

STRATA: Final = tuple(each for each in DRAWN_ENGINES.values() for _ in range(each.share))
"""One value a seed. It is a stratified draw, so that even a few dozen seeds in a row have each engine at its share."""


def draw_engine(draw: Draw, stated: str = "") -> DrawnEngine:
    """Return the engine of a seed, or the stated engine."""
    if stated:
        return DRAWN_ENGINES[stated]
    return draw.stratified("engine", STRATA)


def draw_engine_stratum(draw: Draw, stated: str = "") -> Stratum:
    """Return a seed's stratified draw among the seeds of its engine; a stated engine is in every seed."""
    is_stratified = stated in {"", draw_engine(draw).name}
    return draw.stratum("engine", STRATA) if is_stratified else Stratum(draw.seed, draw.seed)
