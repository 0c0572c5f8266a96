"""Copies of the tree, each with one bug at most, and the processes that work in them.

A copy has the files that git knows or would add, as they are now, with the bytecode of the tree without a bug. Each
process reads the bytecode of its own copy alone; that of an edited file is removed, since two versions of equal size
written in one second pass for the same.
"""

import compileall
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import cache_from_source
from pathlib import Path
from typing import Final, NamedTuple

from checker.record.program import CHILD_FLAGS
from checker.record.root import PROJECT_ROOT
from tools.mutation.blind.catalogue import Bug, put_in

_LEFT_OUT: Final = ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX", "PYTEST_ADDOPTS")
"""Variables that would lead a process out of its copy."""


_MEASURED: Final = (":!tools/mutation/blind/rows.json", ":!docs/mutants.md")
"""The files that a measurement changes."""


class Said(NamedTuple):
    """The lines of a process's standard output, and its exit code; None where it was ended."""

    lines: list[bytes]
    exit_code: int | None


def commit_measured() -> str:
    """Return the short name of the commit that is checked out, with "+changes" where anything else is changed."""
    changes = _git("status", "--porcelain", "--", ".", *_MEASURED)
    return _git("rev-parse", "--short=12", "HEAD").strip() + ("+changes" if changes else "")


def _git(*arguments: str) -> str:
    command = ["git", *arguments]
    return subprocess.run(command, cwd=PROJECT_ROOT, capture_output=True, text=True, check=True).stdout  # noqa: S603


def make_base(place: Path) -> Path:
    """Return a new copy of the tree without a bug, compiled."""
    names = _git("ls-files", "-z", "--cached", "--others", "--exclude-standard")
    for name in filter(None, names.split("\0")):
        source = PROJECT_ROOT / name
        if source.is_file():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, place / name)
    compileall.compile_dir(place, quiet=2, workers=1)
    return place


@contextmanager
def copy_with(bug: Bug, base: Path) -> Iterator[Path]:
    """Make a copy with a bug beside the base, and remove it afterwards."""
    place = base.parent / bug.name
    shutil.copytree(base, place)
    try:
        put_in(bug, place)
        for edit in bug.edits:
            Path(cache_from_source(str(place / edit.file))).unlink(missing_ok=True)
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def run_in(copy: Path, module: str, arguments: Sequence[str], seconds: int) -> Said:
    """Run a module of a copy, until a time limit at most."""
    environment = {name: value for name, value in os.environ.items() if name not in _LEFT_OUT}
    scratch = copy / "scratch"
    scratch.mkdir(exist_ok=True)
    command = [sys.executable, *CHILD_FLAGS, "-m", module, *arguments]
    try:
        done = subprocess.run(  # noqa: S603 - our own modules
            command,
            cwd=copy,
            env={**environment, "PYTHONPATH": str(copy), "TMPDIR": str(scratch)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired as late:
        return Said((late.stdout or b"").splitlines(), None)
    return Said(done.stdout.splitlines(), done.returncode)
