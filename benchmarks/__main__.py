"""`make bench`: every benchmark, one after the other, each in a process of its own so that none inherits a heap.

    python -m benchmarks [--quick] [--peers PATH] [--out docs/performance.md]

`--quick` runs those that take seconds. `--peers` names an interpreter that has simloop, seedloop and simloom. `--out`
writes a page with what was printed, the machine, the commit and the command; a page is whole or it is not written.
"""

import argparse
import ast
import platform
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from checker.record.root import PROJECT_ROOT

FOLDER: Final = PROJECT_ROOT / "benchmarks"

BENCHMARKS: Final = {
    "bench_peers": "A message: the toy on this and other simulators",
    "bench_validators": "A block: many validators beside the bus alone",
    "bench_chain": "A block: events, digest and online checks",
    "bench_checks": "Judging: the share of the checks",
    "bench_processes": "A process: its start, and the memory of long runs",
    "bench_state": "State: updates beside bare hashes",
    "bench_storm": "A storm of expired timers beside the state's own cost",
    "bench_scheduler": "Scheduling: what a waiting timer costs a block",
    "bench_reorgs": "Reorgs: an undone and replayed block by road and depth",
    "bench_live": "The live view: its share of a run",
    "bench_swarm": "The swarm: seeds an hour, and the digest's share",
}
QUICK: Final = ("bench_peers", "bench_validators", "bench_chain", "bench_checks")


def main() -> int:
    """Run what was asked for; return the exit code of the first that failed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Run the benchmarks.")
    parser.add_argument("--quick", action="store_true", help="only those that take seconds")
    parser.add_argument("--peers", metavar="PATH", help="an interpreter that has simloop, seedloop and simloom")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write a page, as docs/performance.md")
    options = parser.parse_args()
    sections = []
    for name in QUICK if options.quick else BENCHMARKS:
        more = ["--python", options.peers] if name == "bench_peers" and options.peers else []
        printed, code = _run(name, more)
        if code:
            return code
        sections.append(_section(name, printed))
    if options.out is not None:
        options.out.write_text("\n".join([_head(sys.argv[1:]), *sections]))
    return 0


def _run(name: str, arguments: Sequence[str]) -> tuple[str, int]:
    """Run one benchmark, show what it prints as it comes, and return that with the exit code."""
    command = [sys.executable, "-u", "-m", f"benchmarks.{name}", *arguments]
    lines = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - our own modules
        assert process.stdout is not None
        for line in process.stdout:
            sys.stdout.write(line)
            sys.stdout.flush()
            lines.append(line)
    return "".join(lines), process.returncode


def _section(name: str, printed: str) -> str:
    described = ast.get_docstring(ast.parse((FOLDER / f"{name}.py").read_text())) or ""
    paragraphs = [text for text in described.split("\n\n") if not text.startswith(" ")]
    return "\n".join([f"## {BENCHMARKS[name]}", "", "\n\n".join(paragraphs), "", "```", printed.rstrip(), "```", ""])


def _head(arguments: Sequence[str]) -> str:
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], check=False, capture_output=True, text=True)  # noqa: S607
    machine = f"{_processor()}, Python {platform.python_version()}"
    return "\n".join(
        [
            "# Performance",
            "",
            "What `make bench` printed; `make bench-quick` repeats the short ones. Figures stand beside their floor,",
            "their peer or their aim; MISSED marks an aim that is not met. They hold for one machine.",
            "",
            f"- Machine: {machine}",
            f"- Commit: {commit.stdout.strip() or 'unknown'}",
            f"- Command: `{shlex.join(['python', '-m', 'benchmarks', *arguments])}`",
            "",
        ]
    )


def _processor() -> str:
    known = Path("/proc/cpuinfo")
    lines = known.read_text().splitlines() if known.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{len(names)} x {names[0]}" if names else platform.machine()


if __name__ == "__main__":
    sys.exit(main())
