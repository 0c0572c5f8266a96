"""The estimate of the unseen: the chance that further runs of a campaign reach something new.

Each run reaches places: coverage points of faults and rules, pairs of situations. A place in a run is an observation.
The Good-Turing estimate of the chance that the next observation is new: the number of places that only a single run
reached, divided by the number of observations. Numbers are whole and fractions exact: the same results give the same
estimate in any order.
"""

from bisect import bisect_left
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, NamedTuple

SPAN_SEEDS: Final = 1_000
"""Seeds by which new places are counted."""


FAULT_POINTS: Final = "points of faults"
COVERAGE_POINTS: Final = "points of rules"
PAIRS: Final = "pairs of situations"
SORTS: Final = (FAULT_POINTS, COVERAGE_POINTS, PAIRS)
"""The sorts of places."""


class Unseen(NamedTuple):
    """The estimate for one sort of place.

    Attributes:
        reached: Places that at least one run has reached.
        once: Places that exactly one run has reached.
        observations: The number of places of each run, added up.
        new: New places in each thousand of the seeds, in the order of the seeds.
    """

    reached: int
    once: int
    observations: int
    new: tuple[int, ...]

    @property
    def chance(self) -> Fraction:
        """The chance that the next observation is of a new place; certain before the first observation."""
        return Fraction(self.once, self.observations) if self.observations else Fraction(1)

    def as_json(self) -> Mapping[str, object]:
        """Return the estimate as plain data; the chance is `once` of `observations`."""
        return {**self._asdict(), "new": list(self.new)}

    def describe(self) -> str:
        """Return the estimate as one line."""
        new = ", ".join(f"{count:,}" for count in self.new)
        return (
            f"{self.reached:,} reached, {self.once:,} in one run only; new per {SPAN_SEEDS:,} seeds: {new}; "
            f"the next is new in {self.once:,} of {self.observations:,} (Good-Turing)"
        )


@dataclass(slots=True)
class History:
    """The count of runs and the lowest seed for each place: the data of the estimate."""

    _seeds: list[int] = field(default_factory=list)
    _runs: dict[Hashable, int] = field(default_factory=dict)
    _first: dict[Hashable, int] = field(default_factory=dict)
    """The lowest seed that reached a place, because results come in any order."""

    def add(self, seed: int, places: Iterable[Hashable]) -> None:
        """Add the places of one run, each once."""
        self._seeds.append(seed)
        for place in dict.fromkeys(places):
            self._runs[place] = self._runs.get(place, 0) + 1
            self._first[place] = min(seed, self._first.get(place, seed))

    def unseen(self) -> Unseen:
        """Return the estimate for the runs so far."""
        seeds = sorted(self._seeds)
        new = [0] * -(-len(seeds) // SPAN_SEEDS)
        for seed in self._first.values():
            new[bisect_left(seeds, seed) // SPAN_SEEDS] += 1
        once = sum(count == 1 for count in self._runs.values())
        return Unseen(len(self._runs), once, sum(self._runs.values()), tuple(new))
