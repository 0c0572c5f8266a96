"""The storm at size: 100,000 expired timers on 4 validators, or as many as are named, time and memory to drain them.

    python -m benchmarks.bench_storm [TIMERS ...]

Each storm is a process of its own, and runs where enough memory is free; otherwise the line says what it would need.
The storm of 1,000,000 takes six minutes.

There are two floors. The state's own cost: the same writes of the same blocks on a database of their own, once for
each validator. Bare hash calls: one leaf and one inner node for each operation that the drain appends. All is
processor time.

Tried and left: sharing trees and bitmaps. Each validator's are cut, rewound and pruned in place.

Three quarters of a drain execute the blocks. Memory is some 8 KB a timer for four validators, half of it in trees.
At a restart the memory doubles, because each validator reads its whole log again; equal operations are then kept once.
"""

import hashlib
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

from benchmarks.figures import DETAIL, head_line
from checker.record.final_blocks import FinalBlock, FinalChain, final_block
from cluster.runtime.cluster import Cluster
from cluster.runtime.hooks import RunHooks, of_own_engine
from cluster.scenario.load import load_scenario
from network.collector import rare_collections
from validators.actors import PROGRAMS
from validators.execution import Executed
from validators.execution.genesis_state import build_genesis_state
from validators.state import Database

ACTORS: Final = 100
TIMERS_PER_ORDER: Final = 250
ORDER_EVERY_MS: Final = 80
STORMS: Final = (100_000, 250_000, 1_000_000)
"""Timers of each storm."""

BYTES_PER_TIMER: Final = 12_000
"""Room for each timer of a storm before one has been measured, all validators and the log together."""

SPARE_BYTES: Final = 1 << 30
"""Memory that a storm leaves to all else on the machine."""

STATE_RATIO_MAX: Final = 2.0
MEMORY_MAX_MIB: Final = 7 * 1024

Show = Callable[[str], None]


def run(show: Show = print, *, storms: Sequence[int] = STORMS) -> None:
    """Print the figures of each storm, or what memory it would need."""
    if len(storms) == 1:
        run_storm(storms[0], show)
        return
    bytes_per_timer = BYTES_PER_TIMER
    for timers in storms:
        needed, free = timers * bytes_per_timer + SPARE_BYTES, free_bytes()
        if free < needed:
            show(f"storm of {timers:,} timers: left out, it needs {needed >> 20:,} MiB and {free >> 20:,} are free")
            continue
        # The peak of a process is that of the largest storm in it.
        command = [sys.executable, "-m", "benchmarks.bench_storm", str(timers)]
        done = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True)  # noqa: S603 - our own modules
        show(done.stdout.rstrip())
        if done.returncode:
            # Those before it were measured all the same.
            show(f"storm of {timers:,} timers: ended with exit code {done.returncode}")
            continue
        peak_mebibytes = int(done.stdout.partition(" MiB at its peak")[0].split()[-1].replace(",", ""))
        bytes_per_timer = (peak_mebibytes << 20) // timers


def free_bytes() -> int:
    """Return the memory that can be had without swapping."""
    known = Path("/proc/meminfo")
    for line in known.read_text().splitlines() if known.exists() else ():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) << 10
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


class _Drain:
    """The drain of a storm as it goes on; what it notes takes no part in the time, and next to none of the memory."""

    def __init__(self) -> None:
        self.clock: list[float] = []
        """Processor time at each block of a validator that removes timers, without what noting took."""
        self.chain = FinalChain()
        """The blocks of validator 0; all but the last are in a file."""
        self.removed = 0
        self.hash_seconds = 0.0
        self.noting_seconds = 0.0

    def note(self, node: int, executed: Executed) -> None:
        """See a block that a validator applied."""
        started = time.process_time()
        if executed.summary.expired:
            self.clock.append(started - self.noting_seconds)
            self.removed += executed.summary.expired
            self.hash_seconds += time_hashes(executed.operations)
        if node == 0:
            self.chain.append(final_block(executed))
        self.noting_seconds += time.process_time() - started


def run_storm(timers: int, show: Show = print) -> None:
    """Print the figures of one storm."""
    drain = _Drain()
    started = time.process_time()
    cluster = Cluster(
        load_scenario("outage-storm", _settings_of(timers)), 0, hooks=RunHooks(on_applied=of_own_engine(drain.note))
    )
    with rare_collections():
        run = cluster.run()
    run_seconds = time.process_time() - started - drain.noting_seconds
    peak_mebibytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    removed = drain.removed // 4
    # The first block's own work lies before its application: count one block more than the clock shows.
    blocks = len(drain.clock) // 4
    drain_seconds = (drain.clock[-1] - drain.clock[0]) * blocks / max(1, blocks - 1)
    hash_seconds = drain.hash_seconds
    database, _ = build_genesis_state(run.genesis, PROGRAMS)
    del run, cluster
    state_seconds = 4 * time_state(database, drain.chain)
    ratio = drain_seconds / state_seconds
    missed = f"   MISSED: at most {STATE_RATIO_MAX:g}" if ratio > STATE_RATIO_MAX else ""
    memory = f"   MISSED: at most {MEMORY_MAX_MIB:,}" if peak_mebibytes > MEMORY_MAX_MIB else ""
    # A limit of the chain once made each storm one of 100,000, and the figures looked good.
    assert removed == timers, f"{removed:,} timers expired, and {timers:,} were ordered"
    show(f"storm, 4 validators: {removed:,} expired timers drained in {blocks} blocks")
    show(f"  {drain_seconds:8.1f} s to drain   {1e6 * drain_seconds / (4 * removed):8.1f} us a timer{DETAIL}")
    show(f"  {state_seconds:8.1f} s the state's own cost of these blocks: {ratio:.1f} times that{missed}")
    times = f"{drain_seconds / hash_seconds:.1f} times that"
    show(f"  {hash_seconds:8.1f} s bare hash calls of the same operations: {times}{DETAIL}")
    show(f"  {run_seconds:8.1f} s the whole run   {peak_mebibytes:,} MiB at its peak{memory}")
    text = f"{removed:,} timers: {ratio:.1f} times, {peak_mebibytes / 1024:.1f} GiB"
    show(head_line("storm", text, is_missed=bool(missed or memory)))


def _settings_of(timers: int) -> tuple[str, ...]:
    # Everything behind the orders is later by what more than 100,000 timers take to be ordered.
    later_ms = max(timers - STORMS[0], 0) // TIMERS_PER_ORDER * ORDER_EVERY_MS
    return (
        f"workload.storm.actors={ACTORS}",
        "workload.storm.unfunded_actors=0",
        f"workload.storm.timers_per_actor={timers // ACTORS}",
        f"workload.storm.timers_per_transaction={TIMERS_PER_ORDER}",
        f"workload.storm.every_ms={ORDER_EVERY_MS}",
        f"workload.storm.first_slot={75 + later_ms // 1_000}",
        f"faults.split.start_ms={40_000 + later_ms}",
        f"faults.split.stop_ms={50_000 + later_ms}",
        f"faults.blackout.at_ms={62_000 + later_ms}",
        f"faults.blackout.restart_ms={182_000 + later_ms}",
        "chain.timers.gc_cycles_per_block=2_000_000",
        f"chain.timers.max_timers_per_actor={max(1_000, timers // ACTORS)}",
        "run.time_limit_ms=100_000_000",
    )


def time_state(database: Database, chain: Iterable[FinalBlock]) -> float:
    """Return the seconds that the drain's batches take on a database that gets all blocks of the chain."""
    seconds = 0.0
    for final in chain:
        started = time.process_time()
        batch = database.batch()
        for key, value in final.changes.items():
            batch.write(key, value)
        batch.merkleize()
        root = batch.canonical_root
        database.apply(batch)
        if final.summary.expired:
            seconds += time.process_time() - started
        assert root == final.state_root, "the same writes lead to the same root"
    return seconds


def time_hashes(operations: Iterable[bytes]) -> float:
    """Return the seconds that hashing each operation once as a leaf and once as a node takes."""
    node = bytes(72)
    started = time.process_time()
    for operation in operations:
        hashlib.sha256(operation).digest()
        hashlib.sha256(node).digest()
    return time.process_time() - started


if __name__ == "__main__":
    run(storms=[int(timers) for timers in sys.argv[1:]] or STORMS)
