"""The pace of drawn faults: drawn over fourteen seconds, and played in half of the time.

A seed shows most while its faults are at work, and its cost grows with its blocks. So successive faults are drawn with
room between them, and then brought closer together. Their order stays, and overlapping faults still overlap. With the
time saved, a campaign runs half as many seeds again.
"""

from collections.abc import Mapping
from typing import Final

from faults.kinds.drawing import FAULTS_FROM_MS, Plain

TIMES: Final = ("start_ms", "stop_ms", "at_ms", "restart_ms", "release_ms", "first_ms")
"""Keys of faults that are times of the run, or times after their anchor; all other keys are lengths."""

AWAITED: Final = ("from_ms", "by_ms")
"""Keys of anchors that are times of the run."""

PACE_PERCENT: Final = 50
"""Percentage of the time from the earliest start on that is kept."""

KEPT_MS: Final = 1_000
"""A fault keeps at least this delay after its anchor, as drawn: earlier the moment would be over."""


def sooner(fault: Plain) -> Plain:
    """Return a drawn fault at the pace of a run; lengths stay, such as an outage that an event begins."""
    if "anchor" not in fault:
        return {**fault, **_closer(fault, TIMES, FAULTS_FROM_MS)}
    anchor = fault["anchor"]
    return {**fault, **_closer(fault, TIMES, KEPT_MS), "anchor": {**anchor, **_closer(anchor, AWAITED, FAULTS_FROM_MS)}}


def _closer(fault: Mapping[str, object], keys: tuple[str, ...], from_ms: int) -> dict[str, int]:
    times = {key: fault[key] for key in keys if key in fault}
    return {
        key: from_ms + (ms - from_ms) * PACE_PERCENT // 100
        for key, ms in times.items()
        if isinstance(ms, int) and ms > from_ms
    }
