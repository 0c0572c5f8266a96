"""All rule cells, by the rooms that declare them."""

from collections.abc import Iterable, Mapping
from typing import Final

from scheduler import SWARM, CallRule, LaneRule, PhaseRule, RuleCell
from validators.execution.rules import BlockRule

ROOMS: Final[Mapping[str, type[RuleCell]]] = {
    "calls about timers": CallRule,
    "the timer phase": PhaseRule,
    "the timer lane": LaneRule,
    "blocks": BlockRule,
}
"""The enum of each room, by the heading of its cells."""

CELLS: Final[Mapping[str, RuleCell]] = {cell.label: cell for room in ROOMS.values() for cell in room}
"""Every cell by its label, in the order of the rooms."""


def promised_by(subject: str = SWARM) -> tuple[str, ...]:
    """Return the labels of the cells that a scenario, or a campaign of the swarm, promises to reach."""
    return tuple(label for label, cell in CELLS.items() if cell.promised_by == subject)


def unknown(labels: Iterable[str]) -> list[str]:
    """Return the labels that no room declares any more, or not yet."""
    return [label for label in labels if label not in CELLS]
