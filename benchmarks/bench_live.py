"""The cost of the live view: what its pictures and its look at each event take, beside the run without it."""

import os
import time
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from rich.console import Console

from benchmarks.figures import head_line
from cluster.live.progress import LiveProgress
from cluster.runtime.cluster import Cluster
from cluster.runtime.hooks import RunHooks
from cluster.scenario.load import load_scenario
from cluster.scenario.model import Scenario
from network.events import Event

Show: TypeAlias = Callable[[str], None]

SHARE_MAX: Final = 0.05

_SCENARIOS: Final[Sequence[tuple[str, tuple[str, ...]]]] = (
    ("calm", ("run.until_height=80",)),
    ("calm", ("run.until_height=20", "cluster.validators=16")),
    ("calm", ("run.until_height=3", "cluster.validators=64")),
    ("outage-storm", ("workload.storm.timers_per_actor=100", "chain.timers.gc_cycles_per_block=14_000")),
)


def run(show: Show = print) -> None:
    """Print the share of the live view for clusters of 4, 16 and 64 validators and for a storm."""
    show("live view                              replicas     run s  pictures s  events s   share")
    shares = []
    for name, settings in _SCENARIOS:
        scenario = load_scenario(name, settings)
        run_s, pictures_s, events_s = measure(scenario)
        share = (pictures_s + events_s) / run_s
        shares.append(share)
        show(f"  {name:<34}{scenario.replicas:>11}{run_s:>10.2f}{pictures_s:>12.3f}{events_s:>10.3f}{share:>8.1%}")
    text = " / ".join(f"{share:.1%}" for share in shares[:3])
    show(head_line("live", text.replace("%", " %"), is_missed=max(shares) > SHARE_MAX))


def measure(scenario: Scenario) -> tuple[float, float, float]:
    """Return the time of a run without the view, of the pictures of one with it, and of its look at all events.

    Each is taken by itself, because the difference of two runs is lost in what two runs differ by anyway.
    """
    events: list[Event] = []
    cluster = Cluster(scenario, 0, hooks=RunHooks(on_event=events.append))
    started = time.process_time()
    cluster.run()
    run_s = time.process_time() - started
    with open(os.devnull, "w", encoding="utf-8") as nowhere:  # noqa: PTH123 - a device
        console = Console(file=nowhere, force_terminal=True, width=80, height=40)
        with LiveProgress(title=scenario.name, console=console) as progress:
            progress.begin(scenario)
            hooks = RunHooks(on_event=progress.observe, on_progress=progress.show)
            Cluster(scenario, 0, hooks=hooks).run()
            started = time.process_time()
            for event in events:
                progress.observe(event)
            return run_s, progress.drawing_s, time.process_time() - started


if __name__ == "__main__":
    run()
