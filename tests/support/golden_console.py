"""Results as a console of 80 columns shows them, held as text; `python -m tests.support.golden_console` writes them."""

import contextlib
import io
import os
import re
import sys
from pathlib import Path
from unittest.mock import patch

from checker.coverage.collector import RuleHit
from checker.record.root import PROJECT_ROOT
from cluster.campaign.coverage import CoverageTable
from cluster.campaign.results_db import SeedResult
from cluster.campaign.sweep import SweepTally
from cluster.cli.commands.runs.run import result_lines
from cluster.cli.main import main
from cluster.cli.sweep_result import sweep_ending
from report.ending import ending_lines
from tests.support.cluster_runs import result_of
from tests.support.golden_pages import RUNS, SMALL_STORM

FOLDER = PROJECT_ROOT / "tests" / "cluster" / "cli" / "golden"

WIDTH = 80

RESULTS = {
    **RUNS,
    "no-progress": ("free-timers-stop-the-chain", ("expect.fails=[]",)),
    "without-effect": ("outage-storm", (*SMALL_STORM, "faults.split.start_ms=300_000", "faults.split.stop_ms=300_001")),
}
"""By the name of the text: the scenario and what is changed in it."""

_DIGEST = re.compile(r"^(digest +)[0-9a-f]{64}$", re.MULTILINE)

PASSED = SeedResult(1, 0, "passed", "", "all is well", "ab", 900)
VOTES = SeedResult(7, 1, "safety", "safety: consensus/vote: a vote that the rules forbid", "height 3", "cd", 800)
STUCK = SeedResult(9, 4, "liveness", "liveness: liveness/finality-regained: no final block", "view 4", "ef", 700)


def result_text(name):
    """Return the result of a run, without its digest, which other code may change."""
    scenario, settings = RESULTS[name]
    result = result_of(scenario, *settings)
    return _DIGEST.sub(r"\1<digest>", _joined(result_lines(result, f"run_cluster.py run {scenario}", WIDTH, 1.5)))


def sweep_text(*seeds, promised=()):
    """Return the end of a sweep with these results."""
    tally = SweepTally(len(seeds), rules=CoverageTable(promised))
    for result in seeds:
        tally.add(result)
    places = [("results", "runs/sweep-swarm-ab12cd.sqlite")]
    return _joined(ending_lines(sweep_ending(tally, "swarm", 60.0, places), WIDTH))


def help_text():
    """Return the help of the program."""
    said = io.StringIO()
    with (
        patch.dict(os.environ, {"COLUMNS": str(WIDTH)}),
        contextlib.redirect_stdout(said),
        contextlib.suppress(SystemExit),
    ):
        main(["--help"])
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
    "help": help_text,
}
"""By name, the function that makes each text."""

if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for each in sys.argv[1:] or TEXTS:
        Path(FOLDER / f"{each}.txt").write_text(TEXTS[each](), encoding="utf-8")
