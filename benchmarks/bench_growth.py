"""The growth of a judged run with each of its sizes: processor seconds of all processes, memory of the run's process.

Each figure is a process of its own, without a page. The power of a line says how the seconds beyond the smallest size
grow with the size: 1 is linear, 2 quadratic. Messages are quadratic in validators. How a reorg grows with its depth is
bench_reorgs' matter.
"""

import math
import resource
import subprocess
import sys
from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

from benchmarks.figures import head_line
from checker.record.root import PROJECT_ROOT
from cluster.live.progress import LiveProgress
from cluster.scenario.load import load_scenario
from cluster.verdict.pipeline import run_pipeline

Show: TypeAlias = Callable[[str], None]

LINEAR_MAX: Final = 1.2
"""The greatest power that still counts as linear: caches that fill and collections cost a little."""

_FEW: Final = "workload.payments.count=1"
_LONG: Final = ("run.time_limit_ms=100_000_000", "run.step_limit=1_000_000_000")


class Growth(NamedTuple):
    """A size of a plan: its name, the scenario, its settings by size, and the sizes."""

    name: str
    scenario: str
    settings: Callable[[int], tuple[str, ...]]
    sizes: tuple[int, ...]


def _storm(timers: int) -> tuple[str, ...]:
    each = timers // 10
    return (
        *("workload.storm.actors=10", "workload.storm.unfunded_actors=0", f"workload.storm.timers_per_actor={each}"),
        *(f"workload.storm.timers_per_transaction={min(each, 250)}", "workload.storm.every_ms=80"),
        *("chain.timers.max_timers_per_actor=10_000", "chain.timers.gc_cycles_per_block=2_000_000"),
        *("expect.storm.dead_timers_min=1", "expect.storm.actors_min=1", "expect.storm.drain_blocks_min=1"),
    )


def _observers(count: int) -> tuple[str, ...]:
    named = ", ".join(f'o{number}={{kind="finalized-only"}}' for number in range(count))
    return (f"observers={{{named}}}",)


GROWTHS: Final = (
    Growth("validators", "calm", lambda n: (f"cluster.validators={n}", "run.until_height=4", _FEW), (4, 16, 64, 100)),
    Growth("observers", "calm", _observers, (1, 4, 16)),
    Growth("waiting timers", "outage-storm", _storm, (1_000, 10_000, 100_000)),
    Growth("heights", "calm", lambda n: (f"run.until_height={n}", _FEW, *_LONG), (100, 1_000, 3_000)),
    Growth(
        "transactions a block",
        "calm",
        lambda n: (f"workload.payments.every_ms={1_000 // n}", f"workload.payments.count={10 * n}"),
        (10, 100, 500),
    ),
)


def run(show: Show = print) -> None:
    """Print seconds and memory of each size."""
    show("growth of a judged run    size   processor s   MiB   power")
    powers = {growth.name: _show_growth(growth, show) for growth in GROWTHS}
    messages = powers.pop("validators")
    text = f"validators {messages:.1f}, others at most {max(powers.values()):.1f}"
    show(head_line("growth", text, is_missed=max(powers.values()) > LINEAR_MAX))


def _show_growth(growth: Growth, show: Show) -> float:
    """Print a line for each size; return the power of the growth between the two greatest."""
    figures: list[tuple[float, int]] = []
    for size in growth.sizes:
        figures.append(_measure(growth.name, size))
        power = "" if len(figures) < len(growth.sizes) else f"{_power(growth.sizes, figures):8.1f}"
        show(f"  {growth.name:<22}{size:8,d}{figures[-1][0]:14.1f}{figures[-1][1]:6,d}{power}")
    return _power(growth.sizes, figures)


def _power(sizes: tuple[int, ...], figures: list[tuple[float, int]]) -> float:
    first, *_, before, last = ((size, seconds) for size, (seconds, _) in zip(sizes, figures, strict=True))
    (first_size, first_s), (before_size, before_s), (last_size, last_s) = first, before, last
    grown = (last_s - first_s) / max(before_s - first_s, 0.1)
    return math.log(grown) / math.log((last_size - first_size) / (before_size - first_size))


def _measure(name: str, size: int) -> tuple[float, int]:
    """Return processor seconds and MiB of a run in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.bench_growth", name, str(size)]
    done = subprocess.run(command, cwd=PROJECT_ROOT, check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603
    seconds, mebibytes = done.stdout.split()
    return float(seconds), int(mebibytes)


def _run_one(name: str, size: int) -> None:
    """Run one size, and print its processor seconds and memory."""
    growth = next(each for each in GROWTHS if each.name == name)
    scenario = load_scenario(growth.scenario, growth.settings(size))
    before_s = _processor_s()
    with LiveProgress(title="", is_quiet=True) as progress:
        result = run_pipeline(scenario, 1, runs=None, progress=progress, has_page=False)
    assert result.exit_code == 0, result.headline
    mebibytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    sys.stdout.write(f"{_processor_s() - before_s:.2f} {mebibytes}\n")


def _processor_s() -> float:
    used = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


if __name__ == "__main__":
    if sys.argv[1:]:
        _run_one(sys.argv[1], int(sys.argv[2]))
    else:
        run()
