"""Engines: views or slots a second of processor time, in a calm chain of four validators.

A view of Simplex and HotStuff is a block; a slot of the longest chain has a block where its leader is up. Engine,
messages and signatures differ; the rest of the chain is the same.
"""

import time
from collections.abc import Callable
from typing import Final

from cluster.authoring.engines_page import VARIANTS
from cluster.runtime.cluster import Cluster
from cluster.runtime.hooks import RunHooks
from cluster.scenario.load import load_scenario
from network.events import Event, read_event
from validators.events import Entered

BLOCKS: Final = 40
REPEATS: Final = 2
SETTINGS: Final = (f"run.until_height={BLOCKS}", "workload.payments.count=1", "workload.pulse.actors=10")

Show = Callable[[str], None]


def run(show: Show = print) -> None:
    """Print views and blocks a second of each engine, the faster of several repeats."""
    show(f"engines, 4 validators, calm, {BLOCKS} blocks, a processor second{'views':>12}{'blocks':>12}{'messages':>12}")
    for variant in VARIANTS:
        settings = (*SETTINGS, *variant.settings)
        best = max(measure(settings) for _ in range(REPEATS))
        show(f"  {variant.name:<58}" + "".join(f"{figure:12,.1f}" for figure in best))


def measure(settings: tuple[str, ...]) -> tuple[float, float, float]:
    """Return the views that validator 0 entered, the final blocks and the messages, each by a processor second."""
    cluster, views = Cluster(load_scenario("calm", settings), 0), 0

    def count(event: Event) -> None:
        nonlocal views
        views += event.node == 0 and read_event(event, Entered) is not None

    cluster.hooks = RunHooks(on_event=count)
    started_ns = time.process_time_ns()
    finished = cluster.run()
    seconds = (time.process_time_ns() - started_ns) / 1e9
    return views / seconds, max(finished.progress.finalized_heights) / seconds, finished.bus.sent / seconds


if __name__ == "__main__":
    run()
