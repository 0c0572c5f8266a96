"""`make bench`: every benchmark, one after the other, each in a process of its own so that none inherits a heap.

    python -m benchmarks [--quick | NAME ...] [--full] [--peers PATH] [--out docs/performance.md]

`--quick` runs those that take seconds, a name that one, and `--full` the sizes that take long or much memory besides.
`--peers` names an interpreter that has requirements/peers.txt; without it it is that of .venv-peers, if there is one.
`--out` writes a page with what was printed, the machine, and of each section the commit, the command and how long it
took; sections of other benchmarks stay as the page has them. The whole takes some twenty minutes on two quiet cores.

A benchmark that fails, or takes longer than LIMIT_S, ends none of the others: its section stays as it was, and the head
of the page names it.
"""

import argparse
import ast
import platform
import re
import shlex
import subprocess
import sys
import sysconfig
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from benchmarks.figures import DETAIL, head_figures
from checker.record.root import PROJECT_ROOT

FOLDER: Final = PROJECT_ROOT / "benchmarks"

BENCHMARKS: Final = {
    "bench_peers": "A message: the toy on this and other simulators",
    "bench_validators": "A block: many validators beside the bus alone",
    "bench_chain": "A block: events, digest and online checks",
    "bench_engines": "A view: the engines side by side",
    "bench_checks": "Judging: the share of the checks",
    "bench_growth": "Growth: validators, observers, timers, heights, transactions",
    "bench_processes": "A process: its start, and the memory of long runs",
    "bench_state": "State: updates beside bare hashes",
    "bench_storm": "A storm of expired timers beside the state's own cost",
    "bench_scheduler": "Scheduling: what a waiting timer costs a block",
    "bench_reorgs": "Reorgs: an undone and replayed block by road and depth",
    "bench_live": "The live view: its share of a run",
    "bench_page": "The page: its first paint, and its longest task while it is walked",
    "bench_outside": "An outside application: a round trip, a start, a block",
    "bench_swarm": "The swarm: seeds an hour, and the digest's share",
    "bench_tutorial": "The tutorial's bug: sweep, explanation and shrinking",
}
ROWS: Final = (
    (
        "toy",
        "toy, messages per processor second, 4 / 16 / 64 validators",
        "ahead of seedloop; half of simpy at 64",
        "bench_peers",
    ),
    ("validators", "calm at 64 validators over the bus alone", "5 times", "bench_validators"),
    ("judging", "judging, share of all processor time: calm / outage-storm / swarm", "30 %", "bench_checks"),
    ("counting", "counting of coverage points, share of a run: calm / outage-storm / swarm", "2 %", "bench_checks"),
    ("digest", "rolling digest, share of a run", "5 %", "bench_chain, bench_swarm"),
    ("growth", "growth of a judged run, as a power of its size", "1.2; messages 2", "bench_growth"),
    ("start", "start-up: `--help`, first event of `run calm`", "0.3 s, 0.8 s", "bench_processes"),
    ("memory", "memory of 10,000 blocks over that of 1,000", "1.5 times", "bench_processes"),
    ("state", "state over bare hashes; growth; 10 blocks rewound", "4 times; 1.2 times; 10 ms", "bench_state"),
    ("storm", "storm of 1,000,000 expired timers, 4 validators", "2 times the state's own cost; 7 GiB", "bench_storm"),
    (
        "swarm",
        "swarm, seeds an hour of a core; seeds repeated in fresh processes",
        "4,500 a core; 10 % of a sweep",
        "bench_swarm",
    ),
    ("tutorial", "the tutorial's bug, swept, explained and shrunk", "60 s on two cores", "bench_tutorial"),
    (
        "page",
        "the page of 4 / 16 / 64 validators and 2,000 heights: painted, usable, longest task",
        "1 s, 2 s, 100 ms",
        "bench_page",
    ),
    (
        "outside",
        "our engine as an outside application over the same in process, a block of 100 timers",
        "1.2 times",
        "bench_outside",
    ),
    ("live", "live view, share of a run at 4 / 16 / 64 validators", "5 %", "bench_live"),
)
"""Rows of the head table: name, what is measured, aim, and the benchmark that prints its figure."""

FULL: Final = ("bench_scheduler",)
"""Benchmarks that have more than `make bench` runs."""

PEERS: Final = ".venv-peers/bin/python"
"""The interpreter that `make bench` sets up for the peers."""

LEFT: Final = "Tried and left:"
"""The beginning of a paragraph of a benchmark that the page has, too: what would not make it faster or smaller."""

LIMIT_S: Final = 1_200
"""A benchmark that runs longer is ended, unless `--full` asks for it."""

QUICK: Final = ("bench_peers", "bench_validators", "bench_chain", "bench_engines", "bench_checks")


def main() -> int:
    """Run what was asked for; return the exit code of the first that failed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Run the benchmarks.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"only these: {', '.join(BENCHMARKS)}")
    parser.add_argument("--quick", action="store_true", help="only those that take seconds")
    parser.add_argument("--full", action="store_true", help=f"all sizes of {' and '.join(FULL)}, in an hour")
    parser.add_argument("--peers", metavar="PATH", help="an interpreter that has requirements/peers.txt")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write a page, as docs/performance.md")
    options = parser.parse_args()
    if options.peers is None and (PROJECT_ROOT / PEERS).exists():
        options.peers = PEERS
    if unknown := [name for name in options.names if name not in BENCHMARKS]:
        parser.error(f"no benchmark is called {unknown[0]!r}; there are {', '.join(BENCHMARKS)}")
    sections = _sections_of(options.out) if options.out is not None and options.out.exists() else {}
    failed: dict[str, int] = {}
    for name in options.names or (QUICK if options.quick else BENCHMARKS):
        more = ["--python", options.peers] if name == "bench_peers" and options.peers else []
        more += ["--full"] if name in FULL and options.full else []
        started = time.perf_counter()
        printed, code = _run(name, more, limit_s=None if options.full else LIMIT_S)
        if code:
            failed[name] = code
            sys.stderr.write(f"{name} failed with exit code {code}; the others go on\n")
        else:
            sections[BENCHMARKS[name]] = _section(name, more, printed, time.perf_counter() - started)
        if options.out is not None:
            # After each, because the whole takes minutes: a page has what was measured until it was stopped.
            kept = [sections[title] for title in BENCHMARKS.values() if title in sections]
            options.out.write_text("\n".join([_head(head_figures("\n".join(kept)), failed), *kept]))
    return next(iter(failed.values()), 0)


def _sections_of(page: Path) -> dict[str, str]:
    """Return the sections of a page by their titles."""
    parts = re.split(r"^## ", page.read_text(), flags=re.MULTILINE)[1:]
    return {part.partition("\n")[0]: f"## {part.rstrip()}\n" for part in parts}


def _run(name: str, arguments: Sequence[str], *, limit_s: int | None) -> tuple[str, int]:
    """Run one benchmark, show what it prints as it comes, and return that with the exit code."""
    lines = []
    with subprocess.Popen(_command(name, arguments), stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - our own modules
        assert process.stdout is not None
        watch = threading.Timer(limit_s or threading.TIMEOUT_MAX, process.kill)
        watch.daemon = True
        watch.start()
        for line in process.stdout:
            sys.stdout.write(line)
            sys.stdout.flush()
            lines.append(line)
        watch.cancel()
    return "".join(lines), process.returncode


def _command(name: str, arguments: Sequence[str]) -> list[str]:
    return [sys.executable, "-u", "-m", f"benchmarks.{name}", *arguments]


def _section(name: str, arguments: Sequence[str], printed: str, seconds: float) -> str:
    described = ast.get_docstring(ast.parse((FOLDER / f"{name}.py").read_text())) or ""
    paragraphs = [text for text in described.split("\n\n") if text.startswith(LEFT)]
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], check=False, capture_output=True, text=True)  # noqa: S607
    command = shlex.join(["python", "-m", f"benchmarks.{name}", *arguments])
    paragraphs.append(f"Printed by `{command}` at {commit.stdout.strip() or 'an unknown commit'}, in {seconds:.0f} s.")
    kept = "\n".join(line for line in printed.splitlines() if not line.endswith(DETAIL))
    return "\n".join([f"## {BENCHMARKS[name]}", "", "\n\n".join(paragraphs), "", "```", kept.rstrip(), "```", ""])


def _head(figures: Mapping[str, str], failed: Mapping[str, int]) -> str:
    words = [f"{name} (exit code {code})" for name, code in failed.items()]
    failures = [f"- Failed, so that their sections are of an earlier time or missing: {', '.join(words)}"] * bool(words)
    rows = [
        f"| {what} | {figures.get(row, 'not measured')} | {aim} | {benchmark} |" for row, what, aim, benchmark in ROWS
    ]
    return "\n".join(
        [
            "# Performance",
            "",
            "What `make bench` printed; `make bench-quick` repeats the short ones. Figures stand beside their floor,",
            "their peer or their aim; MISSED marks an aim that is not met. They hold for one machine.",
            "`python -m pydoc benchmarks.NAME` says how a benchmark measures.",
            "",
            f"- Machine: {_processor()}, Python {platform.python_version()} {_optimization()}",
            "- Many version managers build interpreters without that optimization. They are about 6 % slower, 3.12 and",
            "  3.13 another 4 to 9 %. `python -c \"import sysconfig; print(sysconfig.get_config_var('CONFIG_ARGS'))\"`",
            "  names `--enable-optimizations` or does not.",
            *failures,
            "",
            "| what | measured | aim | benchmark |",
            "|---|---|---|---|",
            *rows,
            "",
        ]
    )


def _optimization() -> str:
    is_optimized = "--enable-optimizations" in (sysconfig.get_config_var("CONFIG_ARGS") or "")
    return f"built {'with' if is_optimized else 'without'} profile-guided optimization"


def _processor() -> str:
    known = Path("/proc/cpuinfo")
    lines = known.read_text().splitlines() if known.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{len(names)} x {names[0]}" if names else platform.machine()


if __name__ == "__main__":
    sys.exit(main())
