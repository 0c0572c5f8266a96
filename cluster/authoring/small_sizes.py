"""Small sizes of large shipped scenarios, for whoever runs all of them."""

from collections.abc import Sequence
from typing import Final

SMALL: Final = {
    "outage-storm": (
        "workload.storm.timers_per_actor=60",
        "chain.timers.gc_cycles_per_block=9_000",
        "expect.storm.dead_timers_min=1_000",
    ),
    "congestion": (
        "run.until_height=60",
        "expect.counts.blocks_lane_full=50",
        "expect.counts.fires_tipped=100",
        "expect.fired_by.crowd=10",
    ),
}
"""Settings that make a large scenario small enough for every commit; `make soak` runs them at full size."""


def small_settings(name: str) -> Sequence[str]:
    """Return the settings that make a shipped scenario small."""
    return SMALL.get(name, ())
