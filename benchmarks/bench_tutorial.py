"""The tutorial's bug: how long its sweep, its explanation and its shrinking take, on all cores that there are.

A copy of this clone has the broken line of docs/tutorial.md, and runs the commands of the page with bytecode kept.
Aim: a minute on two cores for all of them.
"""

import compileall
import re
import resource
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, TypeAlias

from benchmarks.figures import head_line
from checker.record.root import PROJECT_ROOT

Show: TypeAlias = Callable[[str], None]

PAGE: Final = PROJECT_ROOT / "docs" / "tutorial.md"
SOURCE: Final = "scheduler/settlement.py"
TYPED: Final = ".venv/bin/python "
"""Beginning of a line of the page that is to be typed."""

MENDED: Final = "\n## Mend it\n"
"""The heading below which the line is whole again."""

LAYERS: Final = ("checker", "cluster", "faults", "network", "report", "scheduler", "validators")
CODE: Final = (*LAYERS, "scenarios", "stampede_testbed")
"""Folders that the commands need, besides the program."""

SECONDS_MAX: Final = 60
EXITS: Final = {"sweep": 1, "explain": 0, "shrink": 0}
SAID: Final = {"sweep": "2 failed: safety", "explain": "cause: execution", "shrink": "written to"}
"""Words by which a command shows that it found the bug, and not another reason to end in this way."""


def run(show: Show = print) -> None:
    """Print real and processor time of each command of the tutorial."""
    page = PAGE.read_text(encoding="utf-8")
    show(f"the tutorial's bug{'':<22}   real s  processor s")
    whole_s = 0.0
    with TemporaryDirectory() as folder:
        clone = Path(folder)
        broken_copy(clone, page)
        for command in commands_of(page):
            real_s, processor_s = _timed(clone, command)
            whole_s += real_s
            show(f"  {command[1]:<38}{real_s:>9.1f}{processor_s:>13.1f}")
    show(f"  {'together':<38}{whole_s:>9.1f}")
    show(head_line("tutorial", f"{whole_s:.0f} s", is_missed=whole_s > SECONDS_MAX))


def commands_of(page: str) -> list[list[str]]:
    """Return the commands of the page on the broken code, without the interpreter."""
    broken, _, _ = page.partition(MENDED)
    return [shlex.split(line)[1:] for line in broken.splitlines() if line.startswith(TYPED)]


def broken_copy(clone: Path, page: str) -> None:
    """Copy the code, break the line that the page breaks, and compile all of it."""
    for name in CODE:
        shutil.copytree(PROJECT_ROOT / name, clone / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("run_cluster.py", "VERSION"):
        shutil.copy(PROJECT_ROOT / name, clone / name)
    before, after = (_line_after(sign, page) for sign in "-+")
    source = clone / SOURCE
    text = source.read_text(encoding="utf-8")
    assert text.count(before) == 1, "the page's line is in the scheduler once"
    source.write_text(text.replace(before, after), encoding="utf-8")
    compileall.compile_dir(clone, quiet=2)


def _line_after(sign: str, page: str) -> str:
    found = re.search(rf"^\{sign} +(.+)$", page, re.MULTILINE)
    assert found is not None, "the page shows the line before and after"
    return found.group(1)


def _timed(clone: Path, command: Sequence[str]) -> tuple[float, float]:
    """Run a command of the page; return its real time and the processor time of all its processes."""
    started, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, *command], cwd=clone, capture_output=True, text=True, check=False)  # noqa: S603
    real_s, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    is_found = done.returncode == EXITS[command[1]] and SAID[command[1]] in done.stdout
    assert is_found, f"{shlex.join(command)}: {done.returncode}: {done.stderr[-2_000:]}"
    return real_s, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    run()
