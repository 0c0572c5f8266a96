"""The form of a trial: what is asked of a part on a specimen, and whether it is so."""

from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from typing import NamedTuple, TypeAlias

from network.chance import Chance, below

Draw: TypeAlias = Callable[[int], int]
"""Returns the next draw of a trial, below a bound."""

Asked: TypeAlias = Iterator[tuple[str, bool]]
"""Questions, each as the fault that it is if the answer is no, and whether it is yes."""

Trial: TypeAlias = Callable[[Draw], Asked]


def draws_of(chance: Chance, name: str) -> Draw:
    """Return the draws of one trial, in the order in which they are asked for."""
    draws, place = chance.stream("trial", name), -1

    def draw(bound: int) -> int:
        nonlocal place
        place += 1
        return below(draws.at(place), bound)

    return draw


def draw_digest(draw: Draw) -> bytes:
    """Return a digest that no other draw of a trial gives."""
    return sha256(draw(2**63).to_bytes(8, "big")).digest()


class Turn(NamedTuple):
    """A trial, and that one seed in so many has it: what it costs is little beside all of them."""

    trial: Trial
    every: int = 1


def turns_of(turns: Sequence[Turn], seed: int) -> list[Trial]:
    """Return the trials whose turn it is with a seed."""
    # By place: two that come equally seldom fall on different seeds.
    return [turn.trial for place, turn in enumerate(turns) if (seed + place) % turn.every == 0]
