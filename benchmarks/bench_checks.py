"""The cost of checking: the online checks and the oracle as shares of the run that they check.

A share is time beside that of the whole checked run: the cluster itself, the checks that follow it, and the
oracle after it. The cold replay is left out; it runs in a process of its own.

A profile of eight seeds of the swarm, parts of the whole: handlers of events 12 %, of which a third reads journals
before a vote may leave; blocks 3 %; the oracle 6 %; reading back what validators hold 5 %, three quarters of it the
state rebuilt from its log twice for each; the cold replay 6 %. Tried: short values of a log read at once, which the
rebuilt states gain from. No check is sampled or left out for the sake of this figure.
"""

import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from checker.checks.oracle import consult_oracle
from checker.checks.timers import TimerDelivery
from checker.results import CheckResult
from cluster.runtime.cluster import Cluster, RunHooks
from cluster.scenario.load import load_scenario
from cluster.verdict.monitor import Monitor, make_monitor

Show: TypeAlias = Callable[[str], None]


_SCENARIOS: Final = (
    ("calm", ("run.until_height=40",)),
    ("outage-storm", ("workload.storm.timers_per_actor=100", "chain.timers.gc_cycles_per_block=14_000")),
)
_NANOSECONDS_PER_MILLISECOND: Final = 1_000_000
SHARE_MAX_PERCENT: Final = 15


@dataclass(slots=True)
class Figures:
    """Time of one checked run, in nanoseconds, and the numbers of things checked."""

    cluster_ns: int = 0
    online_ns: int = 0
    oracle_ns: int = 0
    blocks: int = 0
    timers: int = 0

    @property
    def total_ns(self) -> int:
        """The time of the whole checked run."""
        return self.cluster_ns + self.online_ns + self.oracle_ns


def run(show: Show = print) -> None:
    """Print both shares for the calm and the storm scenario at reduced size."""
    show("checks, time of a judged run           blocks   timers  cluster ms  online ms   share  oracle ms   share")
    for name, settings in _SCENARIOS:
        figures = measure(name, settings)
        show(
            f"  {name:<34}{figures.blocks:8,d}{figures.timers:9,d}{_milliseconds(figures.cluster_ns)}"
            f"{_milliseconds(figures.online_ns)}{_share(figures.online_ns, figures)}"
            f"{_milliseconds(figures.oracle_ns)}{_share(figures.oracle_ns, figures)}{_judge(figures)}"
        )


def measure(name: str, settings: Sequence[str]) -> Figures:
    """Run a scenario under its checks, let the oracle execute it, and return the time of each of the three."""
    figures = Figures()
    cluster = Cluster(load_scenario(name, settings), 0)
    monitor = make_monitor(cluster)
    cluster.hooks = _timed_hooks(monitor, figures)
    gc.collect()
    start_ns = time.perf_counter_ns()
    finished = cluster.run()
    figures.cluster_ns = time.perf_counter_ns() - start_ns - figures.online_ns
    start_ns = time.perf_counter_ns()
    verdict = consult_oracle(finished.genesis, monitor.chain)
    figures.oracle_ns = time.perf_counter_ns() - start_ns
    _require_passed(verdict)
    figures.blocks = len(monitor.chain)
    figures.timers = monitor.context.check(TimerDelivery).figures().scheduled
    return figures


def _timed_hooks(monitor: Monitor, figures: Figures) -> RunHooks:
    def timed(hook: Callable[..., None]) -> Callable[..., None]:
        def call(*arguments: object) -> None:
            start_ns = time.perf_counter_ns()
            hook(*arguments)
            figures.online_ns += time.perf_counter_ns() - start_ns

        return call

    return RunHooks(on_event=timed(monitor.suite.observe), on_applied=timed(monitor.applied))


def _require_passed(verdict: CheckResult) -> None:
    # A run that fails early costs little, and would look like a gain.
    assert verdict.status == "passed", verdict.summary


def _judge(figures: Figures) -> str:
    percent = 100 * (figures.online_ns + figures.oracle_ns) / figures.total_ns
    return f"   together {percent:.0f} %" + (f"   MISSED: at most {SHARE_MAX_PERCENT}" * (percent > SHARE_MAX_PERCENT))


def _milliseconds(nanoseconds: int) -> str:
    return f"{nanoseconds // _NANOSECONDS_PER_MILLISECOND:12,d}"


def _share(part_ns: int, figures: Figures) -> str:
    return f"{100 * part_ns // figures.total_ns:6d} %"


if __name__ == "__main__":
    run()
