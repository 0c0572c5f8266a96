"""The storm at full size: 100,000 expired timers on 4 validators, time and memory to drain them.

Beside it stand the bare hash calls of the same deletions: one leaf and one inner node for each operation
that the drain blocks append to the state's log, on every validator, with nothing around them.
"""

import hashlib
import resource
import time
from collections.abc import Callable
from typing import Final

from cluster.run import Cluster, RunHooks
from cluster.scenario import load_scenario
from validators.execution import Executed

ACTORS: Final = 100
TIMERS_PER_ACTOR: Final = 1_000
SETTINGS: Final = (
    f"workload.storm.actors={ACTORS}",
    "workload.storm.unfunded_actors=0",
    f"workload.storm.timers_per_actor={TIMERS_PER_ACTOR}",
    "workload.storm.timers_per_transaction=250",
    "workload.storm.every_ms=80",
    "chain.timers.gc_cycles_per_block=2_000_000",
)

Show = Callable[[str], None]


def run(show: Show = print) -> None:
    """Print the figures of one run."""
    clock: list[float] = []
    drain: list[Executed] = []

    def note(_node: int, executed: Executed) -> None:
        if executed.summary.expired:
            clock.append(time.perf_counter())
            drain.append(executed)

    started = time.perf_counter()
    Cluster(load_scenario("outage-storm", SETTINGS), 0, hooks=RunHooks(on_applied=note)).run()
    run_seconds = time.perf_counter() - started
    removed = sum(executed.summary.expired for executed in drain) // 4
    # The first block's own work lies before its application: count one block more than the clock shows.
    blocks = len(drain) // 4
    drain_seconds = (clock[-1] - clock[0]) * blocks / max(1, blocks - 1)
    hash_seconds = time_hashes(drain)
    peak_mebibytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    show(f"storm, 4 validators: {removed:,} expired timers drained in {blocks} blocks")
    show(f"  {drain_seconds:8.1f} s to drain   {1e6 * drain_seconds / (4 * removed):8.1f} us a timer and validator")
    show(
        f"  {hash_seconds:8.1f} s bare hash calls of the same operations: {drain_seconds / hash_seconds:.1f} times that"
    )
    show(f"  {run_seconds:8.1f} s the whole run   {peak_mebibytes:,} MiB at its peak (this process)")


def time_hashes(drain: list[Executed]) -> float:
    """Return the seconds that hashing each operation once as a leaf and once as a node takes."""
    node = bytes(72)
    started = time.perf_counter()
    for executed in drain:
        for operation in executed.operations:
            hashlib.sha256(operation).digest()
            hashlib.sha256(node).digest()
    return time.perf_counter() - started


if __name__ == "__main__":
    run()
