"""The coverage of a campaign: in how many runs each coverage point was reached, and which never.

There are two tables: a fault's kind, phase and role, and the branches of the rules. A coverage point that no run
reached is something that the campaign did not try. A promise that is not kept makes the campaign inconclusive. Each
kind of fault states its promises; each coverage point of a rule states who promises it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias

from checker.coverage.registry import ROOMS, promised_by
from faults import FAULTS
from faults.coverage.required import required_phases
from scheduler import CoveragePoint, RefusalPoint

Place: TypeAlias = tuple[str, ...]
"""A cell without its count: kind, phase, role; or the label of a rule's cell."""

FAULT_PLACE: Final = ("kind", "phase", "role")
RULE_PLACE: Final = ("cell",)
"""The names of the parts of a place, in each of the two tables."""


class Promises(NamedTuple):
    """The cells of faults and of rules that a campaign has to reach."""

    faults: tuple[Place, ...] = ()
    rules: tuple[Place, ...] = ()


NO_PROMISES: Final = Promises()


class Reached(NamedTuple):
    """In how many runs a cell was hit, and how often in all of them."""

    runs: int
    hits: int


@dataclass(slots=True)
class CoverageTable:
    """Adds up the cells of runs.

    Attributes:
        promised: The cells that the campaign has to reach; none if it promises nothing.
        reached: What was reached so far.
    """

    promised: tuple[Place, ...] = ()
    reached: dict[Place, Reached] = field(default_factory=dict)

    def add(self, cells: Iterable[tuple[Any, ...]]) -> None:
        """Add the cells of one run, each with its hits as the last value."""
        for *parts, hits in cells:
            place = tuple(parts)
            before = self.reached.get(place, Reached(0, 0))
            self.reached[place] = Reached(before.runs + 1, before.hits + hits)

    @property
    def empty(self) -> tuple[Place, ...]:
        """The promised cells that no run has reached."""
        return tuple(place for place in self.promised if place not in self.reached)

    def as_json(self, names: Sequence[str]) -> Mapping[str, object]:
        """Return the table as plain data, in ascending order; `names` are those of the parts of a place."""
        return {
            "cells": [
                {**dict(zip(names, place, strict=True)), "runs": reached.runs, "hits": reached.hits}
                for place, reached in sorted(self.reached.items())
            ],
            "promised": len(self.promised),
            "empty": [dict(zip(names, place, strict=True)) for place in self.empty],
        }


def promise_of(kinds: Iterable[str], engine: str) -> tuple[Place, ...]:
    """Return every cell of faults that a campaign with these kinds, on this consensus engine, promises to reach."""
    return tuple(
        (kind, phase, role)
        for kind in sorted(dict.fromkeys(kinds))
        for phase, role in required_phases(FAULTS.named(kind).cells, engine)
    )


def rules_promised_by(subject: str) -> tuple[Place, ...]:
    """Return every cell of the rules that a scenario, or the swarm, promises to reach."""
    return tuple((label,) for label in promised_by(subject))


def untried_rules(rules: CoverageTable) -> list[CoveragePoint]:
    """Return the cells that no run reached, of the rooms of which one was; refusals are left out."""
    reached = {label for (label,) in rules.reached}
    rooms = [list(cells) for cells in ROOMS.values() if any(cell.label in reached for cell in cells)]
    cells = [cell for room in rooms for cell in room if cell.label not in reached]
    return [cell for cell in cells if not isinstance(cell, RefusalPoint)]


def untried_lines(rules: CoverageTable) -> list[str]:
    """Return the line that says what a sweep that passed says nothing about; none where no run noted its rules."""
    untried = untried_rules(rules) if rules.reached else []
    if not untried:
        return []
    return [f"rules not reached, of which this says nothing: {len(untried)}; the page lists them, --swarm reaches more"]
