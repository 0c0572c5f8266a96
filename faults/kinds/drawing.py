"""Draws that several kinds share: spans, validators, groups, in the time that the swarm leaves for faults.

A draw's name is its identity: a changed name changes the scenario of every seed.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeAlias

from network.draw import Draw

Plain: TypeAlias = dict[str, Any]
"""A fault as in a scenario file."""

FAULTS_FROM_MS: Final = 2_000
"""The earliest start of a drawn fault, so that every cluster has begun."""

FAULTS_UNTIL_MS: Final = 16_000
"""The latest end of a drawn fault; the swarm then scales faults to an earlier time."""

CHANNELS: Final = (["votes"], ["certificates"], ["blocks"], ["transactions"], ["votes", "certificates"])


WHERE_ASKED: Final = -1
"""The place of a draw that only scenarios get whose own plan has its kind: it moves no seed of any other scenario."""


class Drawn(NamedTuple):
    """A way in which the swarm draws a kind.

    Attributes:
        place: The place in the swarm's list, from which it takes a few; any change of the list changes every seed. Or
            `WHERE_ASKED`.
        name: The name of the fault in the scenario, and of its draws.
        make: Draws the fault's keys without its kind, from the draw, the name, and the number of validators.
        companion: Draws a second fault from the first, if the first has little effect alone.
    """

    place: int
    name: str
    make: Callable[[Draw, str, int], Plain]
    companion: Callable[[Draw, str, Plain, int], Plain] | None = None


def draw_span(draw: Draw, name: str) -> tuple[int, int]:
    """Return a drawn start and a drawn end."""
    start_ms = draw.between(f"{name}.start_ms", FAULTS_FROM_MS, FAULTS_UNTIL_MS - 1_500)
    return start_ms, draw.between(f"{name}.stop_ms", start_ms + 1_000, FAULTS_UNTIL_MS)


def draw_window(draw: Draw, name: str) -> Plain:
    """Return a drawn span as `start_ms` and `stop_ms`."""
    start_ms, stop_ms = draw_span(draw, name)
    return {"start_ms": start_ms, "stop_ms": stop_ms}


def draw_outage(draw: Draw, name: str) -> Plain:
    """Return a drawn span as `at_ms` and `restart_ms`."""
    at_ms, restart_ms = draw_span(draw, name)
    return {"at_ms": at_ms, "restart_ms": restart_ms}


def draw_outage_of_one(draw: Draw, name: str, validators: int) -> Plain:
    """Return a drawn validator and a drawn outage."""
    return {"validator": draw_validator(draw, name, validators), **draw_outage(draw, name)}


def draw_brief_outage(draw: Draw, name: str) -> Plain:
    """Return a drawn outage so short that the view may outlast it."""
    at_ms = draw.between(f"{name}.at_ms", 4_000, FAULTS_UNTIL_MS - 2_000)
    return {"at_ms": at_ms, "restart_ms": at_ms + draw.between(f"{name}.down_ms", 100, 900)}


def draw_validator(draw: Draw, name: str, validators: int) -> int:
    """Return a drawn validator."""
    return draw.between(f"{name}.validator", 0, validators - 1)


def draw_another(draw: Draw, name: str, node: int, validators: int) -> Plain:
    """Return another validator that is hit as well, for three seeds of ten."""
    others = [other for other in range(validators) if other != node]
    return {"also": [draw.one_of(f"{name}.also", others)]} if draw.chance(f"{name}.is_two", 30) else {}


def draw_groups(draw: Draw, name: str, validators: int) -> list[list[int]]:
    """Return a drawn partition: a single validator, halves, a minority, or three parts."""
    order = draw.some_of(f"{name}.order", range(validators), validators)
    # Every second cut leaves no side with a quorum.
    cut = draw.one_of(f"{name}.cut", (validators // 2, validators // 2, 1, validators - 1))
    groups = [order[:cut], order[cut:]]
    if len(groups[1]) > 1 and draw.chance(f"{name}.is_three", 25):
        groups[1:] = [groups[1][:1], groups[1][1:]]
    return groups


def draw_in_flight(draw: Draw, name: str) -> Plain:
    """Return the key by which messages on their way are lost too, for three seeds of ten."""
    return {"in_flight": "lost"} if draw.chance(f"{name}.is_torn", 30) else {}
