"""The data of a policy that the swarm draws, and draws that several policies share."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from faults.kinds.drawing import Plain
from network.draw import Draw

QUOTING: Final = ("heartbeats", "storm")
"""Kinds of workloads whose timers may have an offer."""

COUNCIL_PERCENT: Final = 70
"""Percentage of drawn scenarios that have a council, unless their policy depends on it."""


class DrawnPolicy(NamedTuple):
    """A policy of drawn chains.

    Attributes:
        share: Its share: the number of its values in the list from which each seed gets one value.
        draw: Returns the keys of the chain that only this policy has.
        fit: Returns a drawn workload, by its name, changed to live on the chain; None where it cannot.
        timers: Values of the timers' limits; one of them replaces the chain's drawn limit.
        changes: Its parameters by their governance keys, and values that a council may give them.
        actions: Draws further actions of a council.
        council_percent: Percentage of its scenarios that have a council.
        knows_identifiers: Returns whether the timers of a storm can be named in advance.
        may_be_narrow: Whether timers compete for a lane, which may then have room for only a few.
    """

    share: int
    draw: Callable[[Draw], Plain]
    fit: Callable[[Draw, str, Plain, Plain], Plain | None]
    timers: Mapping[str, Sequence[Any]] = MappingProxyType({})
    changes: Mapping[str, Sequence[Any]] = MappingProxyType({})
    actions: Callable[[Draw], list[Plain]] = lambda _draw: []
    council_percent: int = COUNCIL_PERCENT
    knows_identifiers: Callable[[Plain], bool] = lambda _chain: True
    may_be_narrow: bool = True


def draw_calendar(draw: Draw, lengths: Sequence[int]) -> Plain:
    """Return the sizes of the tiers, with one of these lengths of an epoch."""
    # These draws keep their first purposes, so that old seeds stay the same.
    return {
        "ring_size": draw.one_of("lane.ring_size", (2, 4, 4_096)),
        "epoch_length": draw.one_of("lane.epoch_length", lengths),
        "epoch_horizon": draw.one_of("lane.epoch_horizon", (0, 1, 24)),
    }


def draw_parameters(draw: Draw, name: str, values: Mapping[str, Sequence[Any]]) -> Plain:
    """Return one value for each parameter, in the form of a scenario file."""
    drawn = {key: draw.one_of(f"{name}.{key}", choices) for key, choices in values.items()}
    return {key: list(value) if isinstance(value, tuple) else value for key, value in drawn.items()}
