"""Messages per processor second of the toy (benchmarks/toy) on Stampede and on other simulators, side by side.

    python -m benchmarks.bench_peers [--python PATH]

Each measurement is a process of its own, and simulators take turns. requirements/peers.txt has the peers; simloop,
seedloop and simloom need Python 3.12. A peer that the interpreter cannot import is named as missing.

The work differs. Stampede copies bytes with checksums, records every event and hashes the log. seedloop, simloop and
simloom hand references over and record events as objects. simpy records nothing.
"""

import argparse
import statistics
import subprocess
import sys
from collections.abc import Callable
from typing import Final, TypeAlias

from benchmarks.figures import head_line
from benchmarks.toy.carriers import CARRIERS

Show: TypeAlias = Callable[[str], None]

SIZES: Final = {4: 1_500, 16: 200, 64: 20}
"""Validators, and the view at which the run ends: some 10^5 messages each."""

REPEATS: Final = 3
SIMPY_SHARE_MIN: Final = 0.5
"""At 64 validators."""

_NANOSECONDS: Final = 1_000_000_000


def run(show: Show = print, *, python: str = sys.executable, repeats: int = REPEATS) -> None:
    """Print median and spread of each carrier at each size."""
    present = [name for name in CARRIERS if _is_present(python, name)]
    show(f"toy, messages per processor second, median of {repeats} (least to most)")
    figures: dict[str, list[str]] = {name: [] for name in present}
    medians: dict[int, dict[str, int]] = {}
    for nodes, views in SIZES.items():
        rounds = [{name: _per_second(python, name, nodes, views) for name in present} for _ in range(repeats)]
        medians[nodes] = {}
        for name in present:
            values = sorted(each[name] for each in rounds)
            medians[nodes][name] = int(statistics.median(values))
            figures[name].append(f"{medians[nodes][name]:9,d} ({values[0]:,} to {values[-1]:,})")
    show(f"  {'':<20}" + "".join(f"{f'{nodes} validators':<32}" for nodes in SIZES))
    for name in present:
        show(f"  {name:<20}" + "".join(f"{figure:<32}" for figure in figures[name]))
    for name in [name for name in CARRIERS if name not in present]:
        show(f"  {name:<20}not installed for {python}: left out")
    if "stampede" not in present:
        show(f"  nothing to compare: {python} lacks requirements/run.txt")
        return
    for nodes, by_name in medians.items():
        _judge(show, nodes, by_name)
    text, is_missed = _summary(medians)
    show(head_line("toy", text, is_missed=is_missed))


def _judge(show: Show, nodes: int, medians: dict[str, int]) -> None:
    ours = medians["stampede"]
    if "seedloop" in medians:
        ratio = ours / medians["seedloop"]
        show(f"  {nodes:3d} validators: {ratio:.2f} times seedloop{'' if ratio > 1 else '   MISSED: above 1'}")
    if "simpy" in medians:
        ratio = ours / medians["simpy"]
        is_missed = nodes == max(SIZES) and ratio < SIMPY_SHARE_MIN
        show(f"  {nodes:3d} validators: {ratio:.2f} times simpy{'   MISSED: at least 0.5' if is_missed else ''}")


def _summary(medians: dict[int, dict[str, int]]) -> tuple[str, bool]:
    """Return the figures in a line, and whether one of them misses its aim."""
    text = " / ".join(f"{by_name['stampede']:,}" for by_name in medians.values())
    peers = [name for name in ("seedloop", "simpy") if all(name in by_name for by_name in medians.values())]
    ratios = {name: [by_name["stampede"] / by_name[name] for by_name in medians.values()] for name in peers}
    for name, each in ratios.items():
        text += f"; {' / '.join(f'{ratio:.2f}' for ratio in each)} times {name}"
    is_behind = any(ratio <= 1 for ratio in ratios.get("seedloop", ()))
    return text, is_behind or ratios.get("simpy", [1.0])[-1] < SIMPY_SHARE_MIN


def _is_present(python: str, name: str) -> bool:
    command = [python, "-c", f"import benchmarks.toy.{CARRIERS[name]}"]
    return subprocess.run(command, check=False, capture_output=True).returncode == 0  # noqa: S603 - our own modules


def _per_second(python: str, name: str, nodes: int, views: int) -> int:
    command = [python, "-m", "benchmarks.toy", name, str(nodes), str(views)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603 - our own modules
    messages, nanoseconds = map(int, done.stdout.split())
    return messages * _NANOSECONDS // nanoseconds


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Compare the toy on Stampede and on other simulators.")
    parser.add_argument("--python", default=sys.executable, help="the interpreter that all carriers run in")
    run(python=parser.parse_args().python)
