"""The specifications of the consensus engines, by the engines' names; the only place that names them all."""

from collections.abc import Iterable, Mapping, MutableMapping
from typing import Final, NamedTuple

from checker.oracle.consensus import calls
from checker.oracle.consensus.compare import Comparison, SpecificationMaker, compare_life
from checker.oracle.consensus.hotstuff import HotStuff
from checker.oracle.consensus.longest_chain import LongestChain
from checker.oracle.consensus.signatures import Signed
from checker.oracle.consensus.simplex import Simplex

SPECIFICATIONS: Final[Mapping[str, SpecificationMaker]] = {
    "simplex": Simplex,
    "hotstuff": HotStuff,
    "longest-chain": LongestChain,
}
"""The specifications by engine; other engines are not judged by a specification."""


class JudgedLife(NamedTuple):
    """A life of a replica's engine: its number among the lives of the replica, from 1, its arguments, its calls."""

    number: int
    life: calls.Life
    calls: Iterable[tuple[int, calls.Call]]


def compare_lives(engine: str, lives: Iterable[JudgedLife]) -> list[Comparison]:
    """Return the comparison of each life of some replicas with the specification of their engine."""
    make = SPECIFICATIONS[engine]
    # Verifying costs most, and several replicas get the same signatures.
    known: MutableMapping[Signed, bool] = {}
    return [compare_life(make, each.life, each.calls, number=each.number, known=known) for each in lives]
