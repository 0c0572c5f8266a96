"""The price of a process: the start of a command, and the memory of a long run.

    python -m benchmarks.bench_processes [HEIGHT HEIGHT]

The start is processor time of the whole process, least of several; `first event` ends it where `run calm` writes its
first. Memory is the peak of a process that runs the calm scenario to a height, without its checks and their history;
1,000 and 10,000 blocks show whether it grows with the run. Disks and log keep 256 KiB a file in memory; what still
grows is the index of the block file, the lengths of syncs, and memos until they are full. The history of the checks is
not in it: each executed block stays in memory until the oracle has judged the run.

Of the time to the first event 0.08 s is networkx, 0.06 s trio, and most of the rest the modules of our own
with their typed records. Tried: no garbage collection until the first event, 3 to 6 %, within what a loaded machine
varies. At `b19eda5` every help imported the faults for a hint at mistyped options, which showed here first: since
`4051c5c` they are imported where something is mistyped, and a help takes 0.07 s.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from tempfile import TemporaryDirectory
from typing import Final, TypeAlias

from checker.record.root import PROJECT_ROOT

Show: TypeAlias = Callable[[str], None]

REPEATS: Final = 5
_FIRST_EVENT: Final = """
import os, sys
from network.trace import EventChain
EventChain.add = EventChain.add_record = lambda *_: os._exit(0)
from cluster.cli.main import main
main(["run", "calm", "--runs", sys.argv[1]])
"""
HEIGHTS: Final = (1_000, 10_000)
GROWTH_MAX: Final = 1.5
_LONG_RUN: Final = """
from cluster.runtime.cluster import Cluster
from cluster.scenario.load import load_scenario
limits = ("run.until_height={height}", "run.time_limit_ms=100000000", "run.step_limit=1000000000")
run = Cluster(load_scenario("calm", ("workload.payments.count=1", *limits)), 0).run()
assert max(run.progress.finalized_heights) >= {height}, run.outcome
"""


def run(show: Show = print, *, heights: Sequence[int] = HEIGHTS) -> None:
    """Print the start of three commands and the memory of runs to these heights."""
    show("start of a command, processor seconds (least of 5)            seconds   aim")
    with TemporaryDirectory() as runs:
        for name, arguments, limit in (
            ("--help", ["run_cluster.py", "--help"], 0.3),
            ("scenarios", ["run_cluster.py", "scenarios"], None),
            ("run calm, to its first event", ["-c", _FIRST_EVENT, runs], 0.8),
        ):
            seconds = min(_cost([sys.executable, *arguments])[0] for _ in range(REPEATS))
            aim = "" if limit is None else f"{limit:6.1f}{'   MISSED' if seconds > limit else ''}"
            show(f"  {name:<56}{seconds:9.2f}{aim}")
    show("memory of a calm run, 4 validators, MiB at its peak")
    peaks = [_cost([sys.executable, "-c", _LONG_RUN.format(height=height)])[1] for height in heights]
    for height, peak in zip(heights, peaks, strict=True):
        show(f"  {height:7,d} blocks{peak:10,d}")
    growth = peaks[-1] / peaks[0]
    missed = f"   MISSED: at most {GROWTH_MAX:g}" if growth > GROWTH_MAX else ""
    show(f"  grows {growth:.1f} times{missed}")


def _cost(command: Sequence[str]) -> tuple[float, int]:
    """Return the processor seconds and the peak memory in MiB of a process."""
    process = subprocess.Popen(command, cwd=PROJECT_ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0, command
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss // 1024


if __name__ == "__main__":
    run(heights=[int(height) for height in sys.argv[1:]] or HEIGHTS)
