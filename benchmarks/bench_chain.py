"""A whole cluster: blocks and virtual time per processor second, and the cost of digest and checks.

The calm scenario with ten timers in each block and 4 validators. The run's own events are encoded and hashed again to
measure the digest, and shown to the online checks again to measure these.
"""

import time
from collections.abc import Callable
from typing import Final

from benchmarks.figures import head_line
from cluster.runtime.cluster import Cluster, ClusterRun
from cluster.runtime.hooks import RunHooks, of_own_engine
from cluster.scenario.load import load_scenario
from cluster.verdict.monitor import Monitor, make_monitor
from network.events import Event, TraceEvent
from network.trace import Trace
from network.types import SUPERVISOR
from validators.execution import Executed

BLOCKS: Final = 150
SETTINGS: Final = (f"run.until_height={BLOCKS}", "workload.payments.count=1", "workload.pulse.actors=10")

DIGEST_SHARE_MAX_PERCENT: Final = 5

Show = Callable[[str], None]


def run(show: Show = print) -> None:
    """Print the figures of one run."""
    cluster = Cluster(load_scenario("calm", SETTINGS), 0)
    events: list[Event] = []
    applied: list[tuple[int, Executed]] = []
    cluster.hooks = RunHooks(
        on_event=events.append, on_applied=of_own_engine(lambda node, executed: applied.append((node, executed)))
    )
    started = time.process_time()
    finished = cluster.run()
    run_seconds = time.process_time() - started
    digest_seconds = time_digest(finished, events)
    check_seconds = time_checks(make_monitor(cluster), events, applied)
    blocks, virtual = max(finished.progress.finalized_heights), finished.outcome.now_us / 1e6
    fired = sum(executed.summary.fired for node, executed in applied if node == 0)
    show(f"chain, 4 validators, calm: {blocks} blocks, {fired / blocks:.1f} timers a block, {len(events):,} events")
    show(f"  {blocks / run_seconds:8.1f} blocks/s   {virtual / run_seconds:8.1f} virtual s per processor s")
    nanoseconds = 1e9 * digest_seconds / len(events)
    show(f"  {100 * digest_seconds / run_seconds:8.1f} % of the run: digest ({nanoseconds:,.0f} ns an event)")
    share = 100 * digest_seconds / run_seconds
    show(head_line("digest", f"{share:.1f} %", is_missed=share > DIGEST_SHARE_MAX_PERCENT))
    show(f"  {100 * check_seconds / run_seconds:8.1f} % beside the run: online checks")


def time_digest(finished: ClusterRun, events: list[Event]) -> float:
    """Return the seconds that encoding, folding and hashing all events takes, and check that it gives the digest."""
    trace = Trace(range(finished.scenario.cluster.validators))
    chains = {node: trace.chain(node) for node in (SUPERVISOR, *range(finished.scenario.cluster.validators))}
    started = time.process_time()
    for event in events:
        assert isinstance(event.body, TraceEvent), "what a sink is shown has its type"
        chains[event.node].add(event.at_us, event.body)
        trace.fold()
    digest = trace.digest
    seconds = time.process_time() - started
    assert digest == finished.trace.digest, "the events shown to sinks are those of the log, in its order"
    return seconds


def time_checks(monitor: Monitor, events: list[Event], applied: list[tuple[int, Executed]]) -> float:
    """Return the seconds that the online checks need for the same events and blocks."""
    blocks = iter(applied)
    started = time.process_time()
    for event in events:
        if event.kind == "finalized":
            monitor.applied(*next(blocks))
        monitor.suite.observe(event)
    return time.process_time() - started


def run_sizes(show: Show = print) -> None:
    """Print blocks and virtual time per processor second of larger clusters."""
    for validators, blocks in ((16, 12), (64, 3)):
        settings = (*SETTINGS, f"cluster.validators={validators}", f"run.until_height={blocks}")
        started = time.process_time()
        finished = Cluster(load_scenario("calm", settings), 0).run()
        seconds = time.process_time() - started
        height, virtual = max(finished.progress.finalized_heights), finished.outcome.now_us / 1e6
        show(
            f"chain, {validators} validators, calm: {height / seconds:.2f} blocks/s, "
            f"{virtual / seconds:.2f} virtual s per processor s ({height} blocks, {finished.bus.sent:,} messages)"
        )


if __name__ == "__main__":
    run()
    run_sizes()
