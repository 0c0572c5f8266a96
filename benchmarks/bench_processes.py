"""The price of a process: the start of a command, and the memory of a long run.

The start is processor time of the whole process, least of several. Memory is the peak of a process that runs the calm
scenario to a height, without its checks and their history; 1,000 and 10,000 blocks show whether it grows with the run.
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
        for arguments, limit in (
            (["--help"], 0.3),
            (["scenarios"], None),
            (["run", "calm", "--set", "run.until_height=1", "--runs", runs], None),
        ):
            seconds = min(_cost([sys.executable, "run_cluster.py", *arguments])[0] for _ in range(REPEATS))
            aim = "" if limit is None else f"{limit:6.1f}{'   MISSED' if seconds > limit else ''}"
            show(f"  {' '.join(arguments[:4]):<56}{seconds:9.2f}{aim}")
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
    run()
