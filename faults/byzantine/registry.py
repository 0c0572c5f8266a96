"""The adversaries of each consensus engine, by the engine's name."""

from collections.abc import Mapping
from typing import Final

from faults.byzantine.engine_adversaries import EngineAdversaries
from faults.byzantine.hotstuff import HOTSTUFF_ADVERSARIES
from faults.byzantine.longest_chain import LONGEST_CHAIN_ADVERSARIES
from faults.byzantine.simplex import SIMPLEX_ADVERSARIES

ADVERSARIES: Final[Mapping[str, EngineAdversaries]] = {
    each.kind.name: each for each in (SIMPLEX_ADVERSARIES, HOTSTUFF_ADVERSARIES, LONGEST_CHAIN_ADVERSARIES)
}
"""A plan with Byzantine validators is refused for an engine without an entry."""
