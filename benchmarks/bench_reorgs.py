"""The cost of one block that is undone and comes back, by road and depth; per block it should not grow with depth.

The processor time of a road less that of the replica which never saw the fork, divided by the blocks that moved on it.
"""

import gc
import time
from collections.abc import Callable
from typing import Final, TypeAlias

from cluster.reorgs import ROADS, Fork, build_fork
from cluster.reorgs.roads import ReplayProcess
from cluster.scenario.load import load_scenario

Show: TypeAlias = Callable[[str], None]

SCENARIO: Final = "mixed-clients"
POLICIES: Final = ("fifo", "eip1559", "gba-auction")
DEPTHS: Final = (4, 16, 64)
PIVOT: Final = 10
REPEATS: Final = 2

MEASURED: Final = ("drop", "rewind", "rewrite", "execute-again")
"""Roads of this process; the first one executes what it drops, the others undo and write or execute it again."""


def run(show: Show = print) -> None:
    """Print microseconds per moved block."""
    show(f"reorgs, processor us a moved block {'depth':>10}" + "".join(f"{road:>15}" for road in MEASURED))
    for policy in POLICIES:
        scenario = load_scenario(SCENARIO, (f"chain.policy={policy}",))
        for depth in DEPTHS:
            fork = build_fork(scenario, 0, pivot=PIVOT, depth=depth)
            cells = "".join(f"{cost:15,.0f}" for cost in measure(fork))
            show(f"  {policy:<33}{depth:10d}{cells}")


def measure(fork: Fork) -> list[float]:
    """Return the microseconds that each moved block costs on every measured road, the least of several repeats."""
    fastest = dict.fromkeys(("fresh", *MEASURED), float("inf"))
    moved: dict[str, int] = {}
    for road in fastest:
        ROADS[road](fork, _NO_PROCESS)
    # Interleaved, so that a slower moment of the machine meets every road.
    for _ in range(REPEATS):
        for road in fastest:
            gc.collect()
            start_ns = time.process_time_ns()
            moved[road] = ROADS[road](fork, _NO_PROCESS).moved
            fastest[road] = min(fastest[road], (time.process_time_ns() - start_ns) / 1_000)
    return [(fastest[road] - fastest["fresh"]) / moved[road] for road in MEASURED]


def _refuse(*_: object, **__: object) -> None:
    raise AssertionError("no measured road leaves this process")


_NO_PROCESS: Final = ReplayProcess(_refuse, 0)  # type: ignore[arg-type]  # it is never called

if __name__ == "__main__":
    run()
