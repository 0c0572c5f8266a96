"""Drawn faults whose times count from an event of the run: a prefix's arrival, or a drawn event."""

from collections.abc import Mapping
from typing import Final

from cluster.swarm.engines.engine import DrawnEngine
from cluster.swarm.faults import draw_faults, is_sound
from cluster.swarm.pace import TIMES, sooner
from cluster.swarm.prefixes.prefix import Prefix
from faults.kinds.drawing import FAULTS_FROM_MS, FAULTS_UNTIL_MS, Plain
from network.draw import Draw

PERCENT: Final = 15
"""Percentage of the drawn scenarios without a prefix in which crashes, partitions and pauses are anchored."""

KINDS: Final = ("crash", "partition", "pause")
"""Kinds of faults that may be anchored."""

AWAITED_MS: Final = 3_000
"""The least time to wait for an anchor: with a shorter wait its event would hardly come."""

MOMENTS_DRAWN: Final[tuple[tuple[str, int, int], ...]] = (
    ("view", 3, 12),
    ("vote", 5, 30),
    ("timeout", 1, 2),
    ("synced", 10, 60),
    ("executed", 3, 12),
    ("finalized", 3, 10),
    ("rewind", 1, 2),
    ("snapshot-asked", 1, 1),
    ("epoch", 1, 2),
    ("storm", 1, 2),
    ("half-drained", 1, 1),
)
"""Events to draw from, each with the first and the last occurrence."""


def draw_faults_after(
    draw: Draw, stratum: Draw, validators: int, *, prefix: Prefix, engine: DrawnEngine
) -> dict[str, Plain]:
    """Return a script's faults and the drawn faults; the earliest drawn fault begins when the prefix arrives."""
    found = dict(prefix.faults)
    for name, fault in draw_faults(draw, stratum, validators, sequence={}, engine=engine).items():
        plan = {**found, name: _moved(sooner(fault), FAULTS_FROM_MS, prefix.arrival)}
        if is_sound(plan, validators, engine):
            found = plan
    return found


def anchor_some(
    draw: Draw, faults: dict[str, Plain], sequence: Mapping[str, Plain], validators: int, *, engine: DrawnEngine
) -> dict[str, Plain]:
    """Return drawn faults, in some seeds a few of them anchored; the faults of a sequence keep their times."""
    if not draw.chance("anchors.is_on", PERCENT):
        return faults
    moments = [each for each in MOMENTS_DRAWN if each[0] not in engine.without_moments]
    for name in [name for name, fault in faults.items() if fault["kind"] in KINDS and name not in sequence]:
        fault = faults[name]
        start_ms, *_, stop_ms = sorted(fault[key] for key in TIMES if key in fault)
        by_ms = FAULTS_UNTIL_MS - (stop_ms - start_ms)
        if by_ms < FAULTS_FROM_MS + AWAITED_MS:
            continue
        event, lowest, highest = draw.one_of(f"anchors.{name}.event", moments)
        anchor: Plain = {
            "event": event,
            "nth": draw.between(f"anchors.{name}.nth", lowest, highest),
            "from_ms": FAULTS_FROM_MS,
            "by_ms": by_ms,
        }
        if draw.chance(f"anchors.{name}.is_of_one", 50):
            anchor["of"] = draw.between(f"anchors.{name}.of", 0, validators - 1)
        plan = {**faults, name: _moved(fault, start_ms, anchor)}
        if is_sound(plan, validators, engine):
            faults = plan
    return faults


def _moved(fault: Mapping[str, object], origin_ms: int, anchor: Plain) -> Plain:
    """Return a fault whose times count from an anchor: `origin_ms` becomes the anchor's moment."""
    times = {key: value - origin_ms for key, value in fault.items() if key in TIMES and isinstance(value, int)}
    return {**fault, **times, "anchor": anchor}
