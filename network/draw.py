"""Named chance, for everything that is drawn before a run: every draw has a name, none is streamed."""

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Final, TypeVar

from network.chance import Chance, below

SWARM: Final = "swarm"
"""The purpose of all draws of a drawn scenario, and that scenario's name."""

CHANCES_MAX: Final = 10
"""The most successive seeds of a stratum over which a chance is spread: with fewer, it comes about sooner."""

STRATA_APART: Final = 2_520_000
"""Between the first seeds of two values, in seeds of a stratum: a multiple of the lengths of short lists.

Were it 0, the n-th seeds of all values would be given the same values of all choices.
"""

_Value = TypeVar("_Value")


@lru_cache(maxsize=4_096)
def _order(seed: int, name: str, count: int) -> tuple[int, ...]:
    """Return the places of `count` values in a seed's drawn order; successive seeds ask for the same orders."""
    draws = Chance(seed).stream(SWARM, name)
    return tuple(sorted(range(count), key=draws.at))


class Draw:
    """The chance of one seed, by names. Each name is drawn once."""

    def __init__(self, seed: int) -> None:
        self.seed: Final = seed
        self._number = seed
        self._chance = Chance(seed)

    def between(self, name: str, lowest: int, highest: int) -> int:
        """Return a whole number, both ends included."""
        return lowest + below(self._chance.draw(SWARM, name, 0), highest - lowest + 1)

    def chance(self, name: str, percent: int) -> bool:
        """Return true for `percent` of a hundred seeds."""
        return self.between(name, 0, 99) < percent

    def one_of(self, name: str, values: Sequence[_Value]) -> _Value:
        """Return one of the values."""
        return values[self.between(name, 0, len(values) - 1)]

    def stratified(self, name: str, values: Sequence[_Value]) -> _Value:
        """Return one of the values: of as many successive seeds as there are values, each gets another value."""
        turn, place = divmod(self._number, len(values))
        return Draw(turn).some_of(name, values, len(values))[place]

    def stratum(self, name: str, values: Sequence[_Value]) -> "Stratum":
        """Return the draws of a seed among the seeds that get the same value."""
        turn, place = divmod(self._number, len(values))
        shuffled = Draw(turn).some_of(name, values, len(values))
        value = shuffled[place]
        kind = values.index(value)
        return Stratum(self.seed, kind * STRATA_APART + turn * shuffled.count(value) + shuffled[:place].count(value))

    def next_of(self, name: str, values: Sequence[_Value], count: int) -> list[_Value]:
        """Return `count` successive values of shuffled lists; the next seed continues after them."""
        found = (divmod(self._number * count + place, len(values)) for place in range(count))
        return [Draw(turn).some_of(name, values, len(values))[place] for turn, place in found]

    def some_of(self, name: str, values: Sequence[_Value], count: int) -> list[_Value]:
        """Return `count` different values, in a drawn order."""
        return [values[place] for place in _order(self.seed, name, len(values))[:count]]


class Stratum(Draw):
    """The draws of one seed that is the `number`-th with its value: a choice uses each of its values in rotation.

    A chance is rounded to the nearest share of ten or fewer seeds: 12 per cent become 1 in 8. A chance below 1 in 20 is
    left to the plain draw.

    When as many successive seeds have the value as a choice has values, each gets a different value. By plain chance
    six seeds miss a value out of three in 1 case of 11, and nearly always a value out of a dozen.
    """

    def __init__(self, seed: int, number: int) -> None:
        super().__init__(seed)
        self._number = number

    def chance(self, name: str, percent: int) -> bool:
        """Return true for about `percent` of a hundred seeds, spread evenly over them."""
        share = Fraction(percent, 100).limit_denominator(CHANCES_MAX)
        if share.denominator == 1:
            # The nearest share of so few seeds is none, or all.
            return super().chance(name, percent)
        return self.one_of(name, [place < share.numerator for place in range(share.denominator)])

    def one_of(self, name: str, values: Sequence[_Value]) -> _Value:
        """Return one of the values."""
        # Each name begins its rotation elsewhere. With equal ends, two choices of two values would form only half of
        # their pairs within a rotation.
        turn, place = divmod(self._number + Draw(0).between(name, 0, len(values) - 1), len(values))
        return Draw(turn).some_of(name, values, len(values))[place]
