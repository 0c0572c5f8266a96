"""The tests of what a change touches: `python -m tests.quick [--since REF]`, behind `make quick`.

A changed file stands for the tests of its room: tests/ mirrors the tree. Left out are tests that take many seconds
each, tests of rooms that only use what was changed, and other Python versions; `make test` runs them all.
"""

import argparse
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from checker.record.root import PROJECT_ROOT

ALWAYS = ("tests/test_architecture.py", "tests/test_documents.py")
LEFT_OUT = "left out: tests marked long, rooms above the changed ones, other Pythons (make test runs all)"


def changed_files(since: str) -> list[str]:
    """Return the names of files that differ from a commit, new ones included."""
    commands = (["git", "diff", "--name-only", since], ["git", "ls-files", "--others", "--exclude-standard"])
    listed = [subprocess.run(each, cwd=PROJECT_ROOT, capture_output=True, text=True, check=True) for each in commands]
    return sorted({name for one in listed for name in one.stdout.splitlines()})


def choose_tests(names: Iterable[str]) -> list[str]:
    """Return the test files and folders that changed files stand for."""
    chosen = dict.fromkeys(ALWAYS)
    for name in names:
        path = Path(name)
        if path.match("test_*.py"):
            chosen[name] = None
        elif "fixtures" in path.parts[:2] and path.parts[0] != "tests":
            # The cases, their runner and their fillers are tested together.
            chosen["tests/fixtures"] = None
        elif path.suffix == ".py" and path.parts[0] not in {"tests", "benchmarks"}:
            chosen[_nearest_folder(path.parent)] = None
        elif path.parts[0] == "scenarios":
            chosen["tests/test_scenarios.py"] = None
    return [name for name in chosen if (PROJECT_ROOT / name).exists()]


def _nearest_folder(room: Path) -> str:
    """Return the tests' folder of a room, or of the room around it where it has none of its own."""
    while not (PROJECT_ROOT / "tests" / room).is_dir():
        room = room.parent
    return str(Path("tests") / room)


def main() -> int:
    """Choose, say what is left out, and run."""
    parser = argparse.ArgumentParser(prog="python -m tests.quick", description=__doc__)
    parser.add_argument("--since", default="HEAD", metavar="REF", help="compare with this commit (default: HEAD)")
    options = parser.parse_args()
    chosen = choose_tests(changed_files(options.since))
    print(f"{' '.join(chosen)}\n{LEFT_OUT}", flush=True)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-n",
        "logical",
        "--dist",
        "worksteal",
        "-m",
        "not long and not soak",
        *chosen,
    ]
    return subprocess.run(command, cwd=PROJECT_ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
