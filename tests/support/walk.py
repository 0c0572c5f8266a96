"""A reader of the tutorial and of README: their commands in their order, in one folder, of a clone or with a wheel.

Each command has to end as its page says. `tests/docs/test_walk.py` goes the short way, with fewer seeds and without
the commands that take long; `python -m tests.soak --parts documents` goes all of it.
"""

import re
import shlex
import shutil
import subprocess
import sys
from typing import NamedTuple

from checker.record.root import PROJECT_ROOT
from tests.support.wheel import build_wheel, install_wheel, run_installed

TYPED = ".venv/bin/python run_cluster.py"
TUTORIAL = (PROJECT_ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
README = (PROJECT_ROOT / "README.md").read_text(encoding="utf-8")
SOURCE = "scheduler/settlement.py"
BRIEF = {"0..1": "0", "8": "1", "0..99": "0"}
"""Fewer seeds and runs on the short way: what is said of the first seed and of a smaller plan holds there too."""


class Step(NamedTuple):
    """One command, as a page has it, its exit code, and words that it prints; a short one is on the short way too."""

    typed: str
    code: int
    words: str
    is_short: bool = True


BROKEN = (
    Step("sweep calm --seeds 0..1 --set run.until_height=4 --runs runs/tutorial", 1, "burned is # by the oracle"),
    Step("explain runs/tutorial/calm-0", 0, "on replicas 0, 1, 2, 3 than by the oracle"),
    Step("shrink runs/tutorial/calm-0 --limit 8", 0, "written to runs/tutorial/calm-0-shrunk.toml"),
)
MENDED = (
    Step(
        "sweep calm --seeds 0..1 --set run.until_height=4 --runs runs/tutorial --failing runs/tutorial", 0, "passed: "
    ),
)
"""The steps of the tutorial before its line is mended, and after it."""

LONG = False
STEPS = (
    Step("scenarios", 0, "outage-storm", LONG),
    Step("check certified-split", 0, "plan ok: 4 faults"),
    Step("run lossy --seed 7", 0, "passed: ", LONG),
    Step("run broken-refund", 0, "failed as expected: ", LONG),
    Step("explain runs/broken-refund-0", 0, "cause: execution", LONG),
    Step("show runs/broken-refund-0 3", 0, "height 3", LONG),
    Step("shrink runs/broken-refund-0", 0, "written to runs/broken-refund-0-shrunk.toml", LONG),
    Step("run calm", 0, "passed: "),
    Step("diff runs/calm-0 runs/broken-refund-0", 1, "first event that differs", LONG),
    Step("sweep --swarm --seeds 0..99", 0, "passed: 100 seeds", LONG),
    Step("study basefee-slope --quick", 0, "answered: "),
    Step("new my-outage", 0, "written to my-outage.toml"),
    Step("docs", 0, "tutorial"),
)
"""The commands of README."""

OTHERS = (
    Step("", 0, "passed: 4 validators hold one state root at every height up to 90", LONG),
    Step("run outage-storm --set faults.split.enabled=false", 3, "inconclusive", LONG),
    Step("replay runs/outage-storm-0", 0, "passed: ", LONG),
    Step("run all-roads", 0, "passed: ", LONG),
    Step("faults clog", 0, "clog (network): ", LONG),
    Step("workloads storm", 0, "storm: ", LONG),
    Step("checks agreement", 0, "agreement (safety): "),
    Step("run rolling-restart --data-dir runs/disks", 0, "passed: ", LONG),
    Step("sweep --swarm --corpus --seeds 0..99", 0, "passed: 100 seeds", LONG),
    Step("differential --seeds 0..19", 0, "passed: 20 seeds", LONG),
    Step("reorgs --depths 1..8", 0, "48 of 48 forks came to one state on all of 8 roads", LONG),
    Step("export runs/calm-0 perfetto", 0, "runs/calm-0.pftrace"),
    Step("prove runs/calm-0 12 burned --out burned.json", 0, "burned"),
    Step("verify burned.json --run runs/calm-0", 0, "valid"),
)
"""The run of `make run`, and the other commands that `--help` has an example of."""


class Place(NamedTuple):
    """Where a reader stands: the folder, the code that it runs, the command to begin with, and the wheel's folder."""

    name: str
    folder: object
    code: object
    program: tuple[str, ...]
    target: object = None

    def run(self, *command):
        """Run a command in the folder, with the code of this place alone."""
        return run_installed(self.target or self.code, *command, cwd=self.folder)


def make_clone(folder, python=sys.executable):
    """Return a place that is a fresh clone: the files that the project tracks, or would."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=PROJECT_ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in filter(lambda name: (PROJECT_ROOT / name).is_file(), listed.stdout.splitlines()):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(PROJECT_ROOT / name, folder / name)
    return Place("clone", folder, folder, (python, "run_cluster.py"))


def make_environment(folder, python=sys.executable, wheel=None):
    """Return a place that has the wheel installed, in a folder with nothing in it."""
    target, reader = folder / "target", folder / "reader"
    target.mkdir()
    reader.mkdir()
    install_wheel(wheel or build_wheel(folder), target)
    code = target / "stampede_testbed" / "_app"
    return Place("wheel", reader, code, (python, str(target / "bin" / "stampede")), target)


def commands_of(page):
    """Return the commands of a page as it has them, without the program and what is said beside them."""
    lines = (line for line in page.splitlines() if line.startswith(TYPED))
    return [re.split(r" {2,}", line.removeprefix(TYPED))[0].strip() for line in lines]


def change_line(place, before, after):
    """Change the line of the tutorial in the code of a place, `+` and `-` being its forms on the page."""
    forms = {sign: re.search(rf"^\{sign} +(.+)$", TUTORIAL, re.MULTILINE).group(1) for sign in "+-"}
    source = place.code / SOURCE
    text = source.read_text(encoding="utf-8")
    assert text.count(forms[before]) == 1
    source.write_text(text.replace(forms[before], forms[after]), encoding="utf-8")


def take(place, step, *, is_brief=True):
    """Give the command of a step, and return what it prints, or say how it ended otherwise than its page says."""
    typed = [BRIEF.get(each, each) if is_brief else each for each in shlex.split(step.typed)]
    done = place.run(*place.program, *typed)
    ended = f"{place.name}: {shlex.join(typed)!r} ended with {done.returncode}, not {step.code}: {done.stderr[-2_000:]}"
    assert done.returncode == step.code, ended
    assert step.words in " ".join(done.stdout.split()), (
        f"{place.name}: {shlex.join(typed)!r} says no {step.words!r}: {done.stdout}"
    )
    return done.stdout


def walk(place, *, is_brief=True):
    """Go through tutorial and README in one folder, and return what each command prints by its line on the page."""
    change_line(place, "-", "+")
    said = {step.typed: take(place, step, is_brief=is_brief) for step in BROKEN}
    change_line(place, "+", "-")
    steps = (*MENDED, *(step for step in (*STEPS, *OTHERS) if step.is_short or not is_brief))
    return said | {step.typed: take(place, step, is_brief=is_brief) for step in steps}
