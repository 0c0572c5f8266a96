"""Results as a console of 80 columns shows them, held as text; `python -m tests.support.golden_console` writes them."""

import contextlib
import io
import os
import re
import sys
import tempfile
from pathlib import Path
from unittest.mock import patch

from checker.coverage.collector import RuleHit
from checker.record.root import PROJECT_ROOT
from cluster.campaign.coverage import CoverageTable
from cluster.campaign.results_db import SeedResult
from cluster.campaign.sweep import SweepTally
from cluster.cli.main import main
from cluster.cli.sweep_result import sweep_ending
from report.ending import ending_lines
from tests.support.golden_pages import RUNS, SMALL_STORM

FOLDER = PROJECT_ROOT / "tests" / "cluster" / "cli" / "golden"

WIDTH = 80

RESULTS = {
    **RUNS,
    "no-progress": ("free-timers-stop-the-chain", ("expect.fails=[]",)),
    "without-effect": ("outage-storm", (*SMALL_STORM, "faults.split.start_ms=300_000", "faults.split.stop_ms=300_001")),
}
"""By the name of the text: the scenario and what is changed in it."""

EXPLAINED = ("broken-refund", "one-validator-parts", "no-progress")

_COMMAND = re.compile(r"\S+ (\S+\.py|-m \S+|\S*/__main__\.py) (?=(run|replay|explain|shrink|diff|show) )")
_REAL_TIME = re.compile(r"[0-9.]+ s of real time")
_DIGEST = re.compile(r"^(digest +)[0-9a-f]{64}$", re.MULTILINE)

PASSED = SeedResult(1, 0, "passed", "", "all is well", "ab", 900)
VOTES = SeedResult(7, 1, "safety", "safety: consensus/vote: a vote that the rules forbid", "height 3", "cd", 800)
STUCK = SeedResult(9, 4, "liveness", "liveness: liveness/finality-regained: no final block", "view 4", "ef", 700)


def result_text(name):
    """Return what `run` prints at its end."""
    with tempfile.TemporaryDirectory() as folder:
        return _run(name, folder)


def _run(name, folder):
    scenario, settings = RESULTS[name]
    said = printed("run", scenario, *(f"--set={setting}" for setting in settings), "--runs", folder)
    return _masked(said, folder)


def _masked(said, folder):
    """Return a text without what differs from machine to machine, from time to time and from code to code."""
    said = _COMMAND.sub("run_cluster.py ", said.replace(folder, "runs"))
    return _REAL_TIME.sub("1.5 s of real time", _DIGEST.sub(r"\1<digest>", said))


def sweep_text(*seeds, promised=()):
    """Return the end of a sweep with these results."""
    tally = SweepTally(len(seeds), rules=CoverageTable(promised))
    for result in seeds:
        tally.add(result)
    places = [("results", "runs/sweep-swarm-ab12cd.sqlite")]
    return _joined(ending_lines(sweep_ending(tally, "swarm", 60.0, places), WIDTH))


def explain_text(name):
    """Return the explanation of a run."""
    with tempfile.TemporaryDirectory() as folder:
        _run(name, folder)
        (directory,) = (path.parent for path in Path(folder).glob("*/verdict.json"))
        return _masked(printed("explain", str(directory)), folder)


def printed(*arguments, width=WIDTH):
    """Return what a command prints on a console of a width."""
    said = io.StringIO()
    with (
        patch.dict(os.environ, {"COLUMNS": str(width)}),
        contextlib.redirect_stdout(said),
        contextlib.redirect_stderr(io.StringIO()),
        contextlib.suppress(SystemExit),
    ):
        main(arguments)
    return said.getvalue()


def _joined(lines):
    return "".join(f"{line}\n" for line in lines)


def _seeds(*results):
    reached = (RuleHit("due-next", 3), RuleHit("fired", 9), RuleHit("workload pulse", 1))
    return [result._replace(seed=seed, rules=reached) for seed, result in enumerate(results, start=1)]


TEXTS = {
    **{f"run-{name}": (lambda name=name: result_text(name)) for name in RESULTS},
    "sweep-passed": lambda: sweep_text(*_seeds(*[PASSED] * 20)),
    "sweep-failed": lambda: sweep_text(*_seeds(*[PASSED] * 5, VOTES, VOTES, STUCK)),
    "sweep-unreached": lambda: sweep_text(*_seeds(PASSED), promised=(("due-next",), ("expired",))),
    **{f"explain-{name}": (lambda name=name: explain_text(name)) for name in EXPLAINED},
    "help": lambda: printed("--help"),
}
"""By name, the function that makes each text."""

if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for each in sys.argv[1:] or TEXTS:
        Path(FOLDER / f"{each}.txt").write_text(TEXTS[each](), encoding="utf-8")
