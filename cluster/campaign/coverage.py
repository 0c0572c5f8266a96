"""The coverage of a campaign: in how many runs each cell of kind, phase and role was hit, and which never.

A cell that no run reached says that the campaign did not try something, whatever else it shows: a promise that is not
kept makes it inconclusive. Each kind of fault says what it promises.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from faults import Cell, kind_named

Place: TypeAlias = tuple[str, str, str]
"""A cell without its count: kind, phase, role."""


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

    def add(self, cells: Iterable[Cell]) -> None:
        """Add the cells of one run."""
        for *place, hits in cells:
            kind, phase, role = place
            before = self.reached.get((kind, phase, role), Reached(0, 0))
            self.reached[kind, phase, role] = Reached(before.runs + 1, before.hits + hits)

    @property
    def empty(self) -> tuple[Place, ...]:
        """The promised cells that no run has reached."""
        return tuple(place for place in self.promised if place not in self.reached)

    def as_json(self) -> Mapping[str, object]:
        """Return the table as plain data, in ascending order."""
        return {
            "cells": [
                {"kind": kind, "phase": phase, "role": role, "runs": reached.runs, "hits": reached.hits}
                for (kind, phase, role), reached in sorted(self.reached.items())
            ],
            "promised": len(self.promised),
            "empty": [{"kind": kind, "phase": phase, "role": role} for kind, phase, role in self.empty],
        }


def promise_of(kinds: Iterable[str]) -> tuple[Place, ...]:
    """Return every cell that a campaign with these kinds of faults promises to reach."""
    return tuple((kind, phase, role) for kind in sorted(dict.fromkeys(kinds)) for phase, role in kind_named(kind).cells)
