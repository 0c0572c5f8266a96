"""The data of a prefix, and values that several scripts share."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from faults.kinds.drawing import Plain
from network.draw import Draw


class Prefix(NamedTuple):
    """The script of a prefix.

    Attributes:
        arrival: The moment by which the state is reached; nothing that the script does to machines comes after its
            `from_ms`.
        workload: Workloads that replace the drawn ones of the same name.
        faults: The script's faults.
        settings: Other sections of the scenario that the script changes.
        without: Drawn workloads that could keep the run from getting there.
    """

    arrival: Plain
    workload: Mapping[str, Plain] = MappingProxyType({})
    faults: Mapping[str, Plain] = MappingProxyType({})
    settings: Mapping[str, Plain] = MappingProxyType({})
    without: tuple[str, ...] = ("governance",)


MakePrefix: TypeAlias = Callable[[Draw, int], Prefix]
"""Draws the script for a number of validators."""

ROOMY: Final[Plain] = {"block_cycles": 10_000_000, "block_cells": 10_000_000, "timebase": "slot", "slot_ms": 1_000}
"""A chain that admits every submission of a script."""

ROOMY_TIMERS: Final[Plain] = {
    "max_timers_per_actor": 1_024,
    "max_ttl_blocks": 2_592_000,
    "max_cycles_per_fire": 550_000,
    "max_cells_per_fire": 550_000,
    "lane_timer_cycles": 40_000,
}
"""Limits that no timer of a script meets, whatever was drawn."""


def storm_after_outage(draw: Draw, name: str, validators: int) -> Prefix:
    """Return the script of a storm: timers that come due and die while all validators are without power."""
    removed = draw.between(f"{name}.removed", 12, 30)
    back_ms = draw.between(f"{name}.back_ms", 16_000, 20_000)
    storm = {
        "kind": "storm",
        "actors": draw.between(f"{name}.actors", 3, 5),
        "unfunded_actors": draw.between(f"{name}.unfunded_actors", 0, 2),
        "timers_per_actor": draw.between(f"{name}.timers_per_actor", 25, 45),
        "timers_per_transaction": 30,
        "first_slot": 9,
        "spread_slots": 3,
        "ttl_slots": 2,
        "start_ms": 1_000,
    }
    dark = {
        "kind": "blackout",
        "validators": draw.some_of(f"{name}.order", range(validators), validators),
        "at_ms": 6_500,
        "restart_ms": back_ms,
    }
    timers = {**ROOMY_TIMERS, "gc_cost_per_timer": 200, "gc_cycles_per_block": 200 * removed}
    return Prefix(
        {"event": "half-drained", "from_ms": back_ms + 1, "by_ms": 60_000},
        {"storm": storm},
        {"script-outage": dark},
        {"chain": {**ROOMY, "timers": timers}},
    )
