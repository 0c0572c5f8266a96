"""The draws of a differential chain, in the order of requests."""

from collections.abc import Callable
from hashlib import sha256
from typing import TypeAlias

from network.chance import Chance, below

Draw: TypeAlias = Callable[[int], int]
"""Returns the next draw, below a bound."""


def draws_of(chance: Chance, name: str) -> Draw:
    """Return the draws of a name, in the order of requests."""
    draws, place = chance.stream("differential", name), -1

    def draw(bound: int) -> int:
        nonlocal place
        place += 1
        return below(draws.at(place), bound)

    return draw


def draw_digest(draw: Draw) -> bytes:
    """Return a digest that no other draw gives."""
    return sha256(draw(2**63).to_bytes(8, "big")).digest()
