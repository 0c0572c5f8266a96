"""The price of a process: the start of a command, and the memory of a long run.

    python -m benchmarks.bench_processes [HEIGHT HEIGHT]

The start is processor time of the whole process, least of several, with bytecode kept; compiling all modules takes as
long again. `first event` ends where `run calm` writes its first event.

Memory is the peak of a process that runs the calm scenario to a height without checks. With checks it is the peak
before judging and of the whole judged run, without the judging process. The index of the block file, lengths of syncs,
and with checks the recorded calls of judged engines grow with the run. At the end each log is read back.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from tempfile import TemporaryDirectory
from typing import Final, TypeAlias

from benchmarks.figures import head_line
from checker.record.root import PROJECT_ROOT

Show: TypeAlias = Callable[[str], None]

REPEATS: Final = 5
_FIRST_EVENT: Final = """
import gc, os, sys
gc.disable()
from network.trace import EventChain
EventChain.add = EventChain.show = lambda *_: os._exit(0)
from stampede_testbed._command import main
sys.argv = ["stampede", "run", "calm", "--runs", sys.argv[1]]
main()
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
JUDGED_HEIGHTS: Final = (400, 1_000)
_JUDGED_RUN: Final = """
import resource
from cluster.live.progress import LiveProgress
from cluster.scenario.load import load_scenario
from cluster.verdict import pipeline
limits = ("run.until_height={height}", "run.time_limit_ms=100000000", "run.step_limit=1000000000")
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
peaks, derive = [], pipeline.derived_of
pipeline.derived_of = lambda run: peaks.append(peak()) or derive(run)
with LiveProgress(title="", is_quiet=True) as progress:
    scenario = load_scenario("calm", ("workload.payments.count=1", *limits))
    result = pipeline.run_pipeline(scenario, 0, runs=None, progress=progress)
assert result.exit_code == 0, result.headline
print(*peaks, peak())
"""


def run(
    show: Show = print, *, heights: Sequence[int] = HEIGHTS, judged_heights: Sequence[int] = JUDGED_HEIGHTS
) -> None:
    """Print the start of three commands and the memory of runs to these heights, without and with checks."""
    show("start of a command, processor seconds (least of 5)            seconds   aim")
    starts: list[tuple[float, float]] = []
    with TemporaryDirectory() as runs:
        for name, arguments, limit in (
            ("--help", ["run_cluster.py", "--help"], 0.3),
            ("scenarios", ["run_cluster.py", "scenarios"], None),
            ("run calm, to its first event", ["-c", _FIRST_EVENT, runs], 0.8),
        ):
            seconds = min(_cost([sys.executable, *arguments])[0] for _ in range(REPEATS))
            if limit is not None:
                starts.append((seconds, limit))
            aim = "" if limit is None else f"{limit:6.1f}{'   MISSED' if seconds > limit else ''}"
            show(f"  {name:<56}{seconds:9.2f}{aim}")
    text = ", ".join(f"{seconds:.2f} s" for seconds, _ in starts)
    show(head_line("start", text, is_missed=any(seconds > limit for seconds, limit in starts)))
    show("memory of a calm run, 4 validators, MiB at its peak")
    peaks = [_cost([sys.executable, "-c", _LONG_RUN.format(height=height)])[1] for height in heights]
    for height, peak in zip(heights, peaks, strict=True):
        show(f"  {height:7,d} blocks{peak:10,d}")
    growth = peaks[-1] / peaks[0]
    missed = f"   MISSED: at most {GROWTH_MAX:g}" if growth > GROWTH_MAX else ""
    show(f"  grows {growth:.1f} times{missed}")
    show("memory of a judged calm run, MiB at its peak       before the end   with the end")
    judged = [_judged_peaks(height) for height in judged_heights]
    for height, (before, whole) in zip(judged_heights, judged, strict=True):
        show(f"  {height:7,d} blocks{before:47,d}{whole:15,d}")
    blocks = judged_heights[-1] - judged_heights[0]
    grown = [1024 * (last - first) / blocks for first, last in zip(judged[0], judged[-1], strict=True)]
    show(head_line("memory", f"{growth:.1f} times", is_missed=growth > GROWTH_MAX))
    show(head_line("memory", f"with checks {grown[-1]:.0f} KiB a block"))
    show(f"  KiB a block beyond the first {judged_heights[0]:,}{grown[0]:31.1f}{grown[-1]:15.1f}")


def _judged_peaks(height: int) -> tuple[int, int]:
    """Return the peak memory of a judged run in MiB, before the checks of the end and with them."""
    command = [sys.executable, "-c", _JUDGED_RUN.format(height=height)]
    printed = subprocess.run(command, cwd=PROJECT_ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout  # noqa: S603
    before, whole = map(int, printed.split())
    return before, whole


def _cost(command: Sequence[str]) -> tuple[float, int]:
    """Return the processor seconds and the peak memory in MiB of a process."""
    # With its bytecode kept, as every start but the first has it: to compile our modules takes as long as all else.
    outside = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    process = subprocess.Popen(  # noqa: S603 - our own modules
        command, cwd=PROJECT_ROOT, env=outside, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0, command
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss // 1024


if __name__ == "__main__":
    run(heights=[int(height) for height in sys.argv[1:]] or HEIGHTS)
