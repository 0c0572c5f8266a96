"""The specifications of the consensus engines, by the engines' names; the only place that names them all."""

from collections.abc import Mapping
from typing import Final

from checker.oracle.consensus.compare import SpecificationMaker
from checker.oracle.consensus.hotstuff import HotStuff
from checker.oracle.consensus.longest_chain import LongestChain
from checker.oracle.consensus.simplex import Simplex

SPECIFICATIONS: Final[Mapping[str, SpecificationMaker]] = {
    "simplex": Simplex,
    "hotstuff": HotStuff,
    "longest-chain": LongestChain,
}
"""The specifications by engine; other engines are not judged by a specification."""
