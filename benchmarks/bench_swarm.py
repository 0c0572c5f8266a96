"""The cost of a swarm: seeds an hour on two worker processes, the time of a seed, and the digest's share of a run.

The same run with its log and without a log, in turns, measures the digest's share; the least of each counts. All is
processor time.

Tried and left: compiling with mypyc. It takes 11 % off a seed, and mutants no longer replace what they replace.

Of a seed a third executes blocks and 28 % judges. Seeds of the longest chain take longest, because their validators
execute every branch.
"""

import gc
import resource
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, TypeAlias

from benchmarks.figures import head_line
from cluster.campaign.results_db import ResultsFile, SeedResult
from cluster.campaign.sweep import SweepTally, is_thorough, sweep
from cluster.runtime.cluster import Cluster
from cluster.scenario.load import encode_scenario, load_scenario
from cluster.scenario.model import Scenario
from cluster.swarm.generator import draw_scenario

Show: TypeAlias = Callable[[str], None]

JOBS: Final = 2
SEEDS: Final = range(60)
DIGEST_SEEDS: Final = range(6)
REPEATS: Final = 2
DIGEST_SHARE_MAX_PERCENT: Final = 5
MEDIAN_MAX_MS: Final = 2_000
PER_HOUR_MIN: Final = 9_000
"""On two cores; a core by itself has half of it to do."""

THOROUGH_SHARE_MAX_PERCENT: Final = 10


def run(show: Show = print) -> None:
    """Print both tables."""
    _show_digest(show)
    _show_sweep(show)


def _show_digest(show: Show) -> None:
    show("rolling digest, ms of a run       with   without    share   of at most")
    measured = {
        "outage-storm": [(load_scenario("outage-storm", ("workload.storm.timers_per_actor=100",)), 0)],
        "calm": [(load_scenario("calm", ("run.until_height=40",)), 0)],
        f"swarm, {len(DIGEST_SEEDS)} seeds": [(draw_scenario(seed), seed) for seed in DIGEST_SEEDS],
    }
    shares = []
    for name, runs in measured.items():
        pairs = [_with_and_without(scenario, seed) for scenario, seed in runs]
        with_ns, without_ns = (sum(figures) for figures in zip(*pairs, strict=True))
        share = 100 * (with_ns - without_ns) / with_ns
        show(
            f"  {name:<26}{with_ns // 1_000_000:10,d}{without_ns // 1_000_000:10,d}{share:7.1f} %"
            f"{DIGEST_SHARE_MAX_PERCENT:10d} %"
        )
        shares.append(share)
    text = f"{' / '.join(f'{share:.1f}' for share in shares)} % ({' / '.join(measured)})"
    show(head_line("digest", text, is_missed=max(shares) > DIGEST_SHARE_MAX_PERCENT))


def _with_and_without(scenario: Scenario, seed: int) -> tuple[int, int]:
    rounds = [
        (_run_ns(scenario, seed, recording=True), _run_ns(scenario, seed, recording=False)) for _ in range(REPEATS)
    ]
    return min(first for first, _ in rounds), min(second for _, second in rounds)


def _run_ns(scenario: Scenario, seed: int, *, recording: bool) -> int:
    cluster = Cluster(scenario, seed, recording=recording)
    gc.collect()
    start_ns = time.process_time_ns()
    finished = cluster.run()
    assert finished.trace.digest, "hashing what is left is part of what is measured"
    return time.process_time_ns() - start_ns


@dataclass(slots=True)
class _Times:
    milliseconds: list[int] = field(default_factory=list)
    thorough: list[int] = field(default_factory=list)

    def add(self, _tally: SweepTally, result: SeedResult) -> None:
        self.milliseconds.append(result.milliseconds)
        if is_thorough(result.seed):
            self.thorough.append(result.milliseconds)

    @property
    def thorough_percent(self) -> float:
        """The part of the sweep's time that its repeated seeds take beyond what the others do."""
        others = sum(self.milliseconds) - sum(self.thorough)
        beyond = sum(self.thorough) - len(self.thorough) * others / (len(self.milliseconds) - len(self.thorough))
        return 100 * max(beyond, 0) / sum(self.milliseconds)


def _show_sweep(show: Show) -> None:
    times = _Times()
    with TemporaryDirectory() as scratch, ResultsFile(Path(scratch) / "swarm.sqlite", "swarm") as results:
        started, before_s = time.perf_counter(), _processor_s()
        tally = sweep(
            lambda seed: encode_scenario(draw_scenario(seed)),
            SEEDS,
            results=results,
            runs=Path(scratch),
            jobs=JOBS,
            on_result=times.add,
        )
        seconds, processor_s = time.perf_counter() - started, _processor_s() - before_s
    median = int(statistics.median(times.milliseconds))
    slowest = sorted(times.milliseconds)[len(times.milliseconds) * 95 // 100]
    show(
        f"swarm, {len(SEEDS)} seeds on {JOBS} worker processes   seeds/h   median ms   of at most   95th percentile ms"
    )
    per_hour, per_core = int(len(SEEDS) * 3600 / seconds), int(len(SEEDS) * 3600 / processor_s)
    show(f"  {'':<38}{per_hour:10,d}{median:12,d}{MEDIAN_MAX_MS:13,d}{slowest:21,d}")
    missed = f"   MISSED: at least {PER_HOUR_MIN // JOBS:,}" if per_core < PER_HOUR_MIN // JOBS else ""
    show(f"  {per_core:,} seeds an hour of one core's processor time, all processes counted{missed}")
    percent = times.thorough_percent
    missed = f"   MISSED: at most {THOROUGH_SHARE_MAX_PERCENT}" if percent > THOROUGH_SHARE_MAX_PERCENT else ""
    show(f"  {percent:.1f} % of the sweep for seeds repeated and replayed in fresh processes{missed}")
    is_missed = per_core < PER_HOUR_MIN // JOBS or percent > THOROUGH_SHARE_MAX_PERCENT
    show(head_line("swarm", f"{per_core:,} a core; {percent:.1f} %", is_missed=is_missed))
    if tally.verdict != "passed":
        show(f"  not all passed: {tally.verdict}, {sum(map(len, tally.groups.values()))} seeds")


def _processor_s() -> float:
    """Return the processor time of this process and of all that have ended under it."""
    own, ended = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + ended.ru_utime + ended.ru_stime


if __name__ == "__main__":
    run()
