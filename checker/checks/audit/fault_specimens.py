"""Edges and adversaries on which the injection of faults is tried before a run is believed.

A run that goes on with a data directory begins in the midst of its faults, and is not among the drawn ones; whom an
adversary tells what no behaviour has touched shows where observers follow it, which honest validators make up for.
"""

from collections.abc import Iterator
from itertools import product
from typing import Final, cast

from faults.byzantine.adversary import Adversary
from faults.byzantine.engine_votes import EngineVotes
from faults.injection.edges import Edge, window
from network.chance import Chance
from validators.consensus.registry import ENGINES

_TIMES_MS: Final = (0, 3, 5, 8)
_US: Final = 1_000


def try_edges(_chance: Chance) -> Iterator[tuple[str, bool]]:
    """Yield what is asked of the edges of a fault, and whether it is so."""
    for at_ms, length_ms, origin_ms, begin_ms in product(_TIMES_MS, _TIMES_MS, _TIMES_MS[:2], _TIMES_MS):
        until_ms = at_ms + length_ms
        found = Edge(at_ms, until_ms, "", _nothing).at_us(begin_ms * _US, origin_ms * _US)
        is_past = origin_ms + until_ms < begin_ms
        expected = None if is_past else max(origin_ms + at_ms, begin_ms) * _US
        yield "of a run that begins in the midst of a fault an edge is left out, or not", found == expected
        edges = [edge.at_us(begin_ms * _US) for edge in window(at_ms, until_ms, _nothing, _nothing)]
        is_over = until_ms < begin_ms
        times = [None, None] if is_over else [max(at_ms, begin_ms) * _US, until_ms * _US]
        yield "a window that a run begins in is not begun with it, or ended then", edges == times


def _nothing() -> None:
    """Do nothing at an edge."""


def try_adversaries(chance: Chance) -> Iterator[tuple[str, bool]]:
    """Yield what is asked of whom an adversary knows, and whether it is so."""
    for validators, observers, byzantine in ((4, 0, (1,)), (4, 2, (0,)), (7, 1, (2, 6)), (4, 1, (0, 2, 3))):
        nodes = range(validators + observers)
        honest = [node for node in nodes if node not in byzantine]
        for node in byzantine:
            adversary = Adversary(
                node,
                validators=validators,
                replicas=len(nodes),
                byzantine=byzantine,
                kind=next(iter(ENGINES.values())),
                votes=cast("EngineVotes", None),
                chance=chance,
                max_skew_ms=0,
            )
            others = tuple(other for other in nodes if other != node)
            yield "an adversary tells others than all", adversary.everybody() == others
            first, second = adversary.halves
            yield "an adversary cuts others than the honest replicas in two", sorted([*first, *second]) == honest
            yield "both halves of an adversary are one", bool(second) and (bool(first) or not observers)
            colluders = tuple(other for other in byzantine if other != node)
            yield "an adversary colludes with others than its like", adversary.colluders == colluders
