"""The coverage of a campaign: in how many runs each coverage point was reached, and which never.

There are two tables: a fault's kind, phase and role, and the branches of the rules. A coverage point that no run
reached is something that the campaign did not try. A promise that is not kept makes the campaign inconclusive. Each
kind of fault states its promises; each coverage point of a rule states who promises it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias

from checker.coverage.registry import ROOMS, points_for, promised_by
from faults import FAULTS
from faults.coverage.required import required_phases
from network.words import counted
from scheduler import CoveragePoint, RefusalPoint

Place: TypeAlias = tuple[str, ...]
"""A coverage point without its count: kind, phase and role of a fault; or the label of a rule's point."""

FAULT_PLACE: Final = ("kind", "phase", "role")
RULE_PLACE: Final = ("cell",)
"""The names of the parts of a place in the JSON of each table."""


class Promises(NamedTuple):
    """The coverage points of faults and of rules that a campaign has to reach."""

    faults: tuple[Place, ...] = ()
    rules: tuple[Place, ...] = ()


NO_PROMISES: Final = Promises()


class Reached(NamedTuple):
    """The number of runs that hit a coverage point, and the number of hits in all runs."""

    runs: int
    hits: int


@dataclass(slots=True)
class CoverageTable:
    """The sum of the coverage points of runs.

    Attributes:
        promised: The points that the campaign has to reach; none if it promises nothing.
        reached: The points reached so far.
    """

    promised: tuple[Place, ...] = ()
    reached: dict[Place, Reached] = field(default_factory=dict)

    def add(self, points: Iterable[tuple[Any, ...]]) -> None:
        """Add the coverage points of one run, each with its hits as the last value."""
        for *parts, hits in points:
            place = tuple(parts)
            before = self.reached.get(place, Reached(0, 0))
            self.reached[place] = Reached(before.runs + 1, before.hits + hits)

    @property
    def empty(self) -> tuple[Place, ...]:
        """The promised coverage points that no run has reached."""
        return tuple(place for place in self.promised if place not in self.reached)

    def as_json(self, names: Sequence[str]) -> Mapping[str, object]:
        """Return the table as plain data, in ascending order; `names` are the keys of the parts of a place."""
        return {
            "cells": [
                {**dict(zip(names, place, strict=True)), "runs": reached.runs, "hits": reached.hits}
                for place, reached in sorted(self.reached.items())
            ],
            "promised": len(self.promised),
            "empty": [dict(zip(names, place, strict=True)) for place in self.empty],
        }


def promise_of(kinds: Iterable[str], engine: str) -> tuple[Place, ...]:
    """Return the points of faults that a campaign with these kinds promises to reach on this consensus engine."""
    return tuple(
        (kind, phase, role)
        for kind in sorted(dict.fromkeys(kinds))
        for phase, role in required_phases(FAULTS.named(kind).cells, engine)
    )


def rules_promised_by(subject: str) -> tuple[Place, ...]:
    """Return the coverage points of rules that a scenario, or the swarm, promises to reach."""
    return tuple((label,) for label in promised_by(subject))


def untried_rules(rules: CoverageTable) -> list[CoveragePoint]:
    """Return the points that no run reached, of each room with a reached point; refusals are left out.

    Of runs of an application, the rules of this project's own chain are left out too.
    """
    reached = {label for (label,) in rules.reached}
    known = points_for(reached)
    rooms = [list(points) for points in ROOMS.values() if any(point.label in reached for point in points)]
    points = [point for room in rooms for point in room if point.label not in reached and point.label in known]
    return [point for point in points if not isinstance(point, RefusalPoint)]


def untried_lines(rules: CoverageTable) -> list[str]:
    """Return a line with the number of rules that a passed sweep did not reach; none if no run noted its rules."""
    untried = untried_rules(rules) if rules.reached else []
    if not untried:
        return []
    return [f"{counted(len(untried), 'rules')} not reached; the page lists them, and --swarm reaches more"]
