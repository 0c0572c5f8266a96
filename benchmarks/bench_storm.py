"""The storm at full size: 100,000 expired timers on 4 validators, time and memory to drain them.

Beside it stand two floors. The state's own cost: the same writes of the same blocks, on a database of their own with
both roots, once for each validator. And the bare hash calls: one leaf and one inner node for each operation that the
drain appends to the log, with nothing around them. All is the process's own time; the machine may be shared.
"""

import hashlib
import resource
import time
from collections.abc import Callable
from typing import Final

from cluster.runtime.cluster import Cluster, RunHooks
from cluster.scenario.load import load_scenario
from validators.actors import PROGRAMS
from validators.execution import Executed
from validators.execution.genesis_state import build_genesis_state
from validators.state import Database

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

STATE_RATIO_MAX: Final = 3.0

Show = Callable[[str], None]


def run(show: Show = print) -> None:
    """Print the figures of one run."""
    clock: list[float] = []
    drain: list[Executed] = []
    chain: list[Executed] = []

    def note(node: int, executed: Executed) -> None:
        if node == 0:
            chain.append(executed)
        if executed.summary.expired:
            clock.append(time.process_time())
            drain.append(executed)

    started = time.process_time()
    run = Cluster(load_scenario("outage-storm", SETTINGS), 0, hooks=RunHooks(on_applied=note)).run()
    run_seconds = time.process_time() - started
    removed = sum(executed.summary.expired for executed in drain) // 4
    # The first block's own work lies before its application: count one block more than the clock shows.
    blocks = len(drain) // 4
    drain_seconds = (clock[-1] - clock[0]) * blocks / max(1, blocks - 1)
    hash_seconds = time_hashes(drain)
    database, _ = build_genesis_state(run.genesis, PROGRAMS)
    state_seconds = 4 * time_state(database, chain)
    ratio = drain_seconds / state_seconds
    missed = f"   MISSED: at most {STATE_RATIO_MAX:g}" if ratio > STATE_RATIO_MAX else ""
    peak_mebibytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    show(f"storm, 4 validators: {removed:,} expired timers drained in {blocks} blocks")
    show(f"  {drain_seconds:8.1f} s to drain   {1e6 * drain_seconds / (4 * removed):8.1f} us a timer and validator")
    show(f"  {state_seconds:8.1f} s the state's own cost of these blocks: {ratio:.1f} times that{missed}")
    show(
        f"  {hash_seconds:8.1f} s bare hash calls of the same operations: {drain_seconds / hash_seconds:.1f} times that"
    )
    show(f"  {run_seconds:8.1f} s the whole run   {peak_mebibytes:,} MiB at its peak (this process)")


def time_state(database: Database, chain: list[Executed]) -> float:
    """Return the seconds that the drain's batches take on a database that gets all blocks of the chain."""
    seconds = 0.0
    for executed in chain:
        started = time.process_time()
        batch = database.batch()
        for key, value in executed.changes.items():
            batch.write(key, value)
        batch.merkleize()
        root = batch.canonical_root
        database.apply(batch)
        if executed.summary.expired:
            seconds += time.process_time() - started
        assert root == executed.header.state_root, "the same writes lead to the same root"
    return seconds


def time_hashes(drain: list[Executed]) -> float:
    """Return the seconds that hashing each operation once as a leaf and once as a node takes."""
    node = bytes(72)
    started = time.process_time()
    for executed in drain:
        for operation in executed.operations:
            hashlib.sha256(operation).digest()
            hashlib.sha256(node).digest()
    return time.process_time() - started


if __name__ == "__main__":
    run()
